"""The case list: what it must not leave out."""

from __future__ import annotations

import numpy as np

from bench.cases.kernel import standard_kernel_cases
from bench.cases.parameter_sets import EXHAUSTIVE_SETS, ROUNDING_SETS
from bench.numerics import float32_guard, multiply_int8, native_bounds


def test_every_set_is_one_that_may_be_lowered() -> None:
    for p in (*EXHAUSTIVE_SETS, *ROUNDING_SETS):
        assert float32_guard(*p.qparams) is None, p
        assert native_bounds(p.integer) is None, p


def test_every_shift_is_run_on_all_pairs() -> None:
    assert {p.integer.shift for p in EXHAUSTIVE_SETS} == set(range(-31, 17))
    assert len({p.integer.multiplier for p in EXHAUSTIVE_SETS}) >= 10


def test_outputs_are_not_constant_where_they_need_not_be() -> None:
    values = np.arange(-128, 128, dtype=np.int8)
    x, y = np.repeat(values, 256), np.tile(values, 256)
    for p in EXHAUSTIVE_SETS:
        # Further right hardly any product rounds to anything but zero, further left all saturate.
        low, high = p.activation
        if low < high and p.integer.multiplier and -15 < p.integer.shift < 9:
            assert np.unique(multiply_int8(x, y, p.integer)).size > 2, p


def test_sizes_alignments_and_aliasing_are_all_there() -> None:
    cases = standard_kernel_cases()
    assert {*range(1, 18), 1615} <= {c.size for c in cases if c.group == "size"}
    for pointer in range(3):
        offsets = {c.align[pointer] for c in cases if c.group == "align"}
        assert offsets == set(range(16))
    assert {c.in_place for c in cases} == {None, "x", "y"}
    squares = [c for c in cases if c.square]
    assert {c.in_place for c in squares} == {None, "x"}
    assert all(np.array_equal(*c.inputs()) for c in squares)
    activations = {p.activation for p in EXHAUSTIVE_SETS}
    assert len(activations) > 4 and (-128, 127) in activations
