"""The contract again, in exact fractions: what the exporter's decisions are checked against.

It shares no code with ``bench.numerics``. Scales are doubles; everything that follows from them is
a Fraction, rounded only where the contract says so.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

# Halfway between the largest float32 and the next power of two: from here on it is infinite.
FLOAT32_OVERFLOW = Fraction(2) ** 128 - Fraction(2) ** 103
FLOAT32_NORMAL = Fraction(2) ** -126


def float32(value: Fraction) -> Fraction | None:
    """Round to float32, half to even. None is infinity; below normal it stays as it is."""
    if abs(value) >= FLOAT32_OVERFLOW:
        return None
    if value == 0:
        return value
    exponent = math.floor(math.log2(abs(value)))
    while Fraction(2) ** exponent > abs(value):
        exponent -= 1
    while Fraction(2) ** (exponent + 1) <= abs(value):
        exponent += 1
    step = Fraction(2) ** (max(exponent, -126) - 23)
    return round(value / step) * step


def reach(zero_point: int) -> int:
    return max(127 - zero_point, zero_point + 128)


def overflows(zero_points: tuple[int, int, int], scales: tuple[float, float, float]) -> bool:
    """Tell whether the float32 pattern can overflow, or a scale is not a normal float32."""
    rounded = [float32(Fraction(scale)) for scale in scales]
    if any(scale is None or scale < FLOAT32_NORMAL for scale in rounded):
        return True
    a = float32(reach(zero_points[0]) * rounded[0])
    b = float32(reach(zero_points[1]) * rounded[1])
    return a is None or b is None or float32(a * b) is None


def encode(rescale: float) -> tuple[int, int]:
    """Encode a rescale as Q31 multiplier and shift, or (0, 0) below 2**-32."""
    exact = Fraction(rescale)
    shift = 0
    while exact >= Fraction(2) ** shift:
        shift += 1
    while exact < Fraction(2) ** (shift - 1):
        shift -= 1
    multiplier = math.floor(exact * Fraction(2) ** (31 - shift) + Fraction(1, 2))
    if multiplier == 2**31:
        multiplier, shift = 2**30, shift + 1
    return (multiplier, shift) if shift >= -31 else (0, 0)


def out_of_bounds(zero_points: tuple[int, int, int], multiplier: int, shift: int) -> bool:
    z1, z2, zo = zero_points
    corners = [(x - z1) * (y - z2) for x in (-128, 127) for y in (-128, 127)]
    for product in (min(corners), max(corners)):
        shifted = product * 2 ** max(shift, 0)
        high = math.floor(Fraction(shifted * multiplier, 2**31) + Fraction(1, 2)) + zo
        if not -(2**31) <= shifted < 2**31 or not -(2**31) <= high < 2**31:
            return True
    return False


def is_native(zero_points: tuple[int, int, int], scales: tuple[float, float, float]) -> bool:
    if overflows(zero_points, scales):
        return False
    s1, s2, so = scales
    return not out_of_bounds(zero_points, *encode(s1 * s2 / so))


def multiply(
    x: np.ndarray, y: np.ndarray, zero_points: tuple[int, int, int], multiplier: int, shift: int
) -> np.ndarray:
    """Multiply in one rounding step, the contract's other form: see facts of the contract.

    For a product p >= 0, floor((p * 2**ls * M + B) / 2**(31 + rs)) with B = 2**30 + 2**(30 + rs)
    (without right shift, 2**30); for p < 0, B is smaller by 2**31.
    """
    z1, z2, zo = zero_points
    left, right = max(shift, 0), max(-shift, 0)
    p = (x.astype(object) - z1) * (y.astype(object) - z2)
    bias = 2**30 + (2 ** (30 + right) if right else 0)
    lowered = 2**31 if right else 0
    total = p * (2**left * multiplier) + np.where(p >= 0, bias, bias - lowered)
    return np.clip(total // 2 ** (31 + right) + zo, -128, 127).astype(np.int8)
