"""Cases known to fail: quiet while they do, loud when they do not."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from night import FEW_CASES, MUTANTS, nightly, served

from bench.errors import BenchError
from bench.runs.nightly_known_bad import CaseKey, KnownBad, match, read_known_bad
from bench.store import CaseResult


def listed(folder: Path, *entries: str) -> Path:
    path = folder / "known-bad.toml"
    path.write_text("".join(f"[[known-bad]]\n{entry}\n" for entry in entries))
    return path


def result(name: str, verdict: str, reference: str = "integer", **more: str) -> CaseResult:
    level = "program" if "route" in more else "kernel"
    return CaseResult(name=name, level=level, reference=reference, verdict=verdict, **more)


def test_listed_failures_pass_the_night_and_the_store_keeps_the_truth(tmp_path: Path) -> None:
    known = listed(
        tmp_path,
        'board = "bad"\ncase = "size/7/*"\nvariant = "native"\nreason = "tail of ESP-NN"',
        'case = "no/such/case"\nreason = "gone"',
    )
    with served(MUTANTS / "tail_off_by_one.cpp") as wrong:
        boards = ("--board", f"bad={wrong}", "--board", "good=host")
        night = nightly(tmp_path / "r", *boards, *FEW_CASES, "--known-bad", known, "--json")
        text = nightly(tmp_path / "r", *boards, *FEW_CASES, "--known-bad", known).stdout
    assert night.status == 0, night.stdout
    report = night.report
    assert (report["verdict"], report["problems"]) == ("pass", [])
    assert report["stored_verdict"] == "fail"
    bad = night.boards()["bad"]
    assert (bad["state"], bad["verdict"]) == ("known-bad", "fail")
    assert bad["known_bad"] > 0 and bad["failed"] >= bad["known_bad"]
    assert night.boards()["good"]["known_bad"] == 0
    status = {(entry["board"], entry["status"]) for entry in report["known_bad"]}
    assert status == {("bad", "known-bad"), ("*", "matches-nothing")}
    assert "known bad bad: size/7/" in text and "tail of ESP-NN" in text
    assert "no/such/case [*]: no case of this night fits" in text
    with sqlite3.connect(tmp_path / "r" / "bench.sqlite") as database:
        assert {row[0] for row in database.execute("select verdict from run_ends")} == {"fail"}
        (failed,) = database.execute(
            "select count(*) from numerics n join attempts a on a.id = n.attempt_id join"
            " run_boards b on b.id = a.run_board_id where n.verdict = 'fail' and b.run_id = 1"
        ).fetchone()
    assert failed == bad["failed"]


def test_a_listed_case_that_passes_fails_the_night(tmp_path: Path) -> None:
    known = listed(tmp_path, 'case = "size/7/*"\nvariant = "native"\nreason = "long fixed"')
    night = nightly(tmp_path / "r", "--board", "a=host", *FEW_CASES, "--known-bad", known, "--json")
    assert night.status == 1
    assert night.problems() == {("a", "passes-again")}
    assert night.boards()["a"]["state"] == "right"
    assert all("long fixed" in problem["text"] for problem in night.report["problems"])


def test_one_wrong_comparison_makes_a_case_fail() -> None:
    entry = KnownBad(case="size/*", variant="native", reason="r")
    found = match(
        [entry],
        [
            ("a", result("size/7", "fail", variant="native")),
            ("a", result("size/7", "pass", "portable", variant="native")),
            ("a", result("size/7", "pass", "float32", variant="portable")),
            ("b", result("size/7", "pass", variant="native")),
            ("c", result("size/7", "not-run", variant="native")),
        ],
    )
    assert found.bad == {CaseKey("a", "size/7", "native"): "r"}
    assert found.again == {CaseKey("b", "size/7", "native"): "r"}
    assert found.unused == []


def test_programs_are_named_as_by_case(tmp_path: Path) -> None:
    entry = KnownBad(board="s3-*", case="glu/delegate", reason="r")
    results = [
        ("s3-1", result("glu/0", "pass", "eager", route="delegate", model="glu")),
        ("s3-1", result("glu/1", "error", "eager", route="delegate", model="glu")),
        ("s3-1", result("glu/1", "fail", "eager", route="portable", model="glu")),
        ("x", result("glu/1", "fail", "eager", route="delegate", model="glu")),
    ]
    assert match([entry], results).bad == {CaseKey("s3-1", "glu/delegate", "delegate"): "r"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[known-bad]]\ncase = 'a'", "entry 1: no 'reason'"),
        ("[[known-bad]]\nreason = 'a'", "entry 1: no 'case'"),
        ("[[known-bad]]\ncase = 'a'\nreason = ' '", "entry 1: reason"),
        ("[[known-bad]]\ncase = 'a'\nreason = 'r'\nroute = 'x'", "unknown 'route'"),
        ("[[known-bad]]\ncase = 7\nreason = 'r'", "case = 7 must be a text"),
        ("[known-bad]\ncase = 'a'\nreason = 'r'", r"write \[\[known-bad\]\]"),
        ("[[knownbad]]\ncase = 'a'", "unknown: knownbad"),
        ("case = ", "not TOML"),
    ],
)
def test_a_wrong_list_is_told_in_one_line(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "known.toml"
    path.write_text(text)
    with pytest.raises(BenchError, match=said) as error:
        read_known_bad(path)
    assert str(path) in str(error.value) and "\n" not in str(error.value)


def test_a_list_that_is_asked_for_must_be_there(tmp_path: Path) -> None:
    line = nightly(tmp_path, "--board", "a=host", "--known-bad", tmp_path / "none").refusal()
    assert str(tmp_path / "none") in line
