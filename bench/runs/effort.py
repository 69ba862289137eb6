"""How much of a board's time a timing gets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from bench.link import Hello
from bench.store import LatencyResult

VISITS = 2
"""Turns of each contender: A B B A."""

PROBES = 3
"""Calls that tell how long one takes."""


class Visited(Protocol):
    """A contender that takes turns."""

    def visit(self) -> None:
        """Take samples."""
        ...


def take_turns(stands: Sequence[Visited]) -> None:
    """Visit each ``VISITS`` times: first to last, then last to first (ABBA).

    A drift of the clock or of the board's temperature so falls on all of them alike.
    """
    for stand in (*stands, *reversed(stands)):
        stand.visit()


@dataclass(frozen=True)
class Effort:
    """Time and samples of one visit; each contender of a case has ``VISITS``.

    Attributes:
        seconds: Device time a visit should take, half of it warm-up.
        least: Fewest samples of a visit, whatever they take.
        most: Most samples of a visit.
    """

    seconds: float = 0.2
    least: int = 25
    most: int = 500

    def plan(self, call_seconds: float) -> tuple[int, int]:
        """Return warm-up calls and samples of a visit to what takes so long a call."""
        calls = self.seconds / 2 / max(call_seconds, 1e-9)
        return max(2, int(calls)), min(max(self.least, int(calls)), self.most)


def device_seconds(timings: Iterable[LatencyResult], hello: Hello) -> float | None:
    """Return how long a board was at work for these timings; None if its ticks are no time."""
    ticks = sum(timing.counters.get("device_ticks", 0) for timing in timings)
    return seconds_of(ticks, hello)


def overhead(seconds: float, at_work: float | None) -> float | None:
    """Return what the bench took beyond the boards' time, as a share of that; None if unknown."""
    return seconds / at_work - 1 if at_work else None


def probed_seconds(
    samples: Sequence[int], overhead_ticks: int, hello: Hello, host_seconds: float
) -> float:
    """Return how long a call takes, at most, by ``PROBES`` samples.

    Reading the clock takes its time as well, most of it for the smallest cases. Where ticks are no
    time, the host's seconds for these calls and a first one are a bound from above.
    """
    call = seconds_of(max(*samples[1:], overhead_ticks), hello)
    return host_seconds / (1 + PROBES) if call is None else call


def seconds_of(ticks: float, hello: Hello) -> float | None:
    """Return a duration by a board's clock in seconds; None if its ticks are no time."""
    hz = hello.clock.get("hz")
    return ticks / hz if hz and hello.clock.get("unit") != "instructions" else None
