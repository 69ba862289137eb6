"""Times kernel cases: every contender in turn and back again, its last output checked."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

from bench.cases.kernel import KernelCase
from bench.link import DeviceRefused, KernelReply, KernelRequest, Link, LinkError, Memory, Place
from bench.numerics import compare, multiply_int8
from bench.numerics.multiply import Int8Array
from bench.runs.effort import PROBES, VISITS, Effort, probed_seconds, take_turns
from bench.runs.kernels import (
    OPERATOR,
    PORTABLE,
    VariantLost,
    holds,
    identifying,
    inputs_of,
    send,
    wire_parameters,
)
from bench.runs.memory import DoesNotFit, Layout, align_up, lay_out
from bench.store import LatencyResult

GROUP = "latency"
"""Group of all kernel timings; the verdicts on the same cases have another."""

# Seconds beyond three times what a visit should take, before the board counts as lost.
_PATIENCE = 5.0


@dataclass(frozen=True)
class Contender:
    """One kernel variant on one board."""

    link: Link
    variant: str


class _Ground:
    """A case laid out on one board, for all contenders there."""

    def __init__(self, case: KernelCase, link: Link, effort: Effort) -> None:
        self._parameters = case.parameters
        self.layout = lay_out(case, link.hello.memories)
        if self.layout.block < case.size:
            raise DoesNotFit(f"{case.name} is timed in one piece, and that does not fit")
        self.samples_at = _room_for(effort.most, self.layout, link.hello.memories)
        self._x, self._y = inputs_of(link, case, self.layout)
        self.x, self.y = self._x.tobytes(), self._y.tobytes()

    @functools.cached_property
    def portable(self) -> Int8Array:
        """What the portable variant is to compute."""
        return self._parameters.portable(self._x, self._y)

    @functools.cached_property
    def integer(self) -> Int8Array:
        """What any other one is to compute."""
        return multiply_int8(self._x, self._y, self._parameters.integer)


class _Stand:
    """A contender on its ground, with what was seen of it."""

    def __init__(
        self, case: KernelCase, contender: Contender, ground: _Ground, effort: Effort
    ) -> None:
        self._case = case
        self._link = contender.link
        self._variant = contender.variant
        self._ground = ground
        self._expected = ground.portable if self._variant == PORTABLE else ground.integer
        self._samples: list[int] = []
        self._faults: list[str] = []
        self._device_ticks = 0
        self._first, samples, seconds = self._call(0, PROBES, 0.0)
        self._call_seconds = probed_seconds(
            samples, self._first.overhead_ticks, self._link.hello, seconds
        )
        self._warmup, self._count = effort.plan(self._call_seconds)

    def visit(self) -> None:
        """Take samples; note what is wrong with the output of the last of them."""
        calls = 1 + self._warmup + self._count
        _, samples, _ = self._call(self._warmup, self._count, calls * self._call_seconds)
        self._samples += samples

    def result(self, attempt: int) -> LatencyResult:
        """Return the timing of all visits."""
        hello, first = self._link.hello, self._first
        return LatencyResult(
            name=self._case.name,
            level="kernel",
            group=GROUP,
            variant=self._variant,
            samples=self._samples,
            unit=hello.clock["unit"],
            hz=hello.clock.get("hz"),
            elements=self._case.size,
            first_ticks=first.first_ticks,
            overhead_ticks=first.overhead_ticks,
            verdict="fail" if self._faults else "pass",
            detail="; ".join(dict.fromkeys(self._faults)),
            attempt=attempt,
            params=identifying(self._case),
            counters={
                "vector_elements": first.vector_elements,
                "scalar_elements": first.scalar_elements,
                "visits": VISITS,
                "warmup_calls": self._warmup,
                "device_ticks": self._device_ticks,
            },
        )

    def _call(
        self, warmup: int, samples: int, expected_seconds: float
    ) -> tuple[KernelReply, list[int], float]:
        """Run it on fresh inputs; return the reply, the samples and the host's seconds for it."""
        ground, link = self._ground, self._link
        layout = ground.layout
        send(link, layout.x, ground.x)
        send(link, layout.y, ground.y)
        refill = None
        if self._case.in_place is not None:
            refill = layout.spare
            send(link, refill, ground.x if self._case.in_place == "x" else ground.y)
        request = KernelRequest(
            variant=self._variant,
            x=layout.x,
            y=layout.y,
            out=layout.out,
            elements=self._case.size,
            params=wire_parameters(self._case.parameters),
            warmup=warmup,
            samples=samples,
            sample_place=ground.samples_at,
            refill=refill,
        )
        started = time.monotonic()
        try:
            reply = link.run_kernel(
                request, seconds=_PATIENCE + 3 * expected_seconds if warmup else None
            )
        except DeviceRefused:
            raise
        except LinkError as error:
            raise VariantLost(self._variant, error) from error
        seconds = time.monotonic() - started
        self._device_ticks += reply.all_ticks
        self._judge(reply)
        raw = link.read(ground.samples_at.memory, ground.samples_at.offset, 4 * samples)
        return reply, np.frombuffer(raw, "<u4").tolist(), seconds

    def _judge(self, reply: KernelReply) -> None:
        """Check the output of the last timed call, which started from a poisoned or fresh one."""
        if reply.variant != self._variant:
            self._faults.append(f"asked for {self._variant}, the board ran {reply.variant}")
        out = self._ground.layout.out
        if holds(self._link, out, self._expected.tobytes()):
            return
        raw = self._link.read(out.memory, out.offset, self._case.size)
        found = compare(self._expected, np.frombuffer(raw, np.int8))
        if not found.ok:
            self._faults.append(
                f"the output of the last timed call is wrong: first bad index "
                f"{found.first_bad_index}: expected {found.expected}, got {found.got}"
            )


def time_kernel(
    case: KernelCase, contenders: Sequence[Contender], effort: Effort, attempt: int = 1
) -> list[LatencyResult]:
    """Time a case with each contender, in turns.

    Each visit warms up, takes raw samples and checks the output of its last call, before which the
    device made the output unlike any result.

    Returns:
        A timing for each contender, in their order.

    Raises:
        DoesNotFit: A board lacks the memory the case wants.
        VariantLost: A board went away.
        DeviceRefused: A board refused a request.
    """
    grounds = {link: _Ground(case, link, effort) for link in {c.link: None for c in contenders}}
    stands = [_Stand(case, c, grounds[c.link], effort) for c in contenders]
    take_turns(stands)
    return [stand.result(attempt) for stand in stands]


def _room_for(samples: int, layout: Layout, memories: Sequence[Memory]) -> Place:
    """Return where samples go: beside programs if the board has room there, else after the case."""
    last = memories[-1]
    if not last.read_only and last.name != layout.out.memory and last.size >= 4 * samples:
        return Place(last.name, 0)
    own = next(memory for memory in memories if memory.name == layout.out.memory)
    start = align_up(layout.end)
    if start + 4 * samples > own.size:
        raise DoesNotFit(f"memory {own.name!r} has no room for {samples} samples beside the case")
    return Place(own.name, start)


@dataclass(frozen=True)
class Rival:
    """Another board whose native kernel is timed in turn with this one's, case by case.

    Attributes:
        link: Its link.
        keep: Takes its timings.
    """

    link: Callable[[], Link]
    keep: Callable[[LatencyResult], None]


@dataclass(frozen=True)
class KernelLatency:
    """A kernel case timed with every variant of the board; a `Job`.

    Attributes:
        case: The case.
        effort: How much of the board's time each variant gets.
        rival: Another board to compare with.
    """

    case: KernelCase
    effort: Effort = field(default_factory=Effort)
    rival: Rival | None = None

    @property
    def name(self) -> str:
        """The case's name."""
        return self.case.name

    def run(self, link: Link, attempt: int) -> list[LatencyResult]:
        """Time it; a board without the memory it wants cannot."""
        contenders = [Contender(link, variant) for variant in link.hello.kernels[OPERATOR]]
        if self.rival is not None:
            contenders.insert(1, Contender(self.rival.link(), contenders[0].variant))
        timings = time_kernel(self.case, contenders, self.effort, attempt)
        if self.rival is not None:
            self.rival.keep(timings.pop(1))
        return timings

    def failed(self, why: str, attempt: int) -> LatencyResult:
        """Return the result of an attempt that ended without a timing."""
        return LatencyResult(
            name=self.name,
            level="kernel",
            group=GROUP,
            samples=(),
            unit="ns",
            hz=None,
            elements=self.case.size,
            verdict="error",
            detail=why,
            attempt=attempt,
            params=identifying(self.case),
        )
