"""Timings that are too odd to believe, each with what to look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from bench.store.records import LatencyResult
from bench.store.results import Timing
from bench.store.statistics import Ratio, median_ratio, net, summarize
from bench.store.store import canonical

PORTABLE = "portable"

# Below this many elements the cost of a call may hide what a kernel gains.
_FASTER_FROM = 256

# A host's clock, which steps by tens of nanoseconds, may see nothing of fewer elements.
_RESOLVED_FROM = 64

# Time must grow between sizes this far apart: the cost of a call alone hides smaller steps.
_GROWTH_FROM = 1024
_GROWTH_SIZES = 16
_GROWTH_TIMES = 2.0


@dataclass(frozen=True)
class Pair:
    """A native kernel or program and its portable counterpart on the same board.

    Attributes:
        ratio: Native to portable; below 1 is faster.
    """

    native: Timing
    portable: Timing
    ratio: Ratio


@dataclass(frozen=True)
class Flag:
    """One odd timing: what is odd, and what it may come from."""

    timing: Timing
    reason: str


def pairs(timings: Iterable[Timing], *, seed: int = 0) -> list[Pair]:
    """Return each timing of something not portable with its portable counterpart.

    They belong together if board, clock, name, model and params are equal. Timings whose output
    was wrong, or that have no samples, take no part.
    """
    groups: dict[tuple[object, ...], list[Timing]] = defaultdict(list)
    for timing in timings:
        result = timing.result
        if result.verdict == "pass" and len(result.samples):
            case = (result.level, result.name, result.model, canonical(result.params))
            groups[timing.board.id, result.unit, case].append(timing)
    found = []
    for group in groups.values():
        portable = [t for t in group if _kind(t.result) == PORTABLE]
        for timing in group:
            if _kind(timing.result) != PORTABLE and portable:
                ratio = median_ratio(
                    _net(timing.result),
                    _net(portable[-1].result),
                    visits=timing.result.counters.get("visits", 1),
                    seed=seed,
                )
                found.append(Pair(timing, portable[-1], ratio))
    return found


def flags(timings: Sequence[Timing], found: Sequence[Pair]) -> list[Flag]:
    """Return the timings to look at.

    Args:
        timings: Timings of one or more boards.
        found: Their pairs, of `pairs`.
    """
    odd = []
    for pair in found:
        large_enough = pair.native.result.elements >= _FASTER_FROM
        # NaN (a portable time of zero) is odd in itself and flagged below.
        if large_enough and pair.ratio.high >= 1:
            odd.append(
                Flag(
                    pair.native,
                    f"not faster than portable (ratio {pair.ratio.value:.2f}, up to "
                    f"{pair.ratio.high:.2f}): look for a silent fallback, the scalar path, or a "
                    "placement the cache does not serve",
                )
            )
    for timing in timings:
        result = timing.result
        resolvable = result.elements >= _RESOLVED_FROM
        if resolvable and result.verdict == "pass" and len(result.samples) and not _median(result):
            odd.append(
                Flag(
                    timing,
                    "takes no more time than an empty call: the clock does not resolve it, or "
                    "the kernel does nothing",
                )
            )
    return odd + _growth(timings)


def _growth(timings: Iterable[Timing]) -> list[Flag]:
    """Flag sizes whose time does not grow although nothing but the size does."""
    lines: dict[tuple[object, ...], list[Timing]] = defaultdict(list)
    for timing in timings:
        result = timing.result
        if result.level == "kernel" and result.verdict == "pass" and len(result.samples):
            lines[line_key(timing)].append(timing)
    odd = []
    for line in lines.values():
        line.sort(key=lambda t: t.result.elements)
        for timing in line:
            elements = timing.result.elements
            smaller = [t for t in line if 0 < t.result.elements * _GROWTH_SIZES <= elements]
            if elements < _GROWTH_FROM or not smaller:
                continue
            times = _median(timing.result) / max(_median(smaller[-1].result), 1.0)
            if times < _GROWTH_TIMES:
                fewer = smaller[-1].result.elements
                odd.append(
                    Flag(
                        timing,
                        f"{elements} elements take {times:.2f} times as long as {fewer}: look for "
                        "a kernel that stops early or computes only in its first call",
                    )
                )
    return odd


def line_key(timing: Timing) -> tuple[object, ...]:
    """Return what a line over sizes has in common: everything but the size."""
    result = timing.result
    params = {key: value for key, value in result.params.items() if key != "size"}
    return (timing.board.id, result.unit, result.group, _kind(result), canonical(params))


def _kind(result: LatencyResult) -> str | None:
    return result.variant or result.route


def _net(result: LatencyResult) -> NDArray[np.float64]:
    return net(result.samples, result.overhead_ticks)


def _median(result: LatencyResult) -> float:
    return summarize(result.samples, result.overhead_ticks).median
