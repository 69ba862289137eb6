"""The integer contract in Python's own integers, and the buffers that tests give to kernels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Int8Array = NDArray[np.int8]

# Every pair of int8 values, once.
ALL_X = np.repeat(np.arange(-128, 128, dtype=np.int8), 256)
ALL_Y = np.tile(np.arange(-128, 128, dtype=np.int8), 256)


def saturating_doubling_high_multiply(a: int, b: int) -> int:
    """High half of ``2 * a * b`` in 32 bits, the nearest, ties towards +infinity."""
    return (2 * a * b + (1 << 31)) >> 32


def rounding_divide(value: int, exponent: int) -> int:
    """``value / 2**exponent``, the nearest, ties away from zero."""
    quotient, remainder = divmod(abs(value), 1 << exponent)
    quotient += 2 * remainder >= 1 << exponent and exponent > 0
    return quotient if value >= 0 else -quotient


def requantize(
    p: int, zero_point: int, multiplier: int, shift: int, low: int = -128, high: int = 127
) -> int:
    value = saturating_doubling_high_multiply(p << max(shift, 0), multiplier)
    return min(high, max(low, rounding_divide(value, max(-shift, 0)) + zero_point))


def multiply(x: Int8Array, y: Int8Array, z1: int, z2: int, *contract: int) -> Int8Array:
    """The contract over arrays: each distinct product is computed once."""
    products = (x.astype(int) - z1) * (y.astype(int) - z2)
    distinct, where = np.unique(products, return_inverse=True)
    results = [requantize(int(p), *contract) for p in distinct]
    return np.array(results, dtype=np.int8)[where]
