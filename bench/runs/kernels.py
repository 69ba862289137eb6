"""Runs one kernel case: every variant the board has, judged against the references."""

from __future__ import annotations

import zlib
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from bench.cases.kernel import KernelCase
from bench.cases.parameter_sets import ParameterSet
from bench.link import (
    DeviceRefused,
    KernelParams,
    KernelReply,
    KernelRequest,
    Link,
    LinkError,
    Place,
)
from bench.numerics import Comparison, compare, multiply_int8, multiply_portable, tie_zone
from bench.numerics.multiply import Int8Array
from bench.runs.memory import GUARD, Layout, lay_out
from bench.runs.shrink import shrink
from bench.runs.symptoms import Finding, Symptom, find_symptom
from bench.store import CaseResult

OPERATOR = "mul_int8"
PORTABLE = "portable"

PATTERN = 0xA5
"""What the output and its guards hold before a run, so that what a kernel leaves out shows."""


@dataclass
class Output:
    """What one variant left in memory, over all blocks."""

    values: Int8Array
    before: bytes
    after: bytes
    inputs_intact: bool
    replies: list[KernelReply]

    def damage(self) -> str | None:
        """Name what the kernel wrote that was not its own."""
        hits = []
        for name, guard in (("before", self.before), ("after", self.after)):
            bad = [i % GUARD for i, byte in enumerate(guard) if byte != PATTERN]
            if bad:
                away = GUARD - max(bad) if name == "before" else min(bad) + 1
                hits.append(
                    f"{len(bad)} guard bytes {name} the output overwritten (nearest {away} away)"
                )
        if not self.inputs_intact:
            hits.append("an input was changed")
        return "; ".join(hits) or None


class VariantLost(LinkError):
    """The board went away while a variant ran."""

    def __init__(self, variant: str, cause: LinkError) -> None:
        """Name the variant in the message and keep it beside."""
        super().__init__(f"while {variant} ran: {cause}")
        self.variant = variant


def run_kernel_case(
    link: Link, case: KernelCase, attempt: int = 1, shrunk_already: set[Symptom] | None = None
) -> list[CaseResult]:
    """Run a case with every variant of the board and judge each output.

    The native variant and any other are held against the integer contract (exactly equal), the
    portable one against its float32 reference (exactly equal); the native one also against the
    portable one on the same board, at most one LSB and only where rounding allows it.

    A failing variant's result names its symptom, and the smallest part of the case that fails in
    the same way, unless that symptom is in ``shrunk_already``, to which it is added.

    Raises:
        VariantLost: The board went away.
        DeviceRefused: The board refused a request.
    """
    shrunk_already = set() if shrunk_already is None else shrunk_already
    x, y = case.inputs()
    variants = link.hello.kernels[OPERATOR]
    memory = link.hello.memories[0]
    layout = lay_out(case, memory.size)
    p = case.parameters
    integer = multiply_int8(x, y, p.integer)
    float32 = multiply_portable(x, y, *p.qparams)
    results = []
    outputs: dict[str, Output] = {}
    for variant in variants:
        try:
            output = run_variant(link, case, variant, layout, memory.name, x, y)
        except DeviceRefused:
            raise
        except LinkError as error:
            raise VariantLost(variant, error) from error
        outputs[variant] = output
        expected, reference = (float32, "float32") if variant == PORTABLE else (integer, "integer")
        result = _result(
            case, variant, reference, compare(expected, output.values), output, attempt
        )
        if result.verdict != "pass" and len(output.replies) == 1:
            found = find_symptom(
                case, expected, output.values, output.before, output.after, PATTERN
            )
            if found is not None:
                result = replace(result, detail=f"{result.detail}; {found.text}")
                if variant != PORTABLE and found.symptom not in shrunk_already:
                    shrunk_already.add(found.symptom)
                    smallest = _shrink(link, case, variant, result.first_bad_index or 0)
                    result = replace(result, detail=f"{result.detail}; {smallest}")
        results.append(result)
    native = variants[0]
    if PORTABLE in outputs and native != PORTABLE:
        allowed: NDArray[np.integer] = tie_zone(x, y, *p.qparams).astype(np.int8)
        difference = compare(outputs[PORTABLE].values, outputs[native].values, allowed)
        results.append(_result(case, native, PORTABLE, difference, outputs[native], attempt))
    return results


def run_variant(
    link: Link,
    case: KernelCase,
    variant: str,
    layout: Layout,
    memory: str,
    x: Int8Array,
    y: Int8Array,
) -> Output:
    """Run one variant on the case's inputs, block by block if the memory is small.

    Args:
        link: The board.
        case: Size, alignment, aliasing and parameters.
        variant: Its name.
        layout: Where the tensors lie.
        memory: Name of the memory they lie in.
        x: First input, of the case's size.
        y: Second input, likewise.
    """
    values = np.empty(case.size, np.int8)
    output = Output(values, b"", b"", True, [])
    for start in range(0, case.size, layout.block):
        block = slice(start, min(start + layout.block, case.size))
        n = block.stop - block.start
        if case.in_place is None:
            link.fill(memory, layout.out - GUARD, n + 2 * GUARD, PATTERN)
        else:
            # The guards only: between them lies an input, which the write below restores.
            link.fill(memory, layout.out - GUARD, GUARD, PATTERN)
            link.fill(memory, layout.out + n, GUARD, PATTERN)
        inputs = [(layout.x, x[block].tobytes()), (layout.y, y[block].tobytes())]
        for offset, data in inputs:
            # The same pairs serve many parameter sets: what is still there is not sent again.
            if link.crc32(memory, offset, n) != zlib.crc32(data):
                link.write(memory, offset, data)
        output.replies.append(
            link.run_kernel(
                KernelRequest(
                    kernel=OPERATOR,
                    variant=variant,
                    x=Place(memory, layout.x),
                    y=Place(memory, layout.y),
                    out=Place(memory, layout.out),
                    elements=n,
                    params=_wire(case.parameters),
                )
            )
        )
        raw = link.read(memory, layout.out - GUARD, n + 2 * GUARD)
        values[block] = np.frombuffer(raw[GUARD : GUARD + n], np.int8)
        output.before += raw[:GUARD]
        output.after += raw[GUARD + n :]
        for offset, data in inputs:
            if offset != layout.out and link.crc32(memory, offset, n) != zlib.crc32(data):
                output.inputs_intact = False
    return output


def find_failure(link: Link, case: KernelCase, variant: str) -> tuple[Finding | None, Comparison]:
    """Run a case with one integer variant; return its symptom, and how it compares."""
    memory = link.hello.memories[0]
    x, y = case.inputs()
    output = run_variant(link, case, variant, lay_out(case, memory.size), memory.name, x, y)
    expected = multiply_int8(x, y, case.parameters.integer)
    found = find_symptom(case, expected, output.values, output.before, output.after, PATTERN)
    return found, compare(expected, output.values)


def _shrink(link: Link, case: KernelCase, variant: str, first_bad: int) -> str:
    def fails(part: KernelCase) -> Symptom | None:
        found, _ = find_failure(link, part, variant)
        return found.symptom if found else None

    smallest = shrink(case, first_bad, fails)
    if smallest is None:
        return "passes when it is run again"
    noun = "element" if smallest.size == 1 else "elements"
    return f"smallest that fails so: {smallest.size} {noun}, {smallest.name}"


def _wire(parameters: ParameterSet) -> KernelParams:
    integer = parameters.integer
    return KernelParams(
        zero_point1=integer.z1,
        zero_point2=integer.z2,
        zero_point_out=integer.zo,
        multiplier=integer.multiplier,
        shift=integer.shift,
        scale1=parameters.x.scale,
        scale2=parameters.y.scale,
        scale_out=parameters.out.scale,
    )


def _result(
    case: KernelCase,
    variant: str,
    reference: str,
    comparison: Comparison,
    output: Output,
    attempt: int,
) -> CaseResult:
    details = []
    if not comparison.ok:
        details.append(
            f"first bad index {comparison.first_bad_index}: "
            f"expected {comparison.expected}, got {comparison.got}"
        )
    faults = []
    if damage := output.damage():
        faults.append(damage)
    if others := {r.variant for r in output.replies} - {variant}:
        faults.append(f"asked for {variant}, the board ran {', '.join(others)}")
    counted = sum(r.vector_elements + r.scalar_elements for r in output.replies)
    if counted != case.size:
        faults.append(f"the kernel says it computed {counted} elements of {case.size}")
    details += faults
    p = case.parameters
    return CaseResult(
        name=case.name,
        level="kernel",
        group=case.group,
        variant=variant,
        route=None,
        model=None,
        reference=reference,
        verdict="fail" if details else "pass",
        detail="; ".join(details),
        fault="; ".join(faults),
        attempt=attempt,
        params={
            "operator": OPERATOR,
            "qparams": [[q.scale, q.zero_point] for q in p.qparams],
            "multiplier": p.integer.multiplier,
            "shift": p.integer.shift,
            "size": case.size,
            "align": list(case.align),
            "in_place": case.in_place,
        },
        counters={
            "vector_elements": sum(r.vector_elements for r in output.replies),
            "scalar_elements": sum(r.scalar_elements for r in output.replies),
        },
        ticks=sum(r.first_ticks for r in output.replies),
        **asdict(comparison),
    )
