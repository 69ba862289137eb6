"""Compares two builds of a kernel, timed in turn in one run."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.runs.effort import VISITS
from bench.store import LatencyResult, Ratio, median_ratio
from bench.store.statistics import net

# The cost of a call hides what a kernel does below this many elements.
_JUDGED_FROM = 256
# A smaller change does not matter; as the gate on nights has it.
_RELATIVE = 0.03
# At one size there are few cases, and a process may have bad luck with its memory: more is needed.
_AT_ONE_SIZE = 0.25
_RESAMPLES = 2000
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class SideBySide:
    """A kernel against another build of it.

    Attributes:
        cases: Each case timed on both, with the ratio of its medians; below 1 is faster.
        overall: Median of the ratios of the judged cases, with a bootstrap interval over cases;
            None if there is no such case.
        judged: How many cases that are.
        slower_sizes: Sizes, in elements, at which every visit of every case was slower by more
            than noise makes it, with the least and the largest ratio.
    """

    cases: Sequence[tuple[LatencyResult, Ratio]]
    overall: Ratio | None
    judged: int
    slower_sizes: Mapping[int, tuple[float, float]]

    @property
    def slower_on_the_whole(self) -> bool:
        """Whether the median over cases is slower by more than matters, and by no accident."""
        return self.overall is not None and self.overall.low > 1 + _RELATIVE

    @property
    def slower(self) -> bool:
        """Whether the kernel is slower, on the whole or at one size."""
        return self.slower_on_the_whole or bool(self.slower_sizes)


def compare_builds(
    own: Sequence[LatencyResult], rival: Sequence[LatencyResult], *, seed: int = 0
) -> SideBySide:
    """Compare a kernel's timings with those of its rival in the same cases.

    Timings without samples or with a wrong output take no part. The noise that one case has of its
    place in memory and of the machine's other work is not its kernel's, so the judgement is on the
    median over cases, resampled by case. A kernel may be slow at some sizes only: one is slower
    there if no visit of any case of that size says otherwise.

    Args:
        own: The kernel's timings; other variants among them are left out.
        rival: The other build's.
        seed: The same seed gives the same intervals.
    """
    others = {r.name: r for r in rival if r.verdict == "pass" and len(r.samples)}
    cases = []
    for one in own:
        other = others.get(one.name)
        same = other is not None and other.variant == one.variant and other.unit == one.unit
        if other is None or not same or one.verdict != "pass" or not len(one.samples):
            continue
        ratio = median_ratio(
            net(one.samples, one.overhead_ticks),
            net(other.samples, other.overhead_ticks),
            visits=VISITS,
            seed=seed,
        )
        cases.append((one, ratio))
    large = np.array(
        [r.value for one, r in cases if one.elements >= _JUDGED_FROM and math.isfinite(r.value)]
    )
    sizes: dict[int, list[Ratio]] = {}
    for one, ratio in cases:
        if one.elements >= _JUDGED_FROM:
            sizes.setdefault(one.elements, []).append(ratio)
    slower_sizes = {
        size: (min(r.low for r in ratios), max(r.high for r in ratios))
        for size, ratios in sizes.items()
        if min(r.low for r in ratios) > 1 + _AT_ONE_SIZE
    }
    if not large.size:
        return SideBySide(cases, None, 0, slower_sizes)
    random = np.random.default_rng(seed)
    medians = np.median(large[random.integers(large.size, size=(_RESAMPLES, large.size))], axis=1)
    tail = 50 * (1 - _CONFIDENCE)
    low, high = np.percentile(medians, [tail, 100 - tail])
    overall = Ratio(float(np.median(large)), float(low), float(high), _CONFIDENCE)
    return SideBySide(cases, overall, int(large.size), slower_sizes)
