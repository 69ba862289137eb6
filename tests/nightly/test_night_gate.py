"""The regression gate at a night's end: on this night's timings, each board by itself."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.lab.host import HostBoard
from bench.runs.nightly_board import BoardNight
from bench.runs.nightly_known_bad import KnownBad
from bench.runs.nightly_report import NightReport, report_night
from bench.store import BoardInfo, LatencyResult, Store

HELLO = {"clock": {"unit": "ns", "hz": 1_000_000_000}, "build": {"flags": "-O2"}}
EARLIER = 6


def timing(median: int, verdict: str = "pass") -> LatencyResult:
    # Samples around the median, as quiet as a good board's.
    samples = [median + offset for offset in (-4, -2, -1, 0, 0, 0, 1, 2, 4)] * 5
    return LatencyResult(
        name="grid/ram/4096",
        level="kernel",
        group="grid",
        variant="native",
        samples=samples,
        unit="ns",
        hz=1_000_000_000,
        elements=4096,
        verdict=verdict,
        detail="" if verdict == "pass" else "wrong output",
    )


def add_night(store: Store, boards: Mapping[str, LatencyResult], virtual: bool = False) -> int:
    run = store.begin_run("nightly", {"machine": "x86_64", "node": "lab"})
    for name, result in boards.items():
        info = BoardInfo(
            name=name,
            target="esp32s3",
            url="",
            virtual=virtual,
            board_id=name,
            firmware="f",
            hello=HELLO,
        )
        store.add_latency(store.add_board(run, info), result)
    return run


def last_night(
    folder: Path, *known: KnownBad, virtual: bool = False, **boards: LatencyResult
) -> NightReport:
    with Store.open(folder) as store:
        for _ in range(EARLIER):
            night = add_night(store, {"a": timing(1000), "b": timing(1500)}, virtual)
            store.finish_run(night, "pass")
        run = add_night(store, boards, virtual)
        nights = [
            BoardNight(HostBoard(Path("runner"), name), state="right", verdict="pass")
            for name in boards
        ]
        return report_night(store, run, nights, known)


def test_the_same_again_passes(tmp_path: Path) -> None:
    report = last_night(tmp_path, a=timing(1001), b=timing(1499))
    assert (report.verdict, report.stored_verdict, report.problems) == ("pass", "pass", [])
    counts = report.to_json()["gate"]["counts"]
    assert (counts["ok"], counts.get("not-judged", 0)) == (2, 0)


def test_a_slower_board_fails_the_night_and_is_named(tmp_path: Path) -> None:
    report = last_night(tmp_path, a=timing(1100), b=timing(1500))
    (problem,) = report.problems
    assert (problem.kind, problem.board) == ("regression", "a")
    assert "grid/ram/4096 [native]: +10.0%" in problem.text
    assert (report.verdict, report.stored_verdict) == ("fail", "fail")
    assert [(b.regressions, b.judged) for b in report.boards] == [(1, 1), (0, 1)]
    (entry,) = report.to_json()["gate"]["regressions"]
    assert (entry["board"], entry["baseline"], entry["median"]) == ("a", 1000, 1100)


def test_a_slower_virtual_board_is_shown_and_fails_no_night(tmp_path: Path) -> None:
    report = last_night(tmp_path, virtual=True, a=timing(1100), b=timing(1500))
    assert (report.verdict, report.stored_verdict, report.problems) == ("pass", "pass", [])
    assert report.to_json()["gate"]["counts"]["regression"] == 1


def test_a_new_board_is_not_judged_which_is_not_passed(tmp_path: Path) -> None:
    report = last_night(tmp_path, new=timing(1000))
    assert [(b.timings, b.judged) for b in report.boards] == [(1, 0)]
    gate = report.to_json()["gate"]
    assert gate["verdict"] == "not-judged"
    assert gate["counts"]["not-judged"] == 1 and "ok" not in gate["counts"]


@pytest.mark.parametrize("listed", [False, True])
def test_a_timing_of_a_wrong_output(tmp_path: Path, listed: bool) -> None:
    known = [KnownBad(case="grid/*", variant="native", board="a", reason="r")] if listed else []
    report = last_night(tmp_path, *known, a=timing(1000, "fail"), b=timing(1500))
    assert report.verdict == ("pass" if listed else "fail")
    assert [problem.board for problem in report.problems] == ([] if listed else ["a"])
    assert len(report.known.bad) == listed
