"""Statistics of timings: robust figures, ratios with their uncertainty. numpy only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Samples = Sequence[int] | NDArray[np.integer] | NDArray[np.floating]

# Standard deviation of a normal distribution over its MAD: 1 / Phi^-1(3/4).
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Summary:
    """Robust figures of one timing, in ticks net of overhead.

    Attributes:
        count: Number of samples.
        mad: Median absolute deviation from the median, not scaled.
        p95: 95th percentile, linearly interpolated.
    """

    count: int
    min: float
    median: float
    mad: float
    p95: float
    max: float

    def per_element(self, elements: int) -> float:
        """Return the median in ticks an output element; NaN without elements."""
        return self.median / elements if elements else float("nan")


def net(samples: Samples, overhead: float = 0) -> NDArray[np.float64]:
    """Return samples less the empty call's ticks, never below zero."""
    ticks: NDArray[np.float64] = np.maximum(np.asarray(samples, dtype=np.float64) - overhead, 0.0)
    return ticks


def summarize(samples: Samples, overhead: float = 0) -> Summary:
    """Summarize raw samples net of the empty call.

    Raises:
        ValueError: There is no sample.
    """
    ticks = net(samples, overhead)
    if not ticks.size:
        raise ValueError("no samples")
    median = float(np.median(ticks))
    return Summary(
        count=int(ticks.size),
        min=float(ticks.min()),
        median=median,
        mad=float(np.median(np.abs(ticks - median))),
        p95=float(np.percentile(ticks, 95)),
        max=float(ticks.max()),
    )


@dataclass(frozen=True)
class Ratio:
    """A ratio of two medians with its confidence interval.

    Attributes:
        value: Ratio of the medians; NaN if the denominator is zero.
        low: Lower end of the interval.
        high: Upper end of the interval.
        confidence: Coverage of the interval, e.g. 0.95.
    """

    value: float
    low: float
    high: float
    confidence: float


def median_ratio(
    numerator: Samples,
    denominator: Samples,
    *,
    visits: int = 1,
    confidence: float = 0.95,
    resamples: int = 1000,
    seed: int = 0,
) -> Ratio:
    """Return median(numerator) / median(denominator) with a bootstrap percentile interval.

    Both sides are resampled independently (Efron, percentile method). Calls of one visit are more
    alike than those of different visits, so the interval is widened to what the visits give by
    themselves, each pair of them. With quantized ticks the medians of resamples often repeat, so
    the interval may be a single point: the clock does not resolve more.

    Args:
        numerator: Ticks net of overhead.
        denominator: Ticks net of overhead.
        visits: In how many visits each side was measured; the samples are in their order.
        confidence: Coverage of the interval.
        resamples: Number of bootstrap resamples.
        seed: The same seed gives the same interval.

    Raises:
        ValueError: One side has no sample.
    """
    top = np.asarray(numerator, dtype=np.float64)
    bottom = np.asarray(denominator, dtype=np.float64)
    if not top.size or not bottom.size:
        raise ValueError("no samples")
    if np.median(bottom) == 0:
        return Ratio(float("nan"), float("nan"), float("nan"), confidence)
    random = np.random.default_rng(seed)
    above = np.median(top[random.integers(top.size, size=(resamples, top.size))], axis=1)
    below = np.median(bottom[random.integers(bottom.size, size=(resamples, bottom.size))], axis=1)
    ratios = above[below > 0] / below[below > 0]
    tail = 50 * (1 - confidence)
    low, high = np.percentile(ratios, [tail, 100 - tail])
    if visits > 1 and min(top.size, bottom.size) >= visits:
        tops, bottoms = (
            [float(np.median(part)) for part in np.array_split(side, visits)]
            for side in (top, bottom)
        )
        pairs = [above / below for above in tops for below in bottoms if below]
        low, high = min([low, *pairs]), max([high, *pairs])
    return Ratio(float(np.median(top) / np.median(bottom)), float(low), float(high), confidence)
