"""Where tensors lie in a board's memory."""

from __future__ import annotations

import pytest

from bench.cases.kernel import KernelCase, standard_kernel_cases
from bench.cases.parameter_sets import EXHAUSTIVE_SETS
from bench.errors import BenchError
from bench.link import Memory
from bench.runs.memory import GUARD, lay_out


@pytest.mark.parametrize("memory_size", [2_000, 8_192, 65_536, 1 << 20])
def test_tensors_and_guards_do_not_overlap(memory_size: int) -> None:
    for case in standard_kernel_cases():
        if case.size > 64 and memory_size < 8_192:
            continue
        layout = lay_out(case, [Memory("ram", memory_size)])
        n = layout.block
        x, y, start = (place.offset for place in (layout.x, layout.y, layout.out))
        spans = sorted({(x, x + n), (y, y + n)})
        out = (start - GUARD, start + n + GUARD)
        for span in spans:
            if case.in_place and start in span:
                continue
            assert span[1] <= out[0] or out[1] <= span[0], (case.name, layout)
        assert spans[0][1] <= spans[-1][0] or len(spans) == 1
        assert (x == y) == case.square
        assert out[0] >= 0 and out[1] <= memory_size
        for offset, align in zip((x, y, start), case.align, strict=True):
            if case.in_place is None:
                assert offset % 64 == align


def test_a_small_memory_takes_blocks_and_a_tiny_one_is_refused() -> None:
    case = KernelCase("all", "all-pairs", EXHAUSTIVE_SETS[0], 65_536)
    assert 0 < lay_out(case, [Memory("ram", 20_000)]).block < 65_536
    with pytest.raises(BenchError, match="hold no block"):
        lay_out(case, [Memory("ram", 500)])
