"""Where the native kernel may stand in for the float32 pattern, and where it may not."""

from __future__ import annotations

import numpy as np

from bench.numerics.qparams import INT8_MAX, INT8_MIN, MIN_SHIFT, MulParams, QParams

_INT32_MIN = -(1 << 31)
_INT32_MAX = (1 << 31) - 1


def native_bounds(params: MulParams) -> str | None:
    """Check that no 32-bit intermediate of the contract overflows over the full int8 range.

    Returns None inside the bounds, else a sentence that names the bound.
    """
    m, shift, ls = params.multiplier, params.shift, params.left_shift
    if m == 0:
        if shift != 0:
            return f"multiplier 0 goes with shift 0, not {shift}"
    elif not 1 << 30 <= m <= _INT32_MAX:
        return f"multiplier {m} is not in [2^30, 2^31 - 1]"
    if shift < MIN_SHIFT:
        return f"shift {shift} is below {MIN_SHIFT}"
    corners = [
        (a - params.z1) * (b - params.z2)
        for a in (INT8_MIN, INT8_MAX)
        for b in (INT8_MIN, INT8_MAX)
    ]
    for p in (min(corners), max(corners)):
        shifted = p << ls
        if not _INT32_MIN <= shifted <= _INT32_MAX:
            return f"product {p} shifted left by {ls} leaves int32"
        high = (shifted * m + (1 << 30)) >> 31
        if not _INT32_MIN <= high + params.zo <= _INT32_MAX:
            return f"rescaled product {high} plus zero point {params.zo} leaves int32"
    return None


def float32_guard(q1: QParams, q2: QParams, qo: QParams) -> str | None:
    """Check that the float32 pattern (dequantize, multiply, quantize) cannot overflow.

    With RN the rounding to float32, A = max(127 - z1, z1 + 128) and B likewise: the scales'
    float32 values are normal and finite, RN(A*S1), RN(B*S2) and the product of these two,
    rounded, are finite. Rounding is monotone, so the corner stands for the full int8 range.

    Returns None if it cannot, else a sentence that names what overflows.
    """
    tiny = np.finfo(np.float32).tiny
    with np.errstate(over="ignore", under="ignore"):
        scales = [np.float32(q.scale) for q in (q1, q2, qo)]
        for name, scale in zip(("first input", "second input", "output"), scales, strict=True):
            if not np.isfinite(scale):
                return f"the {name}'s scale is infinite in float32"
            if scale < tiny:
                return f"the {name}'s scale is subnormal or zero in float32"
        ends = []
        for name, q, scale in zip(("first", "second"), (q1, q2), scales, strict=False):
            reach = max(INT8_MAX - q.zero_point, q.zero_point - INT8_MIN)
            end = np.float32(reach) * scale
            if not np.isfinite(end):
                return f"dequantizing the {name} input overflows float32 at {reach} steps"
            ends.append(end)
        if not np.isfinite(ends[0] * ends[1]):
            return "the float32 product of the dequantized inputs overflows"
    return None
