"""Runs one program case: load, execute on each input set, judge each output."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from numpy.typing import NDArray

from bench.cases.program import Array, ProgramCase, Reference
from bench.errors import BenchError
from bench.link import ExecuteReply, ExecuteRequest, Link, Place, ProgramInfo
from bench.numerics import compare
from bench.runs.kernels import send
from bench.runs.memory import align_up
from bench.store import CaseResult

# Timed executions of each program, after as many warm-up ones; enough for a median to look at.
_SAMPLES = 20


class LoadedProgram:
    """A program in a board's memory with room for its inputs, outputs and timing samples."""

    def __init__(self, link: Link, pte: bytes, samples: int = 0, *, traced: bool = False) -> None:
        """Stream the program to the board and load it there.

        Args:
            link: The board.
            pte: The program.
            samples: Most samples of a run.
            traced: Record its operators, for `trace`.

        Raises:
            BenchError: The board's memory is too small for it.
            LinkError: The board was lost, or refused the program (an operator it does not have).
        """
        self._link = link
        self._size = len(pte)
        stored = link.hello.memories[-1]
        if len(pte) > stored.size:
            raise BenchError(f"the program's {len(pte)} bytes exceed memory {stored.name!r}")
        send(link, Place(stored.name, 0), pte)
        self.info: ProgramInfo = link.load_program(stored.name, 0, len(pte), traced=traced)
        tensors = link.hello.memories[0]
        offset = 0
        places = []
        for tensor in (*self.info.inputs, *self.info.outputs):
            places.append(Place(tensors.name, offset))
            offset = align_up(offset + tensor.bytes)
        self._sample_place = Place(tensors.name, offset)
        if offset + 4 * samples > tensors.size:
            raise BenchError(f"the program's tensors exceed memory {tensors.name!r}")
        self._inputs = tuple(places[: len(self.info.inputs)])
        self._outputs = tuple(places[len(self.info.inputs) :])

    def run(
        self, inputs: Sequence[Array], warmup: int = 0, samples: int = 0
    ) -> tuple[list[bytes], ExecuteReply, list[int]]:
        """Execute once, then ``warmup`` times, then ``samples`` times under the clock.

        Returns:
            The outputs' bytes, what the device counted, and the samples in its clock's ticks.

        Raises:
            BenchError: The inputs are not those of the program.
            LinkError: The board was lost, or the program failed.
        """
        wanted = [t.bytes for t in self.info.inputs]
        if wanted != [a.nbytes for a in inputs]:
            raise BenchError(
                f"the program takes inputs of {wanted} bytes, not {[a.nbytes for a in inputs]}"
            )
        link = self._link
        for place, array in zip(self._inputs, inputs, strict=True):
            send(link, place, array.tobytes())
        reply = link.execute(
            ExecuteRequest(
                inputs=self._inputs,
                outputs=self._outputs,
                warmup=warmup,
                samples=samples,
                sample_place=self._sample_place if samples else None,
            )
        )
        outputs = [
            link.read(place.memory, place.offset, tensor.bytes)
            for place, tensor in zip(self._outputs, self.info.outputs, strict=True)
        ]
        place = self._sample_place
        raw = link.read(place.memory, place.offset, 4 * samples) if samples else b""
        return outputs, reply, np.frombuffer(raw, "<u4").tolist()

    def trace(self) -> bytes:
        """Return the ETDump of all runs and unload the program; b"" if it did not fit."""
        memory = self._link.hello.memories[-1]
        start = align_up(self._size)
        size = self._link.trace(memory.name, start, memory.size - start)
        return self._link.read(memory.name, start, size) if size else b""


def run_program_case(link: Link, case: ProgramCase, attempt: int = 1) -> list[CaseResult]:
    """Run a program on each of its input sets and hold the outputs against each reference.

    A program must also have called the native kernel as often as the exporter says: outputs
    alone cannot tell a silent fallback.

    Raises:
        LinkError: The board was lost, or refused the program.
    """
    program = LoadedProgram(link, case.pte, _SAMPLES)
    results = []
    for i, inputs in enumerate(case.inputs):
        raw, reply, samples = program.run(inputs, _SAMPLES, _SAMPLES)
        for reference in case.references:
            results.append(judge(case, i, reference, raw, program.info, reply, samples, attempt))
    return results


def judge(
    case: ProgramCase,
    index: int,
    reference: Reference,
    raw: Sequence[bytes],
    info: ProgramInfo,
    reply: ExecuteReply,
    samples: Sequence[int],
    attempt: int,
) -> CaseResult:
    """Hold the outputs of one run of a program against one reference, and its counts too.

    Args:
        case: The program.
        index: Which of its input sets it ran on.
        reference: What it is compared with.
        raw: The outputs' bytes.
        info: The program as the board loaded it.
        reply: What the board counted.
        samples: Ticks of the timed executions; at least one.
        attempt: Which execution of the case this is.
    """
    faults = [case.complaint] if case.complaint else []
    details = []
    want = [np.asarray(a) for a in reference.outputs[index]]
    got = [np.frombuffer(r, a.dtype).reshape(a.shape) for r, a in zip(raw, want, strict=True)]
    allowed = 255 if reference.allowed is None else reference.allowed
    comparison = compare(_flat(want), _flat(got), allowed)
    if not comparison.ok:
        details.append(
            f"input set {index}: first bad index {comparison.first_bad_index}: "
            f"expected {comparison.expected}, got {comparison.got}"
        )
    for what, counted, expected in (
        ("native kernel", reply.native_calls, case.native_calls),
        ("delegate", reply.delegate_calls, case.delegate_calls),
    ):
        if counted != expected:
            faults.append(f"the {what} ran {counted} times, the exporter says {expected}")
    details += faults
    return CaseResult(
        name=f"{case.model}/{index}",
        level="program",
        group=case.model,
        route=case.route,
        model=case.model,
        reference=reference.name,
        verdict="fail" if details else "pass",
        detail="; ".join(details),
        fault="; ".join(faults),
        attempt=attempt,
        params={"input": index},
        counters={
            **asdict(reply),
            "pte_bytes": len(case.pte),
            "planned_bytes": info.planned_bytes,
            "method_bytes": info.method_bytes,
            "median_ticks": int(np.median(samples)),
            **case.facts,
        },
        ticks=reply.first_ticks,
        **asdict(comparison),
    )


def _flat(arrays: Sequence[Array]) -> NDArray[np.int64]:
    """Join outputs; those that are not int8 are compared byte for byte."""
    parts = [a.ravel() if a.dtype == np.int8 else a.ravel().view(np.uint8) for a in arrays]
    return np.concatenate([p.astype(np.int64) for p in parts])
