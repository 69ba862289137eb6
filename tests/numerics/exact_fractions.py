"""The integer contract, the encoder and the guards again, in exact fractions.

Written from the definitions alone and importing nothing of the bench, so that the tests have a
second opinion.
"""

from __future__ import annotations

import math
from fractions import Fraction


def round_half_away(value: Fraction) -> int:
    magnitude = math.floor(abs(value) + Fraction(1, 2))
    return magnitude if value >= 0 else -magnitude


def encode(r: float) -> tuple[int, int]:
    exact = Fraction(r)
    shift = 0
    while exact >= 1:
        exact /= 2
        shift += 1
    while exact < Fraction(1, 2):
        exact *= 2
        shift -= 1
    multiplier = round_half_away(exact * 2**31)
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    return (multiplier, shift) if shift >= -31 else (0, 0)


def multiply(x: int, y: int, z1: int, z2: int, zo: int, multiplier: int, shift: int) -> int:
    p = (x - z1) * (y - z2) * 2 ** max(shift, 0)
    high = math.floor(Fraction(p * multiplier + 2**30, 2**31))
    out = round_half_away(Fraction(high, 2 ** max(-shift, 0))) + zo
    return max(-128, min(127, out))


def to_float32(value: Fraction) -> Fraction | None:
    """Round a non-negative value to float32, half to even; None stands for infinity."""
    if value == 0:
        return value
    exponent = math.floor(math.log2(value)) if value < 2**1000 else 1000
    while Fraction(2) ** exponent > value:
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= value:
        exponent += 1
    step = Fraction(2) ** (max(exponent, -126) - 23)
    rounded = round(value / step) * step  # Fraction rounds half to even
    return rounded if rounded < Fraction(2) ** 128 else None


def float32_overflows(scales: list[float], zero_points: list[int]) -> bool:
    rounded = [to_float32(Fraction(s)) for s in scales]
    if any(s is None or s < Fraction(2) ** -126 for s in rounded):
        return True
    ends = []
    for scale, zero_point in zip(rounded[:2], zero_points[:2], strict=True):
        assert scale is not None
        end = to_float32(max(127 - zero_point, zero_point + 128) * scale)
        if end is None:
            return True
        ends.append(end)
    return to_float32(ends[0] * ends[1]) is None
