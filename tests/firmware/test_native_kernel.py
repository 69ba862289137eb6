from __future__ import annotations

import numpy as np
import pytest
from firmware_kernels import Kernels, Params
from integer_contract import ALL_X, ALL_Y, multiply

from bench.numerics import MulParams, multiply_int8, native_bounds

ZERO_POINTS = ((0, 0, 0), (-128, -128, -128), (127, 127, 127), (-128, 127, 3), (127, -128, -77))
MULTIPLIERS = (1 << 30, 3 << 29, 1376543211, (1 << 31) - 1, 0x7FFF8000, 0x7FFF7FFF, 0x40008000)

SHIFTS = range(-31, 17)
# Each shift with three (zero points, multiplier) pairs; together they meet each other's lists.
CONTRACTS = [
    (*ZERO_POINTS[(shift + step) % 5], MULTIPLIERS[(shift + 2 * step) % 7], shift)
    for shift in SHIFTS
    for step in range(3)
] + [(-128, 127, zo, 0, shift) for zo in (-128, 0, 127) for shift in (-31, 0, 16)]


def assert_exact(kernels: Kernels, *contract: int) -> None:
    want = multiply(ALL_X, ALL_Y, *contract)
    np.testing.assert_array_equal(kernels.native(ALL_X, ALL_Y, *contract), want)
    # In pieces that are too short for a vector path.
    short = [slice(start, start + 31) for start in range(0, 65536, 31)]
    pieces = [kernels.native(ALL_X[piece], ALL_Y[piece], *contract) for piece in short]
    np.testing.assert_array_equal(np.concatenate(pieces), want)


@pytest.mark.parametrize("contract", CONTRACTS, ids=str)
def test_every_pair_is_exact(kernels: Kernels, contract: tuple[int, ...]) -> None:
    assert_exact(kernels, *contract)
    params = MulParams(*contract)
    if native_bounds(params) is None:
        np.testing.assert_array_equal(
            kernels.native(ALL_X, ALL_Y, *contract), multiply_int8(ALL_X, ALL_Y, params)
        )


@pytest.mark.parametrize("shift", [17, 22, 30])
def test_shifts_beyond_the_bounds_saturate(kernels: Kernels, shift: int) -> None:
    assert_exact(kernels, 3, -5, 7, 3 << 29, shift)


@pytest.mark.parametrize("activation", [(-128, -128), (0, 127), (-5, 100), (127, 127)])
def test_activation_range(kernels: Kernels, activation: tuple[int, int]) -> None:
    assert_exact(kernels, 3, -5, 7, 1376543211, -6, *activation)


CONTRACT = (4, -9, 3, 3 << 29, -5)
GUARD = 64
FILL = 0x5A


class Buffer:
    """An int8 array at a chosen distance from a 64-byte boundary, between guard bytes."""

    def __init__(self, values: np.ndarray, offset: int) -> None:
        self._bytes = np.full(values.size + 3 * GUARD, FILL, dtype=np.int8)
        self._start = GUARD + (offset - self._bytes.ctypes.data) % GUARD
        self.array = self._bytes[self._start : self._start + values.size]
        self.array[:] = values
        assert values.size == 0 or self.array.ctypes.data % GUARD == offset

    def guards_intact(self) -> bool:
        end = self._start + self.array.size
        return bool(
            (self._bytes[: self._start] == FILL).all() and (self._bytes[end:] == FILL).all()
        )


@pytest.mark.parametrize("variant", ["native", "portable"])
@pytest.mark.parametrize("pointer", ["x", "y", "out"])
def test_any_size_and_alignment(kernels: Kernels, variant: str, pointer: str) -> None:
    rng = np.random.default_rng(7)
    params = Params(*CONTRACT, -128, 127, 0.02, 0.03, 0.0256)
    for n in (*range(41), 63, 64, 65, 100, 1615):
        x, y = rng.integers(-128, 128, (2, n)).astype(np.int8)
        expected = np.empty(n, np.int8)
        kernels.run(variant, x, y, expected, params)
        if variant == "native":
            np.testing.assert_array_equal(expected, multiply(x, y, *CONTRACT))
        for offset in range(16):
            at = {name: offset if name == pointer else 0 for name in ("x", "y", "out")}
            bx, by = Buffer(x, at["x"]), Buffer(y, at["y"])
            bout = Buffer(np.zeros(n, np.int8), at["out"])
            paths = kernels.run(variant, bx.array, by.array, bout.array, params)
            assert paths.vector + paths.scalar == n
            np.testing.assert_array_equal(bout.array, expected)
            np.testing.assert_array_equal(bx.array, x)
            np.testing.assert_array_equal(by.array, y)
            assert bx.guards_intact() and by.guards_intact() and bout.guards_intact()


@pytest.mark.parametrize("variant", ["native", "portable"])
def test_in_place(kernels: Kernels, variant: str) -> None:
    rng = np.random.default_rng(8)
    params = Params(*CONTRACT, -128, 127, 0.02, 0.03, 0.0256)
    for n in (0, 1, 7, 31, 32, 33, 100, 1615):
        x, y = rng.integers(-128, 128, (2, n)).astype(np.int8)
        expected = np.empty(n, np.int8)
        kernels.run(variant, x, y, expected, params)
        for target in ("x", "y"):
            bx, by = Buffer(x, 3), Buffer(y, 5)
            out = bx if target == "x" else by
            kernels.run(variant, bx.array, by.array, out.array, params)
            np.testing.assert_array_equal(out.array, expected)
            assert bx.guards_intact() and by.guards_intact()
        square = Buffer(x, 1)
        expected = np.empty(n, np.int8)
        kernels.run(variant, x, x, expected, params)
        kernels.run(variant, square.array, square.array, square.array, params)
        np.testing.assert_array_equal(square.array, expected)


def test_the_vector_path_does_the_bulk(kernels: Kernels) -> None:
    """On a host with a fast form it takes all whole blocks; on any host it takes none of a few."""
    params = Params(*CONTRACT, -128, 127)
    out = np.empty(65, np.int8)
    paths = kernels.run("native", ALL_X[:65], ALL_Y[:65], out, params)
    assert (paths.vector, paths.scalar) == ((64, 1) if has_avx2() else (0, 65))
    paths = kernels.run("native", ALL_X[:31], ALL_Y[:31], out[:31], params)
    assert (paths.vector, paths.scalar) == (0, 31)


def has_avx2() -> bool:
    try:
        with open("/proc/cpuinfo") as cpuinfo:
            return " avx2 " in cpuinfo.read()
    except OSError:
        return False


@pytest.mark.parametrize(
    ("index", "bad"),
    [(i, v) for i in (0, 1, 2) for v in (-129, 128, 2**31 - 1, -(2**31))]
    + [(3, v) for v in (-1, 1, (1 << 30) - 1, -(2**31))]
    + [(4, v) for v in (-32, 31, 2**31 - 1)]
    + [(5, -129), (6, 128), (5, 127)],
)
def test_invalid_parameters_are_told(kernels: Kernels, index: int, bad: int) -> None:
    good = [*CONTRACT, -128, 126]
    assert kernels.valid(*good)
    good[index] = bad
    assert not kernels.valid(*good)
