"""Judging two builds by their timings in one run."""

from __future__ import annotations

import pytest

from bench.runs.side_by_side import SideBySide, compare_builds
from bench.store import LatencyResult

SIZES = (1, 16, 256, 1024, 4096, *range(1600, 1640))


def timing(size: int, ticks: int, second_visit: int | None = None, verdict: str = "pass"):
    visits = [ticks, ticks if second_visit is None else second_visit]
    return LatencyResult(
        name=f"grid/ram/{size}",
        level="kernel",
        variant="native",
        samples=[visit + wobble for visit in visits for wobble in (-1, 0, 0, 1) * 10],
        unit="ns",
        hz=1_000_000_000,
        elements=size,
        verdict=verdict,
    )


def compare(factor: dict[int, float] | float, **changes: int) -> SideBySide:
    def of(size: int) -> float:
        return factor if isinstance(factor, float) else factor.get(size, 1.0)

    own = [timing(size, round(1000 * of(size)), **changes) for size in SIZES]
    return compare_builds(own, [timing(size, 1000) for size in SIZES])


def test_equal_builds() -> None:
    beside = compare(1.0)
    assert not beside.slower and beside.slower_sizes == {}
    assert beside.overall is not None and beside.overall.value == pytest.approx(1.0)
    assert (beside.judged, len(beside.cases)) == (len(SIZES) - 2, len(SIZES))


@pytest.mark.parametrize(
    ("factor", "slower"), [(1.3, True), (1.05, True), (1.01, False), (0.7, False)]
)
def test_slower_everywhere(factor: float, slower: bool) -> None:
    assert compare(factor).slower is slower


def test_slower_at_one_size_among_many() -> None:
    beside = compare({4096: 2.0})
    assert beside.slower and not beside.slower_on_the_whole
    ((size, (low, high)),) = beside.slower_sizes.items()
    assert size == 4096 and 1.9 < low <= 2.0 <= high < 2.1


def test_a_size_at_which_one_visit_was_not_slower_is_bad_luck() -> None:
    own = [timing(size, 1000) for size in SIZES if size != 4096]
    own.append(timing(4096, 2000, second_visit=1000))
    assert not compare_builds(own, [timing(size, 1000) for size in SIZES]).slower


def test_small_sizes_and_wrong_outputs_take_no_part() -> None:
    assert not compare({1: 9.0, 16: 9.0}).slower
    own = [timing(4096, 5000, verdict="fail")]
    beside = compare_builds(own, [timing(4096, 1000)])
    assert beside.overall is None and not beside.slower and not beside.cases
