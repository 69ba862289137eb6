"""The standard kernel cases on a board with ESP-NN: what is exact, what is caught and how."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from bench.cases.kernel import KernelCase, standard_kernel_cases
from bench.lab.host import HostBoard
from bench.link import Link
from bench.numerics import multiply_int8
from bench.runs.kernels import find_failure, run_kernel_case
from bench.runs.session import BoardSession
from bench.runs.shrink import shrink
from bench.runs.symptoms import Finding, Symptom, find_symptom
from bench.store import CaseResult

RAW = "espnn-raw"
CASES = {case.name: case for case in standard_kernel_cases()}


@pytest.fixture(scope="module")
def link(espnn_board: Path) -> Iterator[Link]:
    with BoardSession(HostBoard(espnn_board)) as session:
        yield session.link


@pytest.fixture(scope="module")
def results(link: Link) -> list[CaseResult]:
    """What the standard cases give, those of all pairs by a few parameter sets only."""
    cases = [case for case in CASES.values() if case.group != "all-pairs"]
    pairs = [case for case in CASES.values() if case.group == "all-pairs"]
    return [result for case in (*cases, *pairs[::5]) for result in run_kernel_case(link, case)]


def finding(link: Link, case: KernelCase, variant: str = RAW) -> tuple[Finding | None, int]:
    """Run a case with one variant; return what is wrong, and the first bad index or 0."""
    found, comparison = find_failure(link, case, variant)
    return found, comparison.first_bad_index or 0


def symptom(link: Link, case: KernelCase) -> Symptom | None:
    found, _ = finding(link, case)
    return found.symptom if found else None


def test_the_board_says_its_variants_and_runs_no_programs(link: Link) -> None:
    assert link.hello.kernels == {"mul_int8": ["espnn", RAW, "ansi", "portable"]}
    assert link.hello.programs is None


@pytest.mark.parametrize("variant", ["espnn", "ansi", "portable"])
def test_exact_everywhere(results: list[CaseResult], variant: str) -> None:
    mine = [result for result in results if result.variant == variant]
    assert len(mine) > 150
    assert [result.name for result in mine if result.verdict != "pass"] == []


def test_espnn_is_held_against_portable_as_the_native_variant(results: list[CaseResult]) -> None:
    references = {result.reference for result in results if result.variant == "espnn"}
    assert references == {"integer", "portable"}


def test_espnn_uses_vectors_where_it_can(results: list[CaseResult]) -> None:
    for result in results:
        if result.variant == "espnn":
            x, y, out = result.params["align"]
            if result.params["in_place"] is not None:
                out = {"x": x, "y": y}[result.params["in_place"]]
            size = result.params["size"]
            vector = 0 if x or y or out % 8 else size - size % 8
            assert result.counters["vector_elements"] == vector, result.name
            assert result.counters["scalar_elements"] == size - vector


def test_the_raw_library_is_caught(results: list[CaseResult]) -> None:
    failed = {
        result.name for result in results if result.variant == RAW and result.verdict == "fail"
    }
    groups = {CASES[name].group for name in failed}
    assert groups == {
        "size",
        "align",
        "in-place",
        "square",
    }  # all pairs are aligned and without a tail
    # Every output that is not 8-byte aligned, whatever the data.
    assert {f"align/out+{offset}" for offset in range(1, 16) if offset != 8} <= failed
    assert "align/out+8" not in failed
    assert not [name for name in failed if name.startswith(("size/8/", "size/16/"))]


def test_each_defect_is_named(link: Link, results: list[CaseResult]) -> None:
    """As the alignment and size of the case say, for every failure of the standard cases."""
    found: dict[Symptom, int] = {}
    for result in results:
        if result.variant != RAW or result.verdict == "pass":
            continue
        case = CASES[result.name]
        x, y, out = case.align
        if case.size < 8:
            expected = Symptom.TAIL
        elif x or y:
            expected = Symptom.UNALIGNED_INPUT
        elif out % 8:
            expected = Symptom.WRITTEN_TOO_LOW
        else:
            expected = Symptom.TAIL
        got = symptom(link, case)
        assert got == expected, result.name
        found[got] = found.get(got, 0) + 1
    assert set(found) == {Symptom.TAIL, Symptom.UNALIGNED_INPUT, Symptom.WRITTEN_TOO_LOW}


def test_texts_say_what_was_seen(link: Link) -> None:
    texts = {name: finding(link, CASES[name])[0] for name in ("align/out+5", "align/x+3")}
    low = texts["align/out+5"]
    assert low is not None and low.text == (
        "output written too low: by 5 bytes, 5 guard bytes hit"
        " (output 5 bytes past a multiple of 8)"
    )
    unaligned = texts["align/x+3"]
    assert unaligned is not None
    assert unaligned.text.startswith("unaligned input: x 3 bytes past a multiple of 16; each one ")


def test_a_right_output_has_no_symptom(link: Link) -> None:
    assert finding(link, CASES["align/out+5"], "espnn") == (None, 0)


def test_stray_writes_and_plain_errors_have_other_names() -> None:
    case = CASES["size/16/shift-1-zp0,0,0"]
    x, y = case.inputs()
    right = multiply_int8(x, y, case.parameters.integer)
    guard = bytes([7] * 64)
    stray = find_symptom(case, right, right, guard, b"\x00" + guard[1:], filler=7)
    assert stray is not None and stray.symptom == Symptom.GUARD_ONLY
    wrong = right.copy()
    wrong[2] ^= 64
    plain = find_symptom(case, right, wrong, guard, guard, filler=7)
    assert plain == Finding(Symptom.ANYWHERE, "wrong anywhere: inputs aligned")
    assert find_symptom(case, right, right, guard, guard, filler=7) is None


def shrunk(link: Link, name: str) -> KernelCase:
    case = CASES[name]
    made = shrink(case, finding(link, case)[1], lambda c: symptom(link, c))
    assert made is not None
    return made


def test_shrinks_an_output_written_too_low(link: Link) -> None:
    small = shrunk(link, "align/out+13")
    # Below a whole block the library takes its scalar code.
    assert (small.size, small.align) == (8, (0, 0, 1))


def test_shrinks_an_unaligned_input(link: Link) -> None:
    small = shrunk(link, "align/y+11")
    assert (small.size, small.align) == (8, (0, 1, 0))


def test_shrinks_a_tail(link: Link) -> None:
    failing = next(
        name
        for name in CASES
        if name.startswith("size/1615/") and symptom(link, CASES[name]) == Symptom.TAIL
    )
    small = shrunk(link, failing)
    assert small.align == (0, 0, 0) and small.size <= 9
    x, y = small.inputs()
    product = np.sign(x.astype(int) - small.parameters.x.zero_point) * np.sign(
        y.astype(int) - small.parameters.y.zero_point
    )
    assert product[-1] < 0  # a negative product is what rounds wrongly


def test_what_passes_is_not_shrunk(link: Link) -> None:
    assert shrink(CASES["size/16/shift-1-zp0,0,0"], 0, lambda c: symptom(link, c)) is None
