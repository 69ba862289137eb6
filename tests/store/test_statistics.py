"""Figures against the standard library and against what is true by construction."""

import math
import statistics

import numpy as np
import pytest

from bench.store.statistics import median_ratio, net, summarize


def test_summary_against_the_standard_library():
    samples = np.random.default_rng(3).integers(900, 1300, 101).tolist()
    summary = summarize(samples, 100)
    ticks = [s - 100 for s in samples]
    median = statistics.median(ticks)
    assert summary.count == 101
    assert summary.min == min(ticks)
    assert summary.max == max(ticks)
    assert summary.median == median
    assert summary.mad == statistics.median([abs(t - median) for t in ticks])
    inclusive = statistics.quantiles(ticks, n=100, method="inclusive")
    assert summary.p95 == pytest.approx(inclusive[94])
    assert summary.per_element(4) == median / 4
    assert math.isnan(summary.per_element(0))


def test_net_never_goes_below_zero():
    assert net([5, 30], 20).tolist() == [0, 10]


def test_no_samples():
    with pytest.raises(ValueError, match="no samples"):
        summarize([])
    with pytest.raises(ValueError, match="no samples"):
        median_ratio([1.0], [])


def test_ratio_is_seeded_and_holds_its_value():
    random = np.random.default_rng(5)
    a, b = random.normal(100, 3, 100), random.normal(200, 6, 100)
    ratio = median_ratio(a, b, seed=1)
    assert ratio == median_ratio(a, b, seed=1)
    assert ratio != median_ratio(a, b, seed=2)
    assert ratio.low <= ratio.value <= ratio.high
    assert ratio.value == statistics.median(a) / statistics.median(b)


@pytest.mark.parametrize(("confidence", "least", "most"), [(0.9, 163, 197), (0.5, 72, 135)])
def test_interval_covers_the_true_ratio_as_often_as_it_says(confidence, least, most):
    random = np.random.default_rng(6)
    covered = 0
    for _ in range(200):
        ratio = median_ratio(
            random.normal(100, 3, 60),
            random.normal(200, 6, 60),
            resamples=300,
            confidence=confidence,
        )
        covered += ratio.low <= 0.5 <= ratio.high
    # 180 and 100 expected, within four standard deviations; the percentile method errs to the
    # wide side.
    assert least <= covered <= most


def test_ratio_to_nothing_is_no_number():
    ratio = median_ratio([1.0, 2.0], [0.0, 0.0])
    assert math.isnan(ratio.value)
