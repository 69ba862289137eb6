"""The variants of a board with ESP-NN, on a stand-in that has the defects of the S3's assembly."""

from __future__ import annotations

import ctypes
import itertools
from dataclasses import replace

import numpy as np
import pytest
from compiled_boards import ESPNN, HERE, compile_into
from numpy.typing import NDArray

from bench.numerics import MulParams, multiply_int8

VARIANTS = ("espnn", "espnn-raw", "ansi", "portable")
PATTERN = 0x5A


class Params(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("z1", "z2", "zo", "multiplier", "shift")),
        ("act_min", ctypes.c_int32),
        ("act_max", ctypes.c_int32),
        *((name, ctypes.c_double) for name in ("scale1", "scale2", "scale_out")),
    )


class Paths(ctypes.Structure):
    _fields_ = (("vector", ctypes.c_uint32), ("scalar", ctypes.c_uint32))


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    made = tmp_path_factory.mktemp("espnn") / "espnn.so"
    compile_into(made, "-fPIC", "-shared", *ESPNN, HERE / "espnn_c_api.cpp")
    loaded = ctypes.CDLL(str(made))
    loaded.run.restype = ctypes.c_bool
    return loaded


def place(data: NDArray[np.int8], offset: int) -> tuple[NDArray[np.int8], NDArray[np.int8]]:
    """Return a buffer and its part that holds ``data``, ``offset`` past a 64-byte boundary."""
    buffer = np.full(data.size + 3 * 64 + offset, PATTERN, np.int8)
    start = 64 + -buffer.ctypes.data % 64 + offset
    view = buffer[start : start + data.size]
    view[:] = data
    return buffer, view


def contract(x: NDArray[np.int8], y: NDArray[np.int8], params: MulParams) -> NDArray[np.int8]:
    """Multiply by the integer contract; shifts above 9 saturate every product but 0, as 9 does."""
    return multiply_int8(x, y, replace(params, shift=min(params.shift, 9)))


def run(
    library: ctypes.CDLL,
    variant: str,
    x: NDArray[np.int8],
    y: NDArray[np.int8],
    out: NDArray[np.int8],
    params: MulParams,
) -> Paths:
    paths = Paths()
    p = Params(
        params.z1, params.z2, params.zo, params.multiplier, params.shift,
        params.act_min, params.act_max, 1.0, 1.0, 1.0,
    )  # fmt: skip
    pointers = (ctypes.c_void_p(a.ctypes.data) for a in (x, y, out))
    assert library.run(
        variant.encode(), *pointers, ctypes.c_size_t(x.size), ctypes.byref(p), ctypes.byref(paths)
    )
    return paths


def multiply(
    library: ctypes.CDLL, variant: str, x: list[int], params: MulParams, align: int = 0
) -> list[int]:
    ones = np.ones(len(x), np.int8)
    kept = [place(np.array(x, np.int8), align), place(ones, 0), place(np.zeros_like(ones), 0)]
    run(library, variant, *(view for _, view in kept), params)
    return kept[2][1].tolist()


@pytest.mark.parametrize(
    ("shift", "right", "wrong"),
    [
        (0, [1, 2, 3, -3, -1, 0], [0, 1, 2, -4, -2, -1]),
        (-1, [1, 1, 2, -2, -1, 0], [0, 1, 1, -1, 0, 0]),
    ],
)
def test_the_stand_in_fails_as_the_assembly_does(
    library: ctypes.CDLL, shift: int, right: list[int], wrong: list[int]
) -> None:
    x = [1, 3, 5, -7, -3, -1]
    params = MulParams(0, 0, 0, 1 << 30, shift)
    assert multiply(library, "ansi", x, params) == right
    assert multiply(library, "espnn", x, params) == right
    assert multiply(library, "espnn-raw", x, params) == wrong


def test_the_stand_in_rounds_negative_values_of_a_tail_the_wrong_way(library: ctypes.CDLL) -> None:
    # After a vector block the high multiply rounds: p / 2 / 2, with ties away from zero.
    x = [0] * 8 + [1, 5, -7, -5]
    params = MulParams(0, 0, 0, 1 << 30, -1)
    assert multiply(library, "ansi", x, params)[8:] == [1, 2, -2, -1]
    assert multiply(library, "espnn-raw", x, params)[8:] == [1, 2, -1, 0]


def test_the_stand_in_stores_vectors_too_low(library: ctypes.CDLL) -> None:
    x = np.arange(1, 17, dtype=np.int8)
    _, ones = place(np.ones_like(x), 0)
    _, values = place(x * 2, 0)
    buffer, out = place(np.zeros_like(x), 5)
    run(library, "espnn-raw", values, ones, out, MulParams(0, 0, 0, 1 << 30, 0))
    start = out.ctypes.data - buffer.ctypes.data
    assert buffer[start - 5 : start + 11].tolist() == x.tolist()
    assert out[11:].tolist() == [0] * 5 and buffer[start - 6] == PATTERN


PARAMS = [
    MulParams(0, 0, 0, 1 << 30, 0),
    MulParams(0, 0, 0, 1 << 30, -1),
    MulParams(-3, 11, -7, 1518500250, -4),
    MulParams(127, -128, 5, (1 << 31) - 1, -7, -100, 90),
    MulParams(-128, -128, 127, 1 << 30, 15),
    MulParams(1, 2, 3, 1 << 30, 30),
    MulParams(1, 2, 3, 1 << 30, -31),
    MulParams(1, 2, 3, 0, 0),
]


@pytest.mark.parametrize("params", PARAMS, ids=str)
def test_espnn_is_exact_at_every_size_and_alignment(
    library: ctypes.CDLL, params: MulParams
) -> None:
    rng = np.random.default_rng(1)
    offsets = [*itertools.product((0, 3, 8), repeat=3), (1, 0, 0), (0, 15, 0), (0, 0, 4), (0, 0, 7)]
    for size in (*range(0, 26), 41):
        x, y = (rng.integers(-128, 128, size, dtype=np.int8) for _ in range(2))
        expected = contract(x, y, params)
        for offset_x, offset_y, offset_out in offsets:
            kept_x, kept_y = place(x, offset_x), place(y, offset_y)
            buffer, out = place(np.zeros_like(x), offset_out)
            paths = run(library, "espnn", kept_x[1], kept_y[1], out, params)
            assert out.tolist() == expected.tolist()
            aligned = offset_x == offset_y == 0 and offset_out % 8 == 0
            assert paths.vector == (size // 8 * 8 if aligned else 0)
            assert paths.vector + paths.scalar == size
            assert np.count_nonzero(buffer != PATTERN) <= size  # nothing written beside it


@pytest.mark.parametrize("variant", ["espnn", "ansi"])
@pytest.mark.parametrize("operand", [0, 1])
@pytest.mark.parametrize("offset", [0, 3, 8])
def test_in_place(library: ctypes.CDLL, variant: str, operand: int, offset: int) -> None:
    params = PARAMS[2]
    rng = np.random.default_rng(2)
    operands = [rng.integers(-128, 128, 43, dtype=np.int8) for _ in range(2)]
    expected = contract(operands[0], operands[1], params)
    kept = [place(data, offset if i == operand else 0) for i, data in enumerate(operands)]
    out = kept[operand][1]
    run(library, variant, kept[0][1], kept[1][1], out, params)
    assert out.tolist() == expected.tolist()


def test_espnn_on_all_pairs(library: ctypes.CDLL) -> None:
    values = np.arange(-128, 128, dtype=np.int8)
    x, y = np.repeat(values, 256), np.tile(values, 256)
    for params in PARAMS:
        kept = [place(x, 0), place(y, 0), place(np.zeros_like(x), 0)]
        run(library, "espnn", *(view for _, view in kept), params)
        assert np.array_equal(kept[2][1], contract(x, y, params))


def test_every_variant_has_its_name(library: ctypes.CDLL) -> None:
    for variant in VARIANTS:
        multiply(library, variant, [1], PARAMS[0])
