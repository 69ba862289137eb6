"""A night summed up: what fails it, what is known, what the gate says; a view of the store."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from bench.runs.nightly_board import BoardNight
from bench.runs.nightly_known_bad import CaseKey, KnownBad, Matches, match
from bench.runs.nightly_quarantine import BOARD_GROUP
from bench.store import CaseResult, LatencyResult, RunId, Store
from bench.store.history import (
    Entry,
    count_statuses,
    entries_of,
    gate_verdict,
    is_regression,
    load_series,
)
from bench.store.results import boards_of, load_results, load_timings
from bench.store.verdicts import settled

Found = Mapping[str, Sequence[CaseResult | LatencyResult]]
"""What the boards gave, by their names."""


@dataclass(frozen=True)
class Problem:
    """One thing that fails the night.

    Attributes:
        kind: A board's state, "wrong" or "no-output" of a case, "passes-again", "regression".
        board: Name of the board.
        text: What and why, for people.
    """

    kind: str
    board: str
    text: str


@dataclass(frozen=True)
class BoardSummary:
    """One board's row.

    Attributes:
        night: How it came through.
        state: As the night's, or "known-bad" if nothing but listed cases fail.
        comparisons: Outputs that were compared, or should have come and did not.
        right: Right ones of these.
        not_run: Comparisons that the board did not get to, or cannot run.
        timings: Timings, those of wrong outputs too.
        known_bad: Cases that fail as listed.
        judged: Timings that could be compared with the nights before.
        regressions: Slower ones of these.
    """

    night: BoardNight
    state: str
    comparisons: int
    right: int
    not_run: int
    timings: int
    known_bad: int
    judged: int
    regressions: int

    def to_json(self) -> dict[str, Any]:
        """Return one flat object; ``verdict`` is the true one, whatever the list says."""
        night = self.night
        return {
            "name": night.name,
            "target": night.target,
            "url": night.board.url,
            "virtual": night.virtual,
            "state": self.state,
            "verdict": night.verdict,
            "timed_seconds": night.timed_seconds,
            "device_seconds": night.device_seconds,
            "comparisons": self.comparisons,
            "failed": self.comparisons - self.right,
            "not_run": self.not_run,
            "timings": self.timings,
            "known_bad": self.known_bad,
            "judged": self.judged,
            "regressions": self.regressions,
            "detail": night.detail,
            "started": night.started,
            "finished": night.finished,
            "seconds": night.finished - night.started,
        }


@dataclass(frozen=True)
class NightReport:
    """The whole night.

    Attributes:
        store: Where it is kept.
        run: Its number there.
        boards: One row a board.
        problems: All that fails it; it passes if there are none.
        gate: The regression gate on its timings.
        known: What the known-bad list says.
    """

    store: Path
    run: int
    boards: Sequence[BoardSummary]
    problems: Sequence[Problem]
    gate: Sequence[Entry]
    known: Matches

    @property
    def verdict(self) -> Literal["pass", "fail"]:
        """Whether all is right that is not known to be wrong."""
        return "fail" if self.problems else "pass"

    @property
    def stored_verdict(self) -> str:
        """The verdict that the store keeps: known-bad cases count as what they are."""
        true = {board.night.verdict for board in self.boards}
        if any(map(is_regression, self.gate)) or "fail" in true:
            return "fail"
        return "error" if "error" in true or any(b.night.lost for b in self.boards) else "pass"

    def to_json(self) -> dict[str, Any]:
        """Return the object that ``bench nightly --json`` prints."""
        listed = [("known-bad", self.known.bad), ("passes-again", self.known.again)]
        return {
            "verdict": self.verdict,
            "stored_verdict": self.stored_verdict,
            "store": str(self.store),
            "run": self.run,
            "boards": [board.to_json() for board in self.boards],
            "gate": {
                "verdict": gate_verdict(self.gate),
                "counts": dict(count_statuses(self.gate)),
                "regressions": [e.to_json() for e in self.gate if is_regression(e)],
            },
            "known_bad": [
                {**asdict(case), "reason": reason, "status": status}
                for status, found in listed
                for case, reason in found.items()
            ]
            + [{**asdict(entry), "status": "matches-nothing"} for entry in self.known.unused],
            "problems": [asdict(problem) for problem in self.problems],
        }


def report_night(
    store: Store, run: RunId, nights: Sequence[BoardNight], known_bad: Sequence[KnownBad]
) -> NightReport:
    """Judge a night that is over, from what it left in the store.

    Args:
        store: Where it is.
        run: Its number.
        nights: How each board came through.
        known_bad: The list.
    """
    rows = boards_of(store, run)
    found: dict[str, list[CaseResult | LatencyResult]] = defaultdict(list)
    for stored in settled(load_results(store, rows)):
        if stored.result.group != BOARD_GROUP:
            found[stored.board.name].append(stored.result)
    last: dict[tuple[str, str, str], LatencyResult] = {}
    for timing in load_timings(store, rows):
        key = CaseKey.of(timing.board.name, timing.result)
        last[key.board, timing.result.name, key.variant] = timing.result
    for (board, _, _), result in last.items():
        found[board].append(result)
    gate = entries_of(load_series(store), run)
    known = match(known_bad, [(name, result) for name in found for result in found[name]])
    failing = _failing(found)
    boards = [_summary(night, found.get(night.name, ()), gate, known) for night in nights]
    problems = [
        Problem(board.state, board.night.name, board.night.detail)
        for board in boards
        if board.state not in ("right", "known-bad") and board.night.detail
    ]
    problems += [
        Problem("wrong" if "fail" in verdicts else "no-output", case.board, f"{case.label}: {why}")
        for case, (why, verdicts) in failing.items()
        if case not in known.bad
    ]
    problems += [
        Problem(
            "passes-again",
            case.board,
            f"{case.label} passes: take it off the known-bad list ({reason})",
        )
        for case, reason in known.again.items()
    ]
    problems += [
        Problem("regression", e.series.board_name, f"{e.series.case.label}: {e.judgement.reason}")
        for e in gate
        if is_regression(e)
    ]
    return NightReport(store.path, run, boards, problems, gate, known)


def _failing(found: Found) -> dict[CaseKey, tuple[str, set[str]]]:
    """Return the cases that are not right, each with its first reason and its verdicts."""
    failing: dict[CaseKey, tuple[str, set[str]]] = {}
    for name, results in found.items():
        for result in results:
            if result.verdict in ("fail", "error"):
                what = f"against {result.reference}: " if isinstance(result, CaseResult) else ""
                key = CaseKey.of(name, result)
                failing.setdefault(key, (what + result.detail, set()))[1].add(result.verdict)
    return failing


def _summary(
    night: BoardNight,
    results: Sequence[CaseResult | LatencyResult],
    gate: Sequence[Entry],
    known: Matches,
) -> BoardSummary:
    verdicts = [r.verdict for r in results if isinstance(r, CaseResult)]
    not_run = verdicts.count("not-run")
    failing = _failing({night.name: results})
    own = [entry for entry in gate if entry.series.board_name == night.name]
    state: str = night.state
    if failing and failing.keys() <= known.bad.keys() and not night.lost:
        state = "known-bad"
    return BoardSummary(
        night=night,
        state=state,
        comparisons=len(verdicts) - not_run,
        right=verdicts.count("pass"),
        not_run=not_run,
        timings=len(results) - len(verdicts),
        known_bad=sum(case.board == night.name for case in known.bad),
        judged=sum(entry.judgement.status != "not-judged" for entry in own),
        regressions=sum(map(is_regression, own)),
    )
