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
from bench.link.protocol import POISON
from bench.numerics import Comparison, compare, multiply_int8, tie_zone
from bench.numerics.multiply import Int8Array
from bench.runs.memory import GUARD, Layout, lay_out
from bench.runs.shrink import shrink
from bench.runs.symptoms import Finding, Symptom, find_symptom
from bench.store import CaseResult

OPERATOR = "mul_int8"
PORTABLE = "portable"


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
            bad = [i % GUARD for i, byte in enumerate(guard) if byte != POISON]
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
    variants = link.hello.kernels[OPERATOR]
    layout = lay_out(case, link.hello.memories)
    x, y = inputs_of(link, case, layout)
    p = case.parameters
    integer = multiply_int8(x, y, p.integer)
    float32 = p.portable(x, y)
    results = []
    outputs: dict[str, Output] = {}
    for variant in variants:
        try:
            output = run_variant(link, case, variant, layout, x, y)
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
            found = find_symptom(case, expected, output.values, output.before, output.after, POISON)
            if found is not None:
                result = replace(result, detail=f"{result.detail}; {found.text}")
                may_shrink = variant != PORTABLE and not layout.y_is_constant
                if may_shrink and found.symptom not in shrunk_already:
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
    x: Int8Array,
    y: Int8Array,
) -> Output:
    """Run one variant on the case's inputs, block by block if the memory is small.

    Args:
        link: The board.
        case: Size, alignment, aliasing and parameters.
        variant: Its name.
        layout: Where the tensors lie.
        x: First input, of the case's size.
        y: Second input, likewise.
    """
    values = np.empty(case.size, np.int8)
    output = Output(values, b"", b"", True, [])
    memory, start_of_out = layout.out.memory, layout.out.offset
    for start in range(0, case.size, layout.block):
        block = slice(start, min(start + layout.block, case.size))
        n = block.stop - block.start
        if case.in_place is None:
            link.fill(memory, start_of_out - GUARD, n + 2 * GUARD, POISON)
        else:
            # The guards only: between them lies an input, which the write below restores.
            link.fill(memory, start_of_out - GUARD, GUARD, POISON)
            link.fill(memory, start_of_out + n, GUARD, POISON)
        place_y = replace(layout.y, offset=layout.y.offset + start * layout.y_is_constant)
        inputs = [(layout.x, x[block].tobytes()), (place_y, y[block].tobytes())]
        for place, data in inputs:
            send(link, place, data)
        output.replies.append(
            link.run_kernel(
                KernelRequest(
                    kernel=OPERATOR,
                    variant=variant,
                    x=layout.x,
                    y=place_y,
                    out=layout.out,
                    elements=n,
                    params=wire_parameters(case.parameters),
                )
            )
        )
        raw = link.read(memory, start_of_out - GUARD, n + 2 * GUARD)
        values[block] = np.frombuffer(raw[GUARD : GUARD + n], np.int8)
        output.before += raw[:GUARD]
        output.after += raw[GUARD + n :]
        for place, data in inputs:
            if place != layout.out and not holds(link, place, data):
                output.inputs_intact = False
    return output


def inputs_of(link: Link, case: KernelCase, layout: Layout) -> tuple[Int8Array, Int8Array]:
    """Return the case's inputs; the second one is the board's own constants if it lies there."""
    x, y = case.inputs()
    if layout.y_is_constant:
        y = np.frombuffer(link.read(layout.y.memory, layout.y.offset, case.size), np.int8)
    return x, y


def holds(link: Link, place: Place, data: bytes) -> bool:
    """Return whether the board has these bytes there, by their CRC-32."""
    return link.crc32(place.memory, place.offset, len(data)) == zlib.crc32(data)


def send(link: Link, place: Place, data: bytes) -> None:
    """Write bytes, unless the board has them there: the same pairs serve many cases."""
    if not holds(link, place, data):
        link.write(place.memory, place.offset, data)


def find_failure(link: Link, case: KernelCase, variant: str) -> tuple[Finding | None, Comparison]:
    """Run a case with one integer variant; return its symptom, and how it compares."""
    layout = lay_out(case, link.hello.memories)
    x, y = inputs_of(link, case, layout)
    output = run_variant(link, case, variant, layout, x, y)
    expected = multiply_int8(x, y, case.parameters.integer)
    found = find_symptom(case, expected, output.values, output.before, output.after, POISON)
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


def wire_parameters(parameters: ParameterSet) -> KernelParams:
    """Return a parameter set as a request carries it."""
    integer = parameters.integer
    return KernelParams(
        zero_point1=integer.z1,
        zero_point2=integer.z2,
        zero_point_out=integer.zo,
        multiplier=integer.multiplier,
        shift=integer.shift,
        activation_min=integer.act_min,
        activation_max=integer.act_max,
        scale1=parameters.x.scale,
        scale2=parameters.y.scale,
        scale_out=parameters.out.scale,
    )


def identifying(case: KernelCase) -> dict[str, object]:
    """Return what else than its name identifies a case in the store."""
    p = case.parameters
    return {
        "operator": OPERATOR,
        "qparams": [[q.scale, q.zero_point] for q in p.qparams],
        "multiplier": p.integer.multiplier,
        "shift": p.integer.shift,
        "activation": list(p.activation),
        "size": case.size,
        "align": list(case.align),
        "placement": case.placement,
        "in_place": case.in_place,
        "square": case.square,
    }


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
        params=identifying(case),
        counters={
            "vector_elements": sum(r.vector_elements for r in output.replies),
            "scalar_elements": sum(r.scalar_elements for r in output.replies),
        },
        ticks=sum(r.first_ticks for r in output.replies),
        **asdict(comparison),
    )
