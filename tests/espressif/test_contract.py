"""What may be lowered: handed cases, and both sides of every bound, through the real export."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import exact
import numpy as np
import pytest
import torch
from executorch.exir import EdgeCompileConfig

from bench.espressif import Multiply, report_of, to_espnn_edge
from bench.espressif.testing.cases import dequantize, quantize

Zeros = tuple[int, int, int]
Scales = tuple[float, float, float]
# Checking the dialect of so many operators takes most of the time; other tests leave it on.
FAST = EdgeCompileConfig(_check_ir_validity=False)
CORNERS = (-128, -1, 0, 1, 127)


@dataclass(frozen=True)
class Case:
    name: str
    zero_points: Zeros
    scales: Scales
    native: bool


def handed() -> list[Case]:
    file = Path(__file__).parent / "contract.json"
    return [
        Case(
            entry["id"],
            tuple(entry["zero_points"]),
            tuple(float.fromhex(scale) for scale in entry["scales"]),
            entry["expect"] == "native",
        )
        for entry in json.loads(file.read_text())
    ]


def both_sides(name: str, zeros: Zeros, scales, low: float, high: float) -> Iterator[Case]:
    """Find the two neighbouring doubles between which the exact contract changes its mind.

    ``scales`` makes the three scales of one number; ``low`` is decided otherwise than ``high``.
    """
    at_low = exact.is_native(zeros, scales(low))
    assert at_low != exact.is_native(zeros, scales(high)), name
    while math.nextafter(low, high) != high:
        middle = low + (high - low) / 2
        if exact.is_native(zeros, scales(middle)) == at_low:
            low = middle
        else:
            high = middle
    for side, value in (("below", low), ("above", high)):
        yield Case(f"{name}, {side}", zeros, scales(value), exact.is_native(zeros, scales(value)))


def boundaries() -> Iterator[Case]:
    for z in CORNERS:
        # 2**-40 keeps the product small, so that only the dequantized input can overflow.
        yield from both_sides(
            f"first dequantized, zero point {z}",
            (z, 0, 0),
            lambda s: (s, 2.0**-40, 2.0**80),
            2.0**119,
            2.0**122,
        )
        yield from both_sides(
            f"second dequantized, zero point {z}",
            (0, z, 0),
            lambda s: (2.0**-40, s, 2.0**80),
            2.0**119,
            2.0**122,
        )
    for z1, z2 in ((-128, -128), (-128, 127), (127, -128), (127, 127), (0, 0), (1, -1), (-1, 1)):
        yield from both_sides(
            f"float32 product, zero points {z1} {z2}",
            (z1, z2, 0),
            lambda s: (s, 3e18, 2.0**120),
            1e10,
            1e25,
        )
    for name, scales in (
        ("first", lambda s: (s, 1.0, 2.0**-120)),
        ("second", lambda s: (1.0, s, 2.0**-120)),
        ("output", lambda s: (2.0**-60, 2.0**-60, s)),
    ):
        yield from both_sides(f"{name} scale subnormal", (0, 0, 0), scales, 2.0**-128, 2.0**-125)
    yield from both_sides(
        "output scale infinite",
        (0, 0, 0),
        lambda s: (2.0**50, 2.0**50, s),
        2.0**127,
        float(2**128),
    )
    for z1 in (-128, 0, 127):
        for z2 in (-128, 0, 127):
            yield from both_sides(
                f"left shift, zero points {z1} {z2}",
                (z1, z2, z1),
                lambda s: (s, 0.75, 0.5),
                1.0,
                2.0**20,
            )
    # The smallest product, -2**14, fits at a left shift of 17 exactly; then the output's zero
    # point pushes the rescaled value out of int32 at the largest multipliers only.
    for zo in (-128, -1):
        yield from both_sides(
            f"rescaled product plus zero point {zo}",
            (0, -1, zo),
            lambda s: (s, 1.0, 1.0),
            2.0**16,
            math.nextafter(2.0**17, 0),
        )


def exported(cases: list[Case]) -> list[Multiply]:
    """Export one program with a multiply a case, and return its report."""

    class Many(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, ...]:
            outputs = []
            for case in cases:
                (s1, s2, so), (z1, z2, zo) = case.scales, case.zero_points
                product = dequantize(x, s1, z1) * dequantize(y, s2, z2)
                outputs.append(quantize(product, so, zo))
            return tuple(outputs)

    x, y = torch.zeros(2, 3, dtype=torch.int8)
    edge = to_espnn_edge(
        torch.export.export(Many(), (x, y)), use_operator_library=True, compile_config=FAST
    )
    multiplies = report_of(edge).multiplies
    assert len(multiplies) == len(cases)
    return multiplies


BOUNDARIES = list(boundaries())


def check(cases: list[Case]) -> None:
    for case, multiply in zip(cases, exported(cases), strict=True):
        assert multiply.lowered == case.native, f"{case}: {multiply}"
        if multiply.lowered:
            s1, s2, so = case.scales
            encoded = exact.encode(s1 * s2 / so)
            assert (multiply.multiplier, multiply.shift) == encoded, case


def test_handed_cases() -> None:
    cases = handed()
    assert [exact.is_native(c.zero_points, c.scales) for c in cases] == [c.native for c in cases]
    check(cases)


def test_both_sides_of_every_bound() -> None:
    assert len(BOUNDARIES) >= 40
    check(BOUNDARIES)


def test_random_scales_decide_as_the_exact_contract() -> None:
    random = np.random.default_rng(7)
    cases = []
    for index in range(50):
        zeros = tuple(int(z) for z in random.integers(-128, 128, 3))
        e1, e2 = random.uniform(-130, 130, 2)
        eo = e1 + e2 + random.uniform(-22, 40)
        scales = tuple(float(np.exp2(np.clip(e, -140, 135))) for e in (e1, e2, eo))
        cases.append(Case(f"random {index}", zeros, scales, exact.is_native(zeros, scales)))
    assert 10 < sum(case.native for case in cases) < 40
    check(cases)


def test_shift_below_the_limit_encodes_as_zero() -> None:
    below = math.nextafter(2.0**-32, 0)  # carries into the next shift
    cases = [
        Case("2**-32", (0, 0, 0), (2.0**-16, 2.0**-16, 1.0), True),
        Case("carry", (0, 0, 0), (below * 2.0**16, 2.0**-16, 1.0), True),
        Case("2**-33", (-128, 127, 9), (2.0**-16, 2.0**-17, 1.0), True),
    ]
    encoded = [(m.multiplier, m.shift) for m in exported(cases)]
    assert encoded == [(2**30, -31), (2**30, -31), (0, 0)]


def test_rescale_is_evaluated_in_the_contracts_order() -> None:
    random = np.random.default_rng(11)
    while True:  # s1 * s2 / so and s1 / so * s2 seldom differ in the multiplier: find a case
        s1, s2 = random.uniform(0.01, 0.1, 2)
        so = float(np.nextafter(s1 * s2 * 2**31 / (2**30 + int(random.integers(2**30)) + 0.5), 1))
        if exact.encode(s1 * s2 / so) != exact.encode(s1 / so * s2):
            break
    check([Case("order", (0, 0, 0), (float(s1), float(s2), so), True)])


def test_review_example_keeps_the_portable_result() -> None:
    class Review(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return quantize(dequantize(x, 1e19, 0) * dequantize(x, 1e19, 0), 1e38, 0)

    x = torch.tensor([1, 2, 10], dtype=torch.int8)
    program = torch.export.export(Review(), (x,))
    edge = to_espnn_edge(program, use_operator_library=True)
    assert edge.exported_program().module()(x).tolist() == [1, 127, 127]
    assert [m.lowered for m in report_of(edge).multiplies] == [False]


def test_exact_float32_agrees_with_numpy() -> None:
    random = np.random.default_rng(3)
    for value in np.exp2(random.uniform(-148, 129, 2000)):
        with np.errstate(over="ignore"):
            rounded = np.float32(value)
        ours = exact.float32(Fraction(float(value)))
        assert (ours is None and np.isinf(rounded)) or ours == Fraction(float(rounded))


@pytest.mark.parametrize("zeros", [(0, 0, 0), (-128, 127, 5), (127, -128, -128)])
def test_exact_multiply_agrees_with_the_two_step_form(zeros: Zeros) -> None:
    x = np.repeat(np.arange(-128, 128, 5), 52).astype(np.int8)
    y = np.tile(np.arange(-128, 128, 5), 52).astype(np.int8)
    multiplier, shift = exact.encode(0.0123)
    z1, z2, zo = zeros
    for xi, yi, got in zip(
        x[::7], y[::7], exact.multiply(x, y, zeros, multiplier, shift)[::7], strict=True
    ):
        p = (int(xi) - z1) * (int(yi) - z2)
        v = math.floor(Fraction(p * multiplier, 2**31) + Fraction(1, 2))
        w = Fraction(abs(v), 2**-shift) + Fraction(1, 2)
        rounded = math.copysign(math.floor(w), v)
        assert got == max(-128, min(127, rounded + zo))
