"""Named quantization parameters of multiplies, chosen to reach every branch of a kernel."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bench.numerics import INT8_MAX, INT8_MIN, MulParams, QParams, multiply_portable
from bench.numerics.multiply import Int8Array


@dataclass(frozen=True)
class ParameterSet:
    """The quantization of both inputs and the output of one multiply.

    Attributes:
        name: Unique among all sets.
        x: Of the first input.
        y: Of the second input.
        out: Of the output.
        activation: Least and largest output, as a fused activation leaves them.
    """

    name: str
    x: QParams
    y: QParams
    out: QParams
    activation: tuple[int, int] = (INT8_MIN, INT8_MAX)

    @property
    def qparams(self) -> tuple[QParams, QParams, QParams]:
        """First input, second input, output."""
        return self.x, self.y, self.out

    @property
    def integer(self) -> MulParams:
        """The same as a kernel takes it."""
        low, high = self.activation
        return replace(MulParams.from_qparams(*self.qparams), act_min=low, act_max=high)

    def portable(self, x: Int8Array, y: Int8Array) -> Int8Array:
        """Return what the portable kernel computes, of the inputs' shape."""
        out: Int8Array = np.clip(multiply_portable(x, y, *self.qparams), *self.activation)
        return out


def _set(
    name: str, scales: tuple[float, float, float], zeros: tuple[int, int, int]
) -> ParameterSet:
    x, y, out = (QParams(s, z) for s, z in zip(scales, zeros, strict=True))
    return ParameterSet(name, x, y, out)


def _shift(shift: int, zeros: tuple[int, int, int], fraction: float = 0.7071) -> ParameterSet:
    """A set whose rescale is ``fraction * 2**shift``, so that a kernel gets just this shift."""
    corner = ",".join(map(str, zeros))
    return _set(f"shift{shift:+d}-zp{corner}", (fraction, 2.0**shift, 1.0), zeros)


# What calibrated layers look like: asymmetric activations, symmetric ones, a sigmoid gate.
_TYPICAL = (
    _set("asymmetric", (0.0235, 0.0187, 0.0413), (-3, 11, -7)),
    _set("asymmetric-wide", (0.1271, 0.0912, 1.4803), (-41, 38, 5)),
    _set("relu-both", (0.0412, 0.0307, 0.1893), (-128, -128, -128)),
    _set("symmetric", (0.0157, 0.0219, 0.0441), (0, 0, 0)),
    _set("sigmoid-gate", (0.0311, 1 / 256, 0.0309), (4, -128, 2)),
    _set("square", (0.0274, 0.0274, 0.0951), (9, 9, -128)),
)
# Ties everywhere: scales are powers of two, so M is 2**30 or another number with many zeros.
_TIES = (
    _set("power-of-two", (2.0**-5, 2.0**-6, 2.0**-4), (0, 0, 0)),
    _set("power-of-two-offset", (2.0**-5, 2.0**-5, 2.0**-3), (-128, 127, 1)),
    _set("three-quarters", (0.75, 2.0**-7, 1.0), (0, 0, 0)),
    _set("three-quarters-offset", (0.75, 2.0**-7, 1.0), (127, -128, -1)),
)
# Every shift that full-range zero points allow, and 16, which zero points of 0 allow: a kernel may
# take another path at each. The corners rotate, and the output's zero point leaves room on the
# side to which the products go.
_CORNERS = (
    (17, -23, 6),
    (0, 0, 0),
    (-128, 127, 127),
    (-3, 11, -7),
    (127, 127, -128),
    (-128, -128, -100),
    (5, -5, 42),
)
_SHIFTS = (
    *(_shift(s, (0, 0, 0)) for s in (0, -1, -2, -3, -4)),
    *(_shift(s, _CORNERS[s % len(_CORNERS)], 0.8125 if s % 2 else 0.7071) for s in range(-31, 16)),
    _shift(16, (0, 0, 0)),
)
_MULTIPLIERS = (
    _set("multiplier-largest", (1 - 2.0**-31, 2.0**-6, 1.0), (0, 0, 0)),
    _set("multiplier-smallest", (0.5 + 2.0**-31, 2.0**-6, 1.0), (-1, 1, 0)),
    _set("multiplier-zero", (2.0**-20, 2.0**-20, 1.0), (3, 4, 42)),
)

# Fused activations: a ReLU, a ReLU6, a hard-tanh, and ranges of one value at either end.
_ACTIVATIONS = tuple(
    replace(_TYPICAL[0], name=f"activation{low:+d}..{high:+d}", activation=(low, high))
    for low, high in ((-7, 127), (-7, 118), (-31, 17), (-128, -128), (127, 127))
)

EXHAUSTIVE_SETS: tuple[ParameterSet, ...] = _TYPICAL + _TIES + _SHIFTS + _MULTIPLIERS + _ACTIVATIONS

# For sizes and alignments: the shifts whose rounding real kernels have got wrong, on negative
# products too, with M = 2**30 as the hardest multiplier and a typical one.
ROUNDING_SETS: tuple[ParameterSet, ...] = (
    *(_shift(s, (0, 0, 0), fraction=0.5) for s in (0, -1, -2, -3, -4)),
    _shift(-4, (-3, 11, -7)),
)
