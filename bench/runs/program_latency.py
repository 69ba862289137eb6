"""Times a model's programs: every route in turn and back again, their last outputs checked."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from bench.cases.program import ProgramCase
from bench.link import ExecuteReply, Link
from bench.runs.cannot_run import need_programs
from bench.runs.effort import PROBES, VISITS, Effort, probed_seconds, take_turns
from bench.runs.programs import LoadedProgram, judge
from bench.store import LatencyResult

# Executions that an operator's time is the median of.
_TRACED = 20

ReadTrace = Callable[[bytes], Mapping[str, int]]


@dataclass(frozen=True)
class ProgramLatency:
    """One model by all its routes, on its first input set; a `Job`.

    Attributes:
        cases: The model's programs, one a route.
        read_trace: Reads a board's ETDump: operator to ticks.
        effort: How much of the board's time it gets.
    """

    cases: Sequence[ProgramCase]
    read_trace: ReadTrace
    effort: Effort = field(default_factory=Effort)

    @property
    def name(self) -> str:
        """The model's name."""
        return self.cases[0].model

    def run(self, link: Link, attempt: int) -> list[LatencyResult]:
        """Time it; a board without a runtime cannot."""
        need_programs(link.hello)
        return time_programs(link, self.cases, self.effort, self.read_trace, attempt)

    def failed(self, why: str, attempt: int) -> LatencyResult:
        """Return the result of an attempt that ended without a timing."""
        return LatencyResult(
            name=self.name,
            level="program",
            group=self.name,
            model=self.name,
            samples=(),
            unit="ns",
            hz=None,
            elements=0,
            verdict="error",
            detail=why,
            attempt=attempt,
        )


class _Stand:
    """One program with what was seen of it."""

    def __init__(self, link: Link, case: ProgramCase, effort: Effort) -> None:
        self._link = link
        self._case = case
        self._most = effort.most
        self._samples: list[int] = []
        self._faults: list[str] = []
        self._device_ticks = 0
        started = time.monotonic()
        self._first, samples = self._call(0, PROBES)
        seconds = time.monotonic() - started
        call = probed_seconds(samples, self._first.overhead_ticks, link.hello, seconds)
        self._warmup, self._count = effort.plan(call)

    def visit(self) -> None:
        """Take samples; note what is wrong with the outputs of the last of them."""
        self._samples += self._call(self._warmup, self._count)[1]

    def result(self, attempt: int, read_trace: ReadTrace) -> LatencyResult:
        """Return the timing of all visits, with each operator's if the board can trace."""
        hello, case, first = self._link.hello, self._case, self._first
        operators = self._trace(read_trace) if hello.programs and hello.programs["traces"] else {}
        return LatencyResult(
            name=case.model,
            level="program",
            group=case.model,
            route=case.route,
            model=case.model,
            samples=self._samples,
            unit=hello.clock["unit"],
            hz=hello.clock.get("hz"),
            elements=sum(out.size for out in case.references[0].outputs[0]),
            first_ticks=first.first_ticks,
            overhead_ticks=first.overhead_ticks,
            verdict="fail" if self._faults else "pass",
            detail="; ".join(dict.fromkeys(self._faults)),
            attempt=attempt,
            params={"input": 0},
            counters={
                "native_calls": first.native_calls,
                "delegate_calls": first.delegate_calls,
                "vector_elements": first.vector_elements,
                "scalar_elements": first.scalar_elements,
                "visits": VISITS,
                "warmup_calls": self._warmup,
                "device_ticks": self._device_ticks,
                "pte_bytes": len(case.pte),
                "planned_bytes": self._program.info.planned_bytes,
            },
            operators=operators,
        )

    def _call(self, warmup: int, samples: int) -> tuple[ExecuteReply, list[int]]:
        case = self._case
        self._program = LoadedProgram(self._link, case.pte, self._most)
        raw, reply, ticks = self._program.run(case.inputs[0], warmup, samples)
        self._device_ticks += reply.all_ticks
        for reference in case.references:
            found = judge(case, 0, reference, raw, self._program.info, reply, ticks, 1)
            if found.verdict != "pass":
                self._faults.append(
                    f"the last timed execution against {reference.name}: {found.detail}"
                )
        return reply, ticks

    def _trace(self, read_trace: ReadTrace) -> Mapping[str, int]:
        program = LoadedProgram(self._link, self._case.pte, traced=True)
        _, reply, _ = program.run(self._case.inputs[0], warmup=_TRACED)
        self._device_ticks += reply.all_ticks
        etdump = program.trace()
        return read_trace(etdump) if etdump else {}


def time_programs(
    link: Link,
    cases: Sequence[ProgramCase],
    effort: Effort,
    read_trace: ReadTrace,
    attempt: int = 1,
) -> list[LatencyResult]:
    """Time programs: first to last, then last to first (ABBA), then traced, apart from that.

    Returns:
        A timing for each program, in their order.

    Raises:
        LinkError: The board was lost, or refused a program.
        BenchError: A program does not fit the board's memory.
    """
    stands = [_Stand(link, case, effort) for case in cases]
    take_turns(stands)
    return [stand.result(attempt, read_trace) for stand in stands]
