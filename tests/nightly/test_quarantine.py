"""A board that was lost night after night is left alone until somebody releases it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from night import KERNELS, Outcome, nightly, served

from bench.runs.nightly_quarantine import lost_streaks, quarantined
from bench.store import BoardInfo, CaseResult, Store

ONE_CASE = ("--case", "size/7/shift+0*")
NOWHERE = "/dev/ttyNOSUCH"


def night(results: Path, url: str, *more: str) -> Outcome:
    return nightly(results, "--board", f"a={url}", *ONE_CASE, *more, "--json")


def state(one: Outcome) -> str:
    return str(one.boards()["a"]["state"])


def test_three_lost_nights_then_only_greeted_then_released(tmp_path: Path) -> None:
    for _ in range(3):
        lost = night(tmp_path, NOWHERE)
        assert (lost.status, state(lost)) == (1, "lost")
    with served() as url:
        away = night(tmp_path, url)
        assert (away.status, state(away)) == (1, "quarantined")
        row = away.boards()["a"]
        assert row["comparisons"] == row["timings"] == 0
        assert "lost in 3 nights in a row since 20" in row["detail"]
        assert "--release a" in row["detail"] and "it answers hello" in row["detail"]
    still = night(tmp_path, NOWHERE)
    assert (still.status, state(still)) == (1, "quarantined")
    assert NOWHERE in still.boards()["a"]["detail"]
    with served(KERNELS / "panics.cpp") as url:
        worse = night(tmp_path, url, "--release", "a")
        assert (worse.status, state(worse)) == (1, "panicked")
    with served() as url:
        assert state(night(tmp_path, url)) == "quarantined"  # it did not come through
        well = night(tmp_path, url, "--release", "a")
        assert (well.status, state(well)) == (0, "right")
        assert state(night(tmp_path, url)) == "right"


def test_release_runs_that_board_alone(tmp_path: Path) -> None:
    boards = ("--board", "a=host", "--board", "b=host")
    one = nightly(tmp_path, *boards, *ONE_CASE, "--release", "b", "--json")
    assert one.status == 0 and list(one.boards()) == ["b"]
    assert "no such board" in nightly(tmp_path, *boards, *ONE_CASE, "--release", "c").refusal()


def stored(folder: Path, nights: Sequence[tuple[str, str]]) -> Store:
    """Store nights of board "a": how it ended ("" is well), and the run's verdict."""
    store = Store.open(folder)
    for how, verdict in nights:
        run = store.begin_run("nightly", {})
        info = BoardInfo(name="a", target="host", url="", virtual=True, board_id="", firmware="")
        board = store.add_board(run, info)
        if how:
            store.add_result(
                board,
                CaseResult(
                    name=f"board/{how}",
                    level="kernel",
                    group="board",
                    reference="hello",
                    verdict="error",
                ),
            )
        if verdict:
            store.finish_run(run, verdict)
    return store


SICK = ("hung", "error")
WELL = ("", "pass")


@pytest.mark.parametrize(
    ("nights", "streak"),
    [
        ([SICK, SICK], 2),
        ([SICK, SICK, SICK], 3),
        ([SICK, WELL, SICK, SICK], 2),
        ([SICK, SICK, SICK, WELL], None),
        ([SICK, ("", "fail")], None),  # a wrong kernel is no sick board
        ([SICK, ("busy", "error"), ("panicked", "fail"), ("lost", "error")], 3),
        ([SICK, SICK, SICK, ("quarantined", "error")], 3),
        ([SICK, SICK, ("", "interrupted"), SICK], 3),
        ([SICK, SICK, ("", ""), SICK], 3),  # cut short: says nothing
        ([SICK, SICK, ("hung", "interrupted")], 2),
    ],
)
def test_streaks(tmp_path: Path, nights: Sequence[tuple[str, str]], streak: int | None) -> None:
    with stored(tmp_path, nights) as store:
        found = lost_streaks(store)
        assert (found["a"].nights if found else None) == streak
        assert bool(quarantined(store)) == (streak is not None and streak >= 3)
