"""The integer contract of the int8 multiply: gemmlowp's double rounding.

    v = floor((p * 2**ls * M + 2**30) / 2**31)         saturating rounding doubling high multiply
    w = v / 2**rs, rounded half away from zero         rounding divide by power of two
    out = clamp(w + zo, act_min, act_max)

with ``p = (x - z1) * (y - z2)``. TensorFlow Lite, CMSIS-NN and ESP-NN agree on it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.numerics.bounds import native_bounds
from bench.numerics.qparams import MulParams

Int8Array = NDArray[np.int8]


def products(x: Int8Array, y: Int8Array, params: MulParams) -> NDArray[np.int64]:
    """Return ``(x - z1) * (y - z2)``, the one value that a result depends on."""
    return (x.astype(np.int64) - params.z1) * (y.astype(np.int64) - params.z2)


def multiply_int8(x: Int8Array, y: Int8Array, params: MulParams) -> Int8Array:
    """Multiply int8 arrays of equal shape by the integer contract.

    Raises:
        ValueError: The parameters lie outside ``native_bounds``, where the contract's 32-bit
            intermediates overflow, or the shapes differ.
    """
    if x.shape != y.shape:
        raise ValueError(f"shapes differ: {x.shape} and {y.shape}")
    if reason := native_bounds(params):
        raise ValueError(reason)
    p = products(x, y, params)
    # Within the bounds |p << ls| < 2**31 and M < 2**31: int64 holds every step exactly, and
    # the contract's saturation (both factors -2**31) cannot be met because M is positive.
    v = ((p << params.left_shift) * params.multiplier + (1 << 30)) >> 31
    rs = params.right_shift
    if rs:
        half = 1 << (rs - 1)
        v = np.where(v >= 0, (v + half) >> rs, -((-v + half) >> rs))
    out: Int8Array = np.clip(v + params.zo, params.act_min, params.act_max).astype(np.int8)
    return out
