"""A night on several boards: each is told apart, none holds up another."""

from __future__ import annotations

import os
import sqlite3
from contextlib import ExitStack
from pathlib import Path

import pytest
from night import FEW_CASES, KERNELS, MUTANTS, Outcome, nightly, served

from bench.lab.build import build_host
from bench.lab.host import HostBoard
from bench.lab.locks import BoardLock
from bench.runs.jobs import KernelJob
from bench.runs.nightly import Night
from bench.runs.run import Run
from bench.runs.selection import select_cases


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


@pytest.fixture(scope="module")
def three_boards(results: Path) -> Outcome:
    """One board hangs, one panics, one is right."""
    with ExitStack() as boards:
        hangs = boards.enter_context(served(KERNELS / "hangs.cpp"))
        panics = boards.enter_context(served(KERNELS / "panics.cpp"))
        return nightly(
            results,
            *("--board", f"a={hangs}", "--board", f"b={panics}", "--board", "c=host"),
            *FEW_CASES,
            "--json",
        )


def test_one_report_tells_hung_panicked_and_right_apart(three_boards: Outcome) -> None:
    assert three_boards.status == 1, three_boards.stderr
    report, boards = three_boards.report, three_boards.boards()
    # No output was wrong, so the store has no "fail"; the night fails all the same.
    assert (report["verdict"], report["stored_verdict"]) == ("fail", "error")
    assert {name: board["state"] for name, board in boards.items()} == {
        "a": "hung",
        "b": "panicked",
        "c": "right",
    }
    assert {("a", "hung"), ("b", "panicked")} <= three_boards.problems()
    assert {kind for _, kind in three_boards.problems()} == {"hung", "panicked", "no-output"}
    assert not any(board == "c" for board, _ in three_boards.problems())
    assert "no answer to RUN_KERNEL" in boards["a"]["detail"]
    assert "panic: signal 06" in boards["b"]["detail"]  # the board's own words
    assert "lost at size/7/" in boards["a"]["detail"] and "lost at size/7/" in boards["b"]["detail"]
    assert boards["c"]["detail"] == "" and boards["c"]["verdict"] == "pass"


def test_the_right_board_ran_everything_and_the_others_say_what_they_did_not(
    three_boards: Outcome,
) -> None:
    boards = three_boards.boards()
    # Two variants, native also against portable: three comparisons a case.
    assert boards["c"]["comparisons"] % 3 == 0 and boards["c"]["comparisons"] > 3
    assert (boards["c"]["failed"], boards["c"]["not_run"]) == (0, 0)
    for name in "ab":
        assert boards[name]["comparisons"] == 1 and boards[name]["failed"] == 1
        assert boards[name]["not_run"] == boards["c"]["comparisons"] // 3 - 1
        assert boards[name]["timings"] == 0
    assert all(board["virtual"] for board in boards.values())


def test_the_boards_ran_side_by_side(three_boards: Outcome) -> None:
    boards = three_boards.boards().values()
    last_start = max(board["started"] for board in boards)
    hung = three_boards.boards()["a"]
    # The board that takes longest, waiting for its deadline, was under way when each began.
    assert hung["started"] <= last_start < hung["finished"]
    assert hung["finished"] == max(board["finished"] for board in boards)


def test_all_boards_are_in_one_run_of_the_store(three_boards: Outcome, results: Path) -> None:
    with sqlite3.connect(results / "bench.sqlite") as database:
        ((kind, verdict),) = database.execute(
            "select r.kind, e.verdict from runs r join run_ends e on e.run_id = r.id"
        )
        names = {row[0] for row in database.execute("select name from run_boards")}
        (console,) = database.execute(
            "select group_concat(text, '') from console c join run_boards b"
            " on b.id = c.run_board_id where b.name = 'b'"
        ).fetchone()
    assert (kind, verdict) == ("nightly", three_boards.report["stored_verdict"])
    assert names == {"a", "b", "c"}
    assert "panic: signal 06" in console


def test_a_night_of_right_boards_passes(tmp_path: Path) -> None:
    night = nightly(tmp_path, "--board", "a=host", "--board", "b=host", *FEW_CASES)
    assert night.status == 0, night.stdout + night.stderr
    assert "pass: 2 of 2 boards right" in night.stdout
    assert "host (virtual)" in night.stdout


def test_a_wrong_kernel_is_no_hang_and_no_panic(tmp_path: Path) -> None:
    with served(MUTANTS / "tail_off_by_one.cpp") as wrong:
        night = nightly(tmp_path, "--board", f"a={wrong}", "--board", "b=host", *FEW_CASES)
    assert night.status == 1, night.stderr
    assert "wrong a: size/7/" in night.stdout and "first bad index" in night.stdout
    assert "fail: 1 of 2 boards right" in night.stdout
    for word in ("hung", "panicked", "lost"):
        assert word not in night.stdout


def test_a_board_that_never_answers_is_kept_and_stops_nobody(tmp_path: Path) -> None:
    night = nightly(
        tmp_path, "--board", "a=/dev/ttyNOSUCH", "--board", "b=host", *FEW_CASES, "--json"
    )
    assert night.status == 1, night.stderr
    boards = night.boards()
    assert (boards["a"]["state"], boards["b"]["state"]) == ("lost", "right")
    assert "/dev/ttyNOSUCH" in boards["a"]["detail"]
    with sqlite3.connect(tmp_path / "bench.sqlite") as database:
        kept = database.execute(
            "select rb.hello, f.hash, n.verdict, n.detail from run_boards rb"
            " join firmware f on f.id = rb.firmware_id join attempts t on t.run_board_id = rb.id"
            " join numerics n on n.attempt_id = t.id where rb.name = 'a'"
        ).fetchall()
    assert kept == [("{}", "", "error", boards["a"]["detail"])]


def test_a_board_that_somebody_uses_is_busy_and_stays_theirs(tmp_path: Path) -> None:
    with served() as url, BoardLock(url):
        night = nightly(tmp_path, "--board", f"a={url}", "--board", "b=host", *FEW_CASES, "--json")
    assert night.status == 1, night.stderr
    assert night.boards()["a"]["state"] == "busy"
    assert f"process {os.getpid()}" in night.boards()["a"]["detail"]
    assert night.boards()["b"]["state"] == "right"


def test_latency_follows_correctness_and_is_marked_where_the_kernel_is_wrong(
    tmp_path: Path,
) -> None:
    grid = ("--case", "grid/ram/15", "--case", "grid/ram/16")
    with served(MUTANTS / "tail_off_by_one.cpp") as wrong:
        night = nightly(tmp_path, "--board", f"a={wrong}", "--board", "b=host", *grid, "--json")
    assert night.status == 1, night.stderr
    boards = night.boards()
    assert (boards["a"]["state"], boards["b"]["state"]) == ("wrong", "right")
    # Two cases of two variants each, and too few nights to judge any.
    assert [(b["timings"], b["judged"]) for b in boards.values()] == [(4, 0), (4, 0)]
    assert night.report["gate"]["counts"]["not-judged"] == 8
    with sqlite3.connect(tmp_path / "bench.sqlite") as database:
        verdicts = database.execute(
            "select b.name, c.name, c.variant, l.verdict from latency l join attempts a on"
            " a.id = l.attempt_id join cases c on c.id = a.case_id"
            " join run_boards b on b.id = a.run_board_id where l.verdict != 'pass'"
        ).fetchall()
    assert verdicts == [("a", "grid/ram/15", "native", "fail")]


def test_a_board_that_compared_nothing_is_not_right(tmp_path: Path) -> None:
    # Only boards with this memory have such cases.
    night = nightly(tmp_path, "--board", "a=host", "--case", "grid/psram/15", "--json")
    assert night.status == 1, night.stdout
    assert night.problems() == {("a", "wrong")}
    assert "nothing was compared" in night.boards()["a"]["detail"]


def test_an_error_of_the_bench_itself_is_one_board_s_and_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = build_host().runner
    selection = select_cases((), ("size/7/shift+0*",), {}, lambda: runner, print)
    night = Night([HostBoard(runner, "a"), HostBoard(runner, "b")], selection, results=tmp_path)
    whole = Run.check

    def check(run: Run, job: KernelJob) -> object:
        if run.board.name == "a":
            raise ZeroDivisionError("bug")
        return whole(run, job)

    monkeypatch.setattr(Run, "check", check)
    report = night.run([])
    assert {b.night.name: b.state for b in report.boards} == {"a": "lost", "b": "right"}
    assert "ZeroDivisionError" in report.boards[0].night.detail
    assert isinstance(report.boards[0].night.crash, ZeroDivisionError)
    assert (report.verdict, report.stored_verdict) == ("fail", "error")
