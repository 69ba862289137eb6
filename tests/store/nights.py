"""Synthetic nights with noise as boards have it; seeded."""

from __future__ import annotations

import numpy as np

from bench.store.gate import Point

SIGMA = 1.4826  # standard deviation of a normal distribution over its MAD


def ticks_of(
    random: np.random.Generator,
    base: float,
    mad: float,
    *,
    nights: int = 1,
    count: int = 100,
    between: float = 0.0,
) -> np.ndarray:
    """Ticks of some nights, shape (nights, count); `mad` and `between` are shares of `base`.

    Samples are normal, one in fifty is caught by an interrupt and takes up to half as long again;
    a whole night is shifted by its own normal amount (placement, temperature).
    """
    middle = base * (1 + random.normal(0, between * SIGMA, (nights, 1)))
    ticks = middle * (1 + random.normal(0, mad * SIGMA, (nights, count)))
    ticks *= 1 + random.uniform(0, 0.5, ticks.shape) * (random.random(ticks.shape) < 0.02)
    return np.rint(ticks).astype(np.int64)


def points(
    random: np.random.Generator, base: float, mad: float, nights: int, **noise: float
) -> list[Point]:
    ticks = ticks_of(random, base, mad, nights=nights, **noise)
    medians = np.median(ticks, axis=1)
    mads = np.median(np.abs(ticks - medians[:, None]), axis=1)
    return [Point(float(m), float(d), ticks.shape[1]) for m, d in zip(medians, mads, strict=True)]
