"""The regression gate: is tonight's timing slower than the nights before?"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from operator import sub
from typing import Literal

import numpy as np

from bench.errors import BenchError

Status = Literal["ok", "regression", "improved", "not-judged"]

# Noise between nights is taken from their steps, of which the largest is left out: three nights.
_LEAST = {"nights": 1, "min_nights": 3, "min_samples": 1, "spread_nights": 3, "drift_nights": 2}
_STEP_TO_MAD = 0.809


@dataclass(frozen=True, kw_only=True)
class Rule:
    """When a timing counts as slower.

    The defaults were chosen on synthetic nights (tests/store/nights.py): with samples whose MAD is
    0.5 to 3 %, they raise about one false alarm in 10,000 judgements and miss almost no slow-down
    of 5 %.

    Attributes:
        nights: K: the baseline is the median of the last K passing nights.
        min_nights: Fewer passing nights than this judge nothing.
        min_samples: A timing with fewer samples than this is not judged and is no baseline.
        relative: Smallest change that matters, as a share of the baseline.
        mad: k: how many MADs of noise a change must exceed as well.
        ticks: How many ticks it must exceed as well: a host's clock steps by ten nanoseconds.
        spread_nights: Passing nights the noise between nights is taken from.
        drift_nights: Passing nights a slow drift is looked for in.
    """

    nights: int = 7
    min_nights: int = 5
    min_samples: int = 30
    relative: float = 0.03
    mad: float = 5.5
    ticks: float = 20
    spread_nights: int = 30
    drift_nights: int = 60

    def __post_init__(self) -> None:
        """Refuse a rule that cannot be computed.

        Raises:
            BenchError: A number of nights or samples is too small.
        """
        for name, least in _LEAST.items():
            if getattr(self, name) < least:
                raise BenchError(f"rule '{name}={getattr(self, name)}': must be at least {least}")


@dataclass(frozen=True)
class Point:
    """One night's timing of one case, net of overhead.

    Attributes:
        median: Median of the samples.
        mad: Median absolute deviation of the samples.
        count: Number of samples.
        right: Whether the output of the timed run was right.
        finished: Whether its run came to its end; one that did not is no baseline.
    """

    median: float
    mad: float
    count: int
    right: bool = True
    finished: bool = True


@dataclass(frozen=True)
class Judgement:
    """What the gate says of one night.

    Attributes:
        status: Only "regression" fails; "not-judged" is neither passed nor failed.
        missing: What it would take to judge; "" if judged.
        baseline: Median of the last K passing nights, or None.
        change: median / baseline - 1, or None.
        threshold: Smallest change that would have been judged, or None.
    """

    status: Status
    missing: str = ""
    baseline: float | None = None
    change: float | None = None
    threshold: float | None = None

    @property
    def reason(self) -> str:
        """One sentence for people."""
        if self.change is None or self.threshold is None:
            return self.missing
        return f"{self.change:+.1%} against the last nights (limit {self.threshold:.1%})"


def judge(points: Sequence[Point], rule: Rule | None = None) -> list[Judgement]:
    """Judge every night of one case on one board, oldest first.

    A night passes, and enters later baselines, if its output was right, it has enough samples and
    it is no regression. So a slow-down stays reported every night until it is gone.
    """
    rule = rule or Rule()
    # Median and its own uncertainty of each passing night.
    passing: deque[tuple[float, float]] = deque(maxlen=max(rule.nights, rule.spread_nights))
    judgements = []
    for point in points:
        uncertainty = _median_mad(point)
        judgement = _judge_one(point, uncertainty, passing, rule)
        judgements.append(judgement)
        good = point.right and point.finished and point.count >= rule.min_samples
        if good and judgement.status != "regression":
            passing.append((point.median, uncertainty))
    return judgements


def _judge_one(
    point: Point, uncertainty: float, passing: deque[tuple[float, float]], rule: Rule
) -> Judgement:
    if not point.right:
        return Judgement("not-judged", "the output of the timed run was wrong")
    if point.count < rule.min_samples:
        return Judgement("not-judged", f"{point.count} of {rule.min_samples} needed samples")
    if len(passing) < rule.min_nights:
        return Judgement(
            "not-judged", f"{len(passing)} of {rule.min_nights} needed passing nights before"
        )
    medians, uncertainties = zip(*passing, strict=True)
    baseline = _median(medians[-rule.nights :])
    if baseline <= 0:
        return Judgement("not-judged", "the baseline is below the clock's resolution", baseline)
    noise = max(
        _night_mad(medians[-rule.spread_nights :]), uncertainty, *uncertainties[-rule.nights :]
    )
    threshold = max(rule.relative, rule.mad * noise / baseline, rule.ticks / baseline)
    change = point.median / baseline - 1
    # A speed-up by a factor is as far from 1 as the slow-down by that factor.
    gain = baseline / point.median - 1 if point.median > 0 else math.inf
    if change > threshold:
        status: Status = "regression"
    else:
        status = "improved" if gain > threshold else "ok"
    return Judgement(status, "", baseline, change, threshold)


def _night_mad(medians: Sequence[float]) -> float:
    """Return the MAD between nights.

    It is taken from the steps between neighbouring nights, so that a drift does not count as noise
    and does not blunt the gate; the largest sixth of the steps is left out, so that a past
    improvement or a wild night does not either. For normal noise, the mean of the others times
    0.809 is the MAD: sizes of steps are half-normal with sqrt(2) sigma, the mean of a half-normal
    below its 5/6 quantile is 0.589 sigma, and a MAD is 0.6745 sigma. The last factor makes up for
    the few nights it comes from.
    """
    steps: list[float] = sorted(map(abs, map(sub, medians[1:], medians)))
    kept = steps[: len(steps) - max(1, len(steps) // 6)]
    return _STEP_TO_MAD * sum(kept) / len(kept) * (1 + 1 / len(medians))


def _median_mad(night: Point) -> float:
    """Return the MAD a night's median has from its samples alone.

    A median of n samples has the standard error sqrt(pi / 2) * sigma / sqrt(n).
    """
    return math.sqrt(math.pi / 2) * night.mad / math.sqrt(max(night.count, 1))


def _median(values: Sequence[float]) -> float:
    """Return the median; on a handful of values several times faster than numpy's."""
    ordered = sorted(values)
    half = len(ordered) // 2
    return ordered[half] if len(ordered) % 2 else (ordered[half - 1] + ordered[half]) / 2


@dataclass(frozen=True)
class Drift:
    """A slow-down too slow for the gate, seen over many nights.

    Attributes:
        total: Change over the nights looked at, as a share of their start.
        nights: How many nights that were.
    """

    total: float
    nights: int


def drift(
    points: Sequence[Point], judgements: Sequence[Judgement], rule: Rule | None = None
) -> Drift | None:
    """Return the slow drift over the last passing nights, if there is one.

    The Theil-Sen slope tells how much, the Mann-Kendall test (normal approximation, three standard
    deviations) that it is no accident; both ignore single wild nights.
    """
    rule = rule or Rule()
    kept = [
        point.median
        for point, judgement in zip(points, judgements, strict=True)
        if point.right and point.count >= rule.min_samples and judgement.status != "regression"
    ][-rule.drift_nights :]
    n = len(kept)
    if n < 2 * rule.min_nights:
        return None
    medians = np.asarray(kept)
    first, second = np.triu_indices(n, 1)
    rises = medians[second] - medians[first]
    slope = float(np.median(rises / (second - first)))
    z = float(np.sign(rises).sum()) / math.sqrt(n * (n - 1) * (2 * n + 5) / 18)
    start = float(np.median(medians)) - slope * (n - 1) / 2
    if start <= 0 or z < 3 or slope * (n - 1) / start <= rule.relative:
        return None
    return Drift(slope * (n - 1) / start, n)
