from __future__ import annotations

import json
import random
from fractions import Fraction
from pathlib import Path

import exact_fractions as exact
import numpy as np
import pytest

from bench.numerics import (
    MulParams,
    QParams,
    compare,
    float32_guard,
    multiply_int8,
    multiply_portable,
    native_bounds,
    quantize_multiplier,
    rescale,
    tie_zone,
)

CONTRACT_CASES = json.loads((Path(__file__).parent / "contract_cases.json").read_text())
ALL_X, ALL_Y = (
    a.ravel().astype(np.int8) for a in np.meshgrid(np.arange(-128, 128), np.arange(-128, 128))
)


def random_params(seed: int) -> tuple[QParams, QParams, QParams]:
    rng = random.Random(seed)
    while True:
        scales = [2.0 ** rng.uniform(-12, 4) for _ in range(3)]
        if rng.random() < 0.3:
            scales = [2.0 ** rng.randint(-8, 3) for _ in range(3)]
        zero_points = [rng.choice([-128, 127, 0, rng.randint(-128, 127)]) for _ in range(3)]
        q = tuple(QParams(s, z) for s, z in zip(scales, zero_points, strict=True))
        if native_bounds(MulParams.from_qparams(*q)) is None:
            return q[0], q[1], q[2]


@pytest.mark.parametrize(
    ("r", "encoded"),
    [
        (2.0**-32, (2**30, -31)),
        (float(np.nextafter(2.0**-32, 0)), (2**30, -31)),
        (2.0**-33, (0, 0)),
        (1 - 2.0**-53, (2**30, 1)),
        (5e-324, (0, 0)),
        (1.0, (2**30, 1)),
        (0.75, (3 * 2**29, 0)),
    ],
)
def test_encoder_at_its_edges(r: float, encoded: tuple[int, int]) -> None:
    assert quantize_multiplier(r) == encoded


def test_encoder_against_fractions() -> None:
    rng = random.Random(1)
    for _ in range(3000):
        r = rng.uniform(0.5, 1.0) * 2.0 ** rng.randint(-36, 20)
        assert quantize_multiplier(r) == exact.encode(r), r.hex()


@pytest.mark.parametrize("r", [0.0, -1.0, float("inf"), float("nan")])
def test_encoder_refuses(r: float) -> None:
    with pytest.raises(ValueError, match="finite and positive"):
        quantize_multiplier(r)


def test_integer_reference_against_fractions() -> None:
    rng = random.Random(2)
    for seed in range(60):
        params = MulParams.from_qparams(*random_params(seed))
        index = [rng.randrange(65536) for _ in range(300)]
        x, y = ALL_X[index], ALL_Y[index]
        want = [
            exact.multiply(
                int(a), int(b), params.z1, params.z2, params.zo, params.multiplier, params.shift
            )
            for a, b in zip(x, y, strict=True)
        ]
        assert multiply_int8(x, y, params).tolist() == want


@pytest.mark.parametrize("shift", range(-31, 16))
def test_every_shift_against_fractions(shift: int) -> None:
    x = np.array([-128, 127, -128, 127, 1, -1, 0, 17, -3], np.int8)
    y = np.array([-128, 127, 127, -128, 1, 1, 5, -9, 100], np.int8)
    for multiplier in (2**30, 3 * 2**29, 2**31 - 1, 1518500250):
        for z1, z2 in [(0, 0), (-128, -128), (127, -128), (127, 127)]:
            params = MulParams(z1, z2, -5, multiplier, shift)
            want = [
                exact.multiply(int(a), int(b), z1, z2, -5, multiplier, shift)
                for a, b in zip(x, y, strict=True)
            ]
            assert multiply_int8(x, y, params).tolist() == want


@pytest.mark.parametrize("case", CONTRACT_CASES, ids=lambda c: c["id"])
def test_contract_cases(case: dict) -> None:
    scales = [float.fromhex(s) for s in case["scales"]]
    q = [QParams(s, z) for s, z in zip(scales, case["zero_points"], strict=True)]
    kept_portable = (
        float32_guard(*q) is not None or native_bounds(MulParams.from_qparams(*q)) is not None
    )
    assert kept_portable == (case["expect"] == "portable")


def test_float32_guard_against_fractions() -> None:
    rng = random.Random(3)
    overflowing = 0
    for _ in range(2000):
        # Around the bound: the corner product near 2**128, the scales near the normal limit.
        e = rng.uniform(40, 75)
        scales = [2.0**e, 2.0 ** (114 + rng.uniform(-1.5, 1.5) - e), 2.0 ** rng.uniform(60, 130)]
        if rng.random() < 0.2:
            scales[rng.randrange(3)] = 2.0 ** rng.uniform(-127.5, -125)
        zero_points = [rng.choice([-128, 0, 127, rng.randint(-128, 127)]) for _ in range(3)]
        want = exact.float32_overflows(scales, zero_points)
        q = [QParams(s, z) for s, z in zip(scales, zero_points, strict=True)]
        assert (float32_guard(*q) is not None) == want, (scales, zero_points)
        overflowing += want
    assert 500 < overflowing < 1800  # both sides of the bound were met


@pytest.mark.parametrize(
    ("params", "safe"),
    [
        (MulParams(-128, -128, 0, 2**30, 15), True),
        (MulParams(-128, -128, 0, 2**30, 16), False),
        (MulParams(0, 0, 0, 2**31 - 1, 16), True),
        (MulParams(0, 0, 0, 2**30, 17), False),  # 16,384 << 17 is 2**31: one too many
        (MulParams(0, 0, 0, 2**30, -31), True),
        (MulParams(0, 0, 0, 2**30, -32), False),
        (MulParams(0, 0, 0, 0, 0), True),
        (MulParams(0, 0, 0, 0, -1), False),
        (MulParams(0, 0, 0, 2**30 - 1, 0), False),
        (MulParams(0, 0, 0, 2**31, 0), False),
    ],
)
def test_native_bounds(params: MulParams, safe: bool) -> None:
    assert (native_bounds(params) is None) == safe


def test_portable_reference_differs_only_in_the_tie_zone() -> None:
    seen = 0
    for seed in range(40):
        q = random_params(1000 + seed)
        native = multiply_int8(ALL_X, ALL_Y, MulParams.from_qparams(*q))
        portable = multiply_portable(ALL_X, ALL_Y, *q)
        result = compare(portable, native, tie_zone(ALL_X, ALL_Y, *q).astype(np.int64))
        assert result.ok, (q, result)
        seen += result.mismatches
    assert seen > 0  # the law was tried, not merely never needed


def test_portable_reference_against_the_real_operators() -> None:
    import torch
    import torch.ao.quantization.fx._decomposed

    ops = torch.ops.quantized_decomposed
    for seed in range(20):
        q1, q2, qo = random_params(2000 + seed)
        a, b = (
            ops.dequantize_per_tensor(torch.tensor(v), q.scale, q.zero_point, -128, 127, torch.int8)
            for v, q in ((ALL_X, q1), (ALL_Y, q2))
        )
        out = ops.quantize_per_tensor(a * b, qo.scale, qo.zero_point, -128, 127, torch.int8)
        # torch's eager operator takes the reciprocal of the scale in double and the runtime in
        # float32: one unit in the last place of float32 can decide a near tie.
        result = compare(out.numpy(), multiply_portable(ALL_X, ALL_Y, q1, q2, qo), allowed=1)
        assert result.ok and result.mismatches < 70, result


def test_rescale_order() -> None:
    q1, q2, qo = QParams(0.1, 0), QParams(0.3, 0), QParams(0.7, 0)
    assert rescale(q1, q2, qo) == (0.1 * 0.3) / 0.7
    assert abs(Fraction(rescale(q1, q2, qo)) - Fraction(3, 70)) < Fraction(1, 2**50)


def test_compare_reports_the_first_violation_only_where_not_allowed() -> None:
    want = np.array([1, 2, 3, 4], np.int8)
    got = np.array([2, 2, 1, 4], np.int8)
    result = compare(want, got, np.array([1, 1, 1, 1]))
    assert (result.first_bad_index, result.expected, result.got) == (2, 3, 1)
    assert (result.max_abs_diff, result.mismatches, result.violations) == (2, 2, 1)
    assert result.histogram == {-2: 1, 1: 1} and result.signed_mean == -0.25
    assert not result.ok and compare(want, want).ok
    assert compare(np.array([-128], np.int8), np.array([127], np.int8)).max_abs_diff == 255


def test_comparing_nothing_is_not_right() -> None:
    empty = np.array([], np.int8)
    assert not compare(empty, empty).ok


def test_bad_qparams_are_refused() -> None:
    with pytest.raises(ValueError, match="zero point"):
        QParams(1.0, 128)
    with pytest.raises(ValueError, match="scale"):
        QParams(0.0, 0)
