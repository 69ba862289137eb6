"""Quantization parameters and their integer form: a Q31 multiplier with a shift."""

from __future__ import annotations

import math
from dataclasses import dataclass

INT8_MIN = -128
INT8_MAX = 127

# Below this exponent the contract's rounding divide can only yield zero: encoded as (0, 0).
MIN_SHIFT = -31


@dataclass(frozen=True)
class QParams:
    """Affine int8 quantization of one tensor: ``real = (q - zero_point) * scale``.

    Raises:
        ValueError: The scale is not finite and positive, or the zero point is not an int8.
    """

    scale: float
    zero_point: int

    def __post_init__(self) -> None:
        """Refuse what no int8 tensor can have."""
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise ValueError(f"scale {self.scale!r} is not finite and positive")
        if not INT8_MIN <= self.zero_point <= INT8_MAX:
            raise ValueError(f"zero point {self.zero_point} is not in [-128, 127]")


def quantize_multiplier(r: float) -> tuple[int, int]:
    """Encode ``r`` as ``(M, shift)`` with ``r ~= M * 2**(shift - 31)``.

    ``M`` is in [2**30, 2**31 - 1], rounded half away from zero; an ``r`` too small for the
    contract (shift below -31 after the carry) gives ``(0, 0)``. The carry comes before that
    limit, so the largest double below 2**-32 is still ``(2**30, -31)``. This is gemmlowp's and
    TensorFlow Lite's encoding. Large shifts are not limited here: see ``native_bounds``.

    Raises:
        ValueError: ``r`` is not finite and positive.
    """
    if not (math.isfinite(r) and r > 0):
        raise ValueError(f"rescale {r!r} is not finite and positive")
    fraction, shift = math.frexp(r)
    # fraction * 2**31 keeps at most 22 bits behind the point, so adding a half is exact.
    multiplier = math.floor(fraction * 2.0**31 + 0.5)
    if multiplier == 1 << 31:
        multiplier >>= 1
        shift += 1
    if shift < MIN_SHIFT:
        return 0, 0
    return multiplier, shift


def rescale(q1: QParams, q2: QParams, qo: QParams) -> float:
    """Return ``s1 * s2 / so`` in double, in this order: another one can move M by one unit."""
    return q1.scale * q2.scale / qo.scale


@dataclass(frozen=True)
class MulParams:
    """What an int8 multiply kernel is given: zero points, Q31 multiplier, shift, clamp.

    ``shift`` > 0 shifts left, < 0 right.
    """

    z1: int
    z2: int
    zo: int
    multiplier: int
    shift: int
    act_min: int = INT8_MIN
    act_max: int = INT8_MAX

    @classmethod
    def from_qparams(cls, q1: QParams, q2: QParams, qo: QParams) -> MulParams:
        """Encode the parameters of ``out = x * y``.

        Raises:
            ValueError: The rescale ``s1 * s2 / so`` under- or overflows double.
        """
        multiplier, shift = quantize_multiplier(rescale(q1, q2, qo))
        return cls(q1.zero_point, q2.zero_point, qo.zero_point, multiplier, shift)

    @property
    def left_shift(self) -> int:
        """Bits the product is shifted left before the high multiply."""
        return max(self.shift, 0)

    @property
    def right_shift(self) -> int:
        """Bits the high multiply's result is divided down by, rounding half away from zero."""
        return max(-self.shift, 0)
