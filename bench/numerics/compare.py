"""Comparison of int8 tensors in LSB."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Comparison:
    """How an output differs from what was expected.

    Attributes:
        elements: Number of compared elements.
        max_abs_diff: Largest difference, in LSB.
        mismatches: Elements that differ at all.
        violations: Elements that differ by more than was allowed there; right means none.
        signed_mean: Mean of ``got - expected`` over all elements, in LSB.
        histogram: Difference in LSB to number of elements, zero left out.
        first_bad_index: Flat index of the first violation, or None.
        expected: Expected value there, or None.
        got: Value found there, or None.
    """

    elements: int
    max_abs_diff: int
    mismatches: int
    violations: int
    signed_mean: float
    histogram: dict[int, int]
    first_bad_index: int | None
    expected: int | None
    got: int | None

    @property
    def ok(self) -> bool:
        """True if nothing was compared wrong; comparing nothing at all is not right."""
        return self.violations == 0 and self.elements > 0

    @property
    def rate(self) -> float:
        """Share of elements that differ at all."""
        return self.mismatches / self.elements if self.elements else 0.0


def compare(
    expected: NDArray[np.integer], got: NDArray[np.integer], allowed: int | NDArray[np.integer] = 0
) -> Comparison:
    """Compare two integer arrays of equal shape.

    Args:
        expected: What should have come out.
        got: What did.
        allowed: Largest difference allowed, in LSB: one for all, or one for each element.

    Raises:
        ValueError: The shapes differ.
    """
    if expected.shape != got.shape:
        raise ValueError(f"shapes differ: expected {expected.shape}, got {got.shape}")
    want = expected.astype(np.int64).ravel()
    have = got.astype(np.int64).ravel()
    diff = have - want
    bad = np.flatnonzero(np.abs(diff) > np.broadcast_to(np.asarray(allowed).ravel(), diff.shape))
    values, counts = np.unique(diff[diff != 0], return_counts=True)
    first = int(bad[0]) if bad.size else None
    return Comparison(
        elements=int(diff.size),
        max_abs_diff=int(np.abs(diff).max(initial=0)),
        mismatches=int(np.count_nonzero(diff)),
        violations=int(bad.size),
        signed_mean=float(diff.mean()) if diff.size else 0.0,
        histogram={int(v): int(c) for v, c in zip(values, counts, strict=True)},
        first_bad_index=first,
        expected=None if first is None else int(want[first]),
        got=None if first is None else int(have[first]),
    )
