"""Compares two builds of a kernel, timed in turn in one run."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.store import LatencyResult, Ratio, median_ratio
from bench.store.statistics import net

# The cost of a call hides what a kernel does below this many elements.
_JUDGED_FROM = 256
# A smaller change does not matter; as the gate on nights has it.
_RELATIVE = 0.03
_RESAMPLES = 2000
_CONFIDENCE = 0.95


@dataclass(frozen=True)
class SideBySide:
    """A kernel against another build of it.

    Attributes:
        cases: Each case timed on both, with the ratio of its medians; below 1 is faster.
        overall: Median of the ratios of the large cases, with a bootstrap interval over cases;
            None if there is no such case.
    """

    cases: Sequence[tuple[LatencyResult, Ratio]]
    overall: Ratio | None

    @property
    def slower(self) -> bool:
        """Whether the kernel is slower by more than matters, and by no accident."""
        return self.overall is not None and self.overall.low > 1 + _RELATIVE


def compare_builds(
    own: Sequence[LatencyResult], rival: Sequence[LatencyResult], *, seed: int = 0
) -> SideBySide:
    """Compare a kernel's timings with those of its rival in the same cases.

    Timings without samples or with a wrong output take no part. The noise that one case has of its
    place in memory and of the machine's other work is not its kernel's, so the judgement is on the
    median over cases, resampled by case.

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
            seed=seed,
        )
        cases.append((one, ratio))
    large = np.array(
        [r.value for one, r in cases if one.elements >= _JUDGED_FROM and math.isfinite(r.value)]
    )
    if not large.size:
        return SideBySide(cases, None)
    random = np.random.default_rng(seed)
    medians = np.median(large[random.integers(large.size, size=(_RESAMPLES, large.size))], axis=1)
    tail = 50 * (1 - _CONFIDENCE)
    low, high = np.percentile(medians, [tail, 100 - tail])
    return SideBySide(cases, Ratio(float(np.median(large)), float(low), float(high), _CONFIDENCE))
