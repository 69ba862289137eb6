"""The portable variant's reference: dequantize, float32 multiply, quantize."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from bench.numerics.multiply import Int8Array, products
from bench.numerics.qparams import INT8_MAX, INT8_MIN, MulParams, QParams, rescale

# What float32 rounding can add to the distance from a tie, measured over 1,000 parameter sets.
_FLOAT32_SLACK = 1e-4


def multiply_portable(
    x: Int8Array, y: Int8Array, q1: QParams, q2: QParams, qo: QParams
) -> Int8Array:
    """Multiply as ExecuTorch's portable operators do, every step rounded to float32.

    The quantizing step multiplies by the float32 reciprocal of the float32 output scale and
    rounds half to even. Where float32 overflows (see ``float32_guard``) C++ is undefined and
    this reference means nothing.
    """
    s1, s2, so = (np.float32(q.scale) for q in (q1, q2, qo))
    a = (x.astype(np.int32) - q1.zero_point).astype(np.float32) * s1
    b = (y.astype(np.int32) - q2.zero_point).astype(np.float32) * s2
    rounded = np.rint((np.float32(1.0) / so) * (a * b))
    shifted = rounded + np.float32(qo.zero_point)
    out: Int8Array = np.clip(shifted, INT8_MIN, INT8_MAX).astype(np.int8)
    return out


def tie_zone(
    x: Int8Array, y: Int8Array, q1: QParams, q2: QParams, qo: QParams
) -> NDArray[np.bool_]:
    """Tell where native and portable may differ by one LSB.

    Double rounding, ties and float32 rounding move a result only close to a half: where
    ``|frac(v) - 1/2| <= 2**-(rs + 1) + 1e-4``, ``v`` the real result ``p * s1 * s2 / so``.
    """
    params = MulParams.from_qparams(q1, q2, qo)
    v = products(x, y, params) * rescale(q1, q2, qo)
    distance = np.abs(v - np.floor(v) - 0.5)
    near: NDArray[np.bool_] = distance <= 2.0 ** -(params.right_shift + 1) + _FLOAT32_SLACK
    return near
