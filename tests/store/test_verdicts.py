"""Verdicts computed again from stored numbers."""

import pytest
from synthetic import HOST, esp, result, wrong

from bench.errors import BenchError
from bench.store import Store
from bench.store.gate import Rule
from bench.store.results import Stored, load_results
from bench.store.verdicts import Rejudge, overall, settled, settled_results


def stored(tmp_path, *results):
    with Store.open(tmp_path) as store:
        board = store.add_board(store.begin_run("nightly", HOST), esp())
        for one in results:
            store.add_result(board, one)
        return load_results(store, [board])


def again(rule, row) -> Stored:
    return Rejudge.parse(rule).apply(row)


def test_rules_are_parsed():
    rule = Rejudge.parse("portable=2, integer=1,relative=0.05,nights=10")
    assert rule.allowed == {"portable": 2, "integer": 1}
    assert rule.gate == Rule(relative=0.05, nights=10)
    assert Rejudge.parse("") == Rejudge()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("portabel=1", "no such name; choose from integer, float32"),
        ("portable", "'' is not a number"),
        ("portable=1.5", "'1.5' is not a number"),
        ("mad=x", "'x' is not a number"),
        ("mad=nan", "must not be negative"),
        ("relative=-1", "must not be negative"),
        ("nights=0", "must be at least 1"),
        ("min_nights=2", "must be at least 3"),
        ("spread_nights=2", "must be at least 3"),
    ],
)
def test_bad_rules(text, message):
    with pytest.raises(BenchError, match=message):
        Rejudge.parse(text)


def test_looser_and_stricter_rules(tmp_path):
    # 30 elements differ by 1 LSB, 4 by 2, 6 by 3.
    (row,) = stored(tmp_path, wrong("a", 7))
    looser = again("integer=2", row).result
    assert (looser.verdict, looser.violations, looser.first_bad_index) == ("fail", 6, 7)
    right = again("integer=3", row).result
    assert (right.verdict, right.violations, right.first_bad_index) == ("pass", 0, None)
    assert again("integer=0", row).result.violations == 40
    assert again("portable=3", row) == row


def test_a_passed_result_can_fail_under_a_stricter_rule(tmp_path):
    near = result("a", reference="portable", max_abs_diff=1, mismatches=5, histogram={1: 5})
    (row,) = stored(tmp_path, near)
    assert again("portable=0", row).result.verdict == "fail"
    assert again("portable=1", row).result.verdict == "pass"


def test_no_rule_makes_a_fault_or_a_missing_output_good(tmp_path):
    rows = stored(
        tmp_path,
        wrong("guards", 7, fault="3 guard bytes overwritten"),
        result("unsaid", verdict="fail", detail="asked for native, the board ran portable"),
        result("lost", verdict="error", elements=0),
        result("empty", elements=0),
        result("skipped", verdict="not-run", elements=0),
    )
    verdicts = [again("integer=255", row).result.verdict for row in rows]
    assert verdicts == ["fail", "fail", "error", "fail", "not-run"]


def test_an_error_made_good_does_not_count_but_a_wrong_output_does(tmp_path):
    rows = stored(
        tmp_path,
        # Without outputs there are no parameters to tell: the name alone connects the attempts.
        result("a", verdict="error", elements=0, variant=None, params={}, detail="reset"),
        result("a", attempt=2),
        wrong("b", 7),
        result("b", attempt=2),
        result("c", verdict="error", elements=0, detail="reset"),
    )
    found = {(r.result.name, r.result.verdict) for r in settled(rows)}
    assert found == {("a", "pass"), ("b", "fail"), ("c", "error")}
    assert len(settled(rows)) == 3
    assert settled_results(r.result for r in rows) == [r.result for r in settled(rows)]


def test_a_program_is_repeated_with_all_its_inputs(tmp_path):
    program = {"level": "program", "variant": None, "model": "glu", "params": {}}
    lost = result("glu", route="portable", verdict="error", elements=0, **program)
    rows = stored(
        tmp_path,
        lost,
        result("glu/0", route="portable", attempt=2, **program),
        result("glu/1", route="portable", attempt=2, **program),
    )
    assert {r.result.verdict for r in settled(rows)} == {"pass"}
    other = stored(tmp_path, lost, result("glu/0", route="delegate", attempt=2, **program))
    assert {r.result.verdict for r in settled(other)} == {"pass", "error"}


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        (["pass", "pass"], "pass"),
        (["pass", "error", "fail"], "fail"),
        (["pass", "error"], "error"),
        (["pass", "not-run"], "pass"),
        (["not-run"], "error"),
        ([], "error"),
    ],
)
def test_verdict_of_a_run(verdicts, expected):
    assert overall([result(verdict=v) for v in verdicts]) == expected
