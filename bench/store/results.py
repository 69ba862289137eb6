"""Reads runs back out of the store, as the records they were stored as."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from bench.errors import BenchError
from bench.store.history import CaseId
from bench.store.records import CaseResult, LatencyResult
from bench.store.samples import unpack_samples
from bench.store.store import Store, canonical


@dataclass(frozen=True)
class RunRow:
    """A run; `verdict` and `finished` are None if it was killed."""

    id: int
    kind: str
    started: float
    finished: float | None
    verdict: str | None
    argv: list[str]
    host: dict[str, Any]

    @property
    def complete(self) -> bool:
        """Whether it came to its end: neither killed nor interrupted."""
        return self.verdict not in (None, "interrupted")


@dataclass(frozen=True)
class BoardRow:
    """A board in a run."""

    id: int
    run: int
    name: str
    target: str
    url: str
    virtual: bool
    board_id: str
    firmware: str
    hello: dict[str, Any]

    @property
    def label(self) -> str:
        """Name for people; says so if the board is virtual."""
        return f"{self.name} (virtual)" if self.virtual else self.name

    @property
    def key(self) -> tuple[object, ...]:
        """What makes it the same board in other runs, whatever its port and its name there.

        A virtual board, or one whose id was never learnt, has nothing but its name.
        """
        known = self.board_id and not self.virtual
        return self.target, self.board_id, self.virtual, None if known else self.name


@dataclass(frozen=True)
class Stored:
    """A verdict with where and when it was made."""

    board: BoardRow
    at: float
    result: CaseResult


@dataclass(frozen=True)
class Timing:
    """A timing with where and when it was made."""

    board: BoardRow
    at: float
    result: LatencyResult


_RUNS = (
    "SELECT r.id, r.kind, r.started, e.finished, e.verdict, r.argv, h.info AS host FROM runs r"
    " JOIN hosts h ON h.id = r.host_id LEFT JOIN run_ends e ON e.run_id = r.id"
)


def load_run(store: Store, run: int | None = None) -> RunRow:
    """Return a run, the latest by default.

    Raises:
        BenchError: There is no such run.
    """
    where, parameters = ("WHERE r.id = ?", (run,)) if run is not None else ("", ())
    # SQLite knows no larger number.
    possible = run is None or run.bit_length() < 64
    query = f"{_RUNS} {where} ORDER BY r.id DESC LIMIT 1"
    rows = store.query(query, parameters) if possible else []
    if not rows:
        what = "no runs" if run is None else f"no run {run}"
        raise BenchError(f"{what} in {store.path}: 'bench run' makes one")
    return _run(rows[0])


def load_runs(store: Store) -> list[RunRow]:
    """Return all runs, oldest first."""
    return [_run(row) for row in store.query(f"{_RUNS} ORDER BY r.id")]


def _run(row: sqlite3.Row) -> RunRow:
    values: dict[str, Any] = dict(row)
    return RunRow(**{**values, "argv": json.loads(row["argv"]), "host": json.loads(row["host"])})


def load_boards(store: Store, ids: list[int]) -> dict[int, BoardRow]:
    """Return boards in runs, by their row id."""
    boards = {}
    for one in ids:
        row = store.query(
            "SELECT rb.id, rb.run_id AS run, rb.name, b.target, rb.url, b.virtual, b.board_id,"
            " f.hash AS firmware, rb.hello FROM run_boards rb JOIN boards b ON b.id = rb.board_id"
            " JOIN firmware f ON f.id = rb.firmware_id WHERE rb.id = ?",
            (one,),
        )[0]
        values: dict[str, Any] = dict(row)
        values["virtual"] = bool(row["virtual"])
        values["hello"] = json.loads(row["hello"])
        boards[one] = BoardRow(**values)
    return boards


def boards_of(store: Store, run: int) -> list[int]:
    """Return the row ids of a run's boards."""
    return [
        r[0] for r in store.query("SELECT id FROM run_boards WHERE run_id = ? ORDER BY id", (run,))
    ]


def latest_boards(store: Store, table: str) -> list[int]:
    """Return each board's latest part in a run that has rows in `table` (numerics or latency)."""
    assert table in ("numerics", "latency")
    rows = store.query(
        "SELECT rb.id FROM run_boards rb WHERE EXISTS (SELECT 1 FROM attempts a"
        f" JOIN {table} t ON t.attempt_id = a.id WHERE a.run_board_id = rb.id) ORDER BY rb.id"
    )
    latest = {row.key: row for row in load_boards(store, [row[0] for row in rows]).values()}
    return [row.id for row in sorted(latest.values(), key=lambda row: (row.name, row.id))]


_SELECT = (
    "SELECT c.name, c.level, c.case_group AS 'group', c.variant, c.route, c.model, c.params,"
    " a.attempt, (SELECT k.counts FROM counters k WHERE k.attempt_id = a.id"
    " ORDER BY k.id DESC LIMIT 1) AS counters, {columns} FROM {table} t"
    " JOIN attempts a ON a.id = t.attempt_id JOIN cases c ON c.id = a.case_id"
    " WHERE a.run_board_id = ? ORDER BY t.id"
)
_RESULTS = _SELECT.format(
    table="numerics",
    columns="t.at, t.reference, t.elements, t.max_abs_diff, t.mismatches, t.violations,"
    " t.signed_mean, t.histogram, t.first_bad_index, t.expected, t.got, t.verdict, t.detail,"
    " t.fault, t.ticks",
)
_TIMINGS = _SELECT.format(
    table="latency",
    columns="a.at, t.unit, t.hz, t.elements, t.first_ticks, t.overhead_ticks, t.verdict, t.detail,"
    " t.operators, t.samples",
)


def load_results(store: Store, boards: list[int]) -> list[Stored]:
    """Return every verdict of these boards in their runs, in the order they were made."""
    found = []
    for row_id, board in load_boards(store, boards).items():
        for row in store.query(_RESULTS, (row_id,)):
            values = _values(row)
            histogram = json.loads(row["histogram"])
            values["histogram"] = {int(lsb): count for lsb, count in histogram.items()}
            at = values.pop("at")
            found.append(Stored(board, at, CaseResult(**values)))
    return found


def load_timings(store: Store, boards: list[int]) -> list[Timing]:
    """Return every timing of these boards in their runs, with raw samples."""
    found = []
    for row_id, board in load_boards(store, boards).items():
        for row in store.query(_TIMINGS, (row_id,)):
            values = _values(row)
            values["operators"] = json.loads(row["operators"])
            values["samples"] = unpack_samples(row["samples"]).tolist()
            at = values.pop("at")
            found.append(Timing(board, at, LatencyResult(**values)))
    return found


def case_id(result: CaseResult | LatencyResult) -> CaseId:
    """Return what identifies a result's case."""
    return CaseId(
        result.name,
        result.level,
        result.group,
        result.variant,
        result.route,
        result.model,
        canonical(result.params),
    )


def settled_timings(timings: Iterable[Timing]) -> list[Timing]:
    """Return one timing a case, of all its attempts, as `bench.store.verdicts.settled` does.

    A wrong output in any attempt stays; of the others the last attempt counts.
    """
    best: dict[tuple[object, ...], Timing] = {}
    for timing in timings:
        key = (timing.board.id, timing.result.unit, case_id(timing.result))
        if key not in best or best[key].result.verdict != "fail":
            best[key] = timing
    return list(best.values())


def _values(row: sqlite3.Row) -> dict[str, Any]:
    values: dict[str, Any] = dict(row)
    values["params"] = json.loads(row["params"])
    values["counters"] = json.loads(row["counters"] or "{}")
    return values


def load_console(store: Store, board: int) -> bytes:
    """Return all that a board printed in its run."""
    rows = store.query("SELECT text FROM console WHERE run_board_id = ? ORDER BY id", (board,))
    return b"".join(row[0] for row in rows)
