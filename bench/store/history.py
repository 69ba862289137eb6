"""Timings of many nights, grouped into what may be compared with each other, and judged."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from bench.store.gate import Drift, Judgement, Point, Rule, drift, judge
from bench.store.store import Store, canonical


@dataclass(frozen=True)
class CaseId:
    """What identifies a case, as in `CaseResult`; `params` is canonical JSON."""

    name: str
    level: str
    group: str
    variant: str | None
    route: str | None
    model: str | None
    params: str

    @property
    def label(self) -> str:
        """Name with what ran it, for people."""
        kind = self.variant or self.route
        return f"{self.name} [{kind}]" if kind else self.name

    def to_json(self) -> dict[str, Any]:
        """Return the fields, `params` as an object."""
        return {
            "name": self.name,
            "level": self.level,
            "group": self.group,
            "variant": self.variant,
            "route": self.route,
            "model": self.model,
            "params": json.loads(self.params),
        }


@dataclass(frozen=True)
class BoardKey:
    """Which timings of a case may be compared: all of this must be equal.

    Attributes:
        machine: For a virtual board the machine it ran on and its name, else "": a host's
            nanoseconds belong to that host.
        config: Build configuration of the firmware, canonical JSON.
        unit: The clock, which never mixes with another.
    """

    target: str
    board_id: str
    virtual: bool
    machine: str
    config: str
    unit: str
    hz: int | None

    @property
    def device(self) -> tuple[str, str, str]:
        """Which board it is, whatever firmware and clock it has."""
        return self.target, self.board_id, self.machine


@dataclass
class Series:
    """One case on one board over the nights, oldest first, with the gate's verdicts.

    `runs`, `points` and `judgements` have one entry a night.
    """

    board: BoardKey
    board_name: str
    case: CaseId
    runs: list[int] = field(default_factory=list)
    points: list[Point] = field(default_factory=list)
    judgements: list[Judgement] = field(default_factory=list)
    drift: Drift | None = None


def load_cases(store: Store) -> dict[int, CaseId]:
    """Return all cases of the store by their row id."""
    rows = store.query(
        "SELECT id, name, level, case_group, variant, route, model, params FROM cases"
    )
    return {row[0]: CaseId(*tuple(row)[1:]) for row in rows}


def load_series(store: Store, rule: Rule | None = None) -> list[Series]:
    """Return every series of the store, judged; of repeated attempts in a run the last counts."""
    cases = load_cases(store)
    boards = _load_boards(store)
    # Equal keys are one object, so that their identity tells them apart: hundreds of thousands of
    # rows are looked up.
    known: dict[BoardKey, BoardKey] = {}
    keys: dict[tuple[int, str, int | None], BoardKey] = {}
    series: dict[tuple[int, int], Series] = {}
    # Only what the gate needs: no blob is read.
    rows = store.query(
        "SELECT a.run_board_id, a.case_id, l.unit, l.hz, l.median, l.mad, l.sample_count,"
        " l.verdict = 'pass', ifnull(e.verdict, 'interrupted') <> 'interrupted'"
        " FROM latency l JOIN attempts a ON a.id = l.attempt_id"
        " JOIN run_boards rb ON rb.id = a.run_board_id"
        " LEFT JOIN run_ends e ON e.run_id = rb.run_id"
        " ORDER BY a.run_board_id, a.case_id, a.attempt, l.id"
    )
    for run_board, case, unit, hz, median, mad, count, right, finished in rows:
        run, name, board = boards[run_board]
        key = keys.get((run_board, unit, hz))
        if key is None:
            key = keys[run_board, unit, hz] = known.setdefault(
                found := BoardKey(*board, unit, hz), found
            )
        one = series.get((id(key), case))
        if one is None:
            one = series[id(key), case] = Series(key, name, cases[case])
        point = Point(median or 0.0, mad or 0.0, count, bool(right), bool(finished))
        if one.runs and one.runs[-1] == run:
            one.points[-1] = point
        else:
            one.runs.append(run)
            one.points.append(point)
        one.board_name = name
    for one in series.values():
        _judge(one, rule or Rule())
    return list(series.values())


def _judge(one: Series, rule: Rule) -> None:
    if not one.board.virtual and not one.board.board_id:
        reason = "the board's id was never learnt, so it may be another board every night"
        one.judgements = [Judgement("not-judged", reason) for _ in one.points]
        return
    one.judgements = judge(one.points, rule)
    one.drift = drift(one.points, one.judgements, rule)


def _load_boards(
    store: Store,
) -> dict[int, tuple[int, str, tuple[str, str, bool, str, str]]]:
    rows = store.query(
        "SELECT rb.id, rb.run_id, rb.name, b.target, b.board_id, b.virtual, h.info, f.config"
        " FROM run_boards rb JOIN boards b ON b.id = rb.board_id"
        " JOIN firmware f ON f.id = rb.firmware_id JOIN runs r ON r.id = rb.run_id"
        " JOIN hosts h ON h.id = r.host_id"
    )
    machines: dict[str, str] = {}
    boards = {}
    for run_board, run, name, target, board_id, virtual, info, config in rows:
        if info not in machines:
            host = json.loads(info)
            machines[info] = canonical({key: host.get(key) for key in ("machine", "node")})
        # Nothing but its name tells a virtual board from another one on the same machine.
        machine = canonical([machines[info], name]) if virtual else ""
        boards[run_board] = (run, name, (target, board_id, bool(virtual), machine, config))
    return boards


@dataclass(frozen=True)
class Entry:
    """What the gate says of one case on one board in one run."""

    series: Series
    judgement: Judgement
    point: Point

    def to_json(self) -> dict[str, Any]:
        """Return one flat object, as ``bench compare --json`` prints it."""
        board = self.series.board
        return {
            "board": self.series.board_name,
            "target": board.target,
            "board_id": board.board_id,
            "virtual": board.virtual,
            "unit": board.unit,
            **self.series.case.to_json(),
            "median": self.point.median,
            "mad": self.point.mad,
            "samples": self.point.count,
            "status": self.judgement.status,
            "reason": self.judgement.reason,
            "baseline": self.judgement.baseline,
            "change": self.judgement.change,
            "threshold": self.judgement.threshold,
            "drift": self.series.drift.total if self.series.drift else None,
        }


def entries_of(series: Iterable[Series], run: int) -> list[Entry]:
    """Return the gate's verdicts of one run."""
    found = []
    for one in series:
        if run in one.runs:
            at = one.runs.index(run)
            found.append(Entry(one, one.judgements[at], one.points[at]))
    return found


def not_measured(series: Sequence[Series], run: int) -> list[Series]:
    """Return what this run did not time, although its boards' last runs before did."""
    measured = {(one.board.device, one.case) for one in series if run in one.runs}
    boards = {device for device, _ in measured}
    before: dict[tuple[str, str, str], int] = defaultdict(int)
    for one in series:
        earlier = (other for other in one.runs if other < run)
        before[one.board.device] = max(before[one.board.device], *earlier, 0)
    return [
        one
        for one in series
        if one.board.device in boards
        and (one.board.device, one.case) not in measured
        and before[one.board.device] in one.runs
    ]


def is_regression(entry: Entry) -> bool:
    """Tell whether a board is slower: one of hardware.

    A virtual board is as fast as its machine lets it be: its slow-downs are shown and fail nothing.
    """
    return entry.judgement.status == "regression" and not entry.series.board.virtual


def gate_verdict(entries: Sequence[Entry]) -> str:
    """Return "fail" for a board's regression, "pass" if anything was judged, else "not-judged"."""
    if any(map(is_regression, entries)):
        return "fail"
    judged = any(entry.judgement.status != "not-judged" for entry in entries)
    return "pass" if judged else "not-judged"


def count_statuses(entries: Iterable[Entry]) -> Mapping[str, int]:
    """Return how many verdicts there are of each status, and how many drifts."""
    counts: dict[str, int] = defaultdict(int)
    for entry in entries:
        counts[entry.judgement.status] += 1
        counts["drift"] += entry.series.drift is not None
    return counts
