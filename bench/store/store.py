"""The store: an append-only SQLite file of every attempt with its provenance."""

from __future__ import annotations

import json
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, NewType

from bench.errors import BenchError
from bench.store.database import checkpoint, connect, one_line
from bench.store.records import BoardInfo, CaseResult, LatencyResult, RunKind
from bench.store.samples import pack_samples
from bench.store.statistics import summarize

RunId = NewType("RunId", int)
RunBoardId = NewType("RunBoardId", int)

FILE_NAME = "bench.sqlite"

# Keys of hello's `build` that change with every commit or update; the rest is the build
# configuration, which must be equal for two timings to be compared.
_NOT_CONFIGURATION = ("git", "revision", "libraries", "idf", "esp_nn")


def canonical(value: Any) -> str:
    """Return JSON that is equal for equal values."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), default=_plain)


def _plain(value: Any) -> Any:
    """Accept numpy scalars and paths where JSON wants plain values."""
    return value.item() if hasattr(value, "item") else str(value)


class Store:
    """Results in one folder; safe to share between threads, and between benches by the file.

    Every ``add_*`` is one transaction, committed when it returns.
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Wrap an open connection; use `open` or `read`."""
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()
        self._case_ids: dict[str, int] = {}

    @classmethod
    def open(cls, folder: Path) -> Store:
        """Open the store in `folder` for writing; creates both when missing.

        Raises:
            BenchError: Not writable, full, damaged, or written by a newer bench.
        """
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise BenchError(
                f"results folder {folder}: {error.strerror}: choose another one"
            ) from error
        path = folder / FILE_NAME
        return cls(path, connect(path))

    @classmethod
    def read(cls, folder: Path) -> Store:
        """Open an existing store to look at it; an older schema is brought up to date.

        Raises:
            BenchError: There is none, or as in `open`.
        """
        path = folder / FILE_NAME
        if not path.is_file():
            raise BenchError(f"no results in {folder}: run 'bench run' first")
        try:
            store = cls(path, connect(path))
        except BenchError:
            # A store on read-only media can still be looked at.
            store = cls(path, connect(path, read_only=True))
        try:
            store._check()
        except BaseException:
            store.close()
            raise
        return store

    def close(self) -> None:
        """Close the file; the object is of no use afterwards."""
        with self._lock:
            self._connection.close()

    def __enter__(self) -> Store:
        """Return the store itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self.close()

    def begin_run(self, kind: RunKind, host: Mapping[str, Any]) -> RunId:
        """Start a run.

        Args:
            kind: What is run.
            host: What it is started from: versions of packages, machine; ``argv`` is kept with
                the run, ``sys.argv`` if missing.
        """
        info = {key: value for key, value in host.items() if key != "argv"}
        argv = canonical(list(host.get("argv", sys.argv)))
        with self._write() as connection:
            row = {
                "kind": kind,
                "host_id": _find_or_add(connection, "hosts", {"info": canonical(info)}),
                "argv": argv,
                "started": time.time(),
            }
            return RunId(_insert(connection, "runs", row))

    def add_board(self, run: RunId, board: BoardInfo) -> RunBoardId:
        """Add a board to a run; results are added to what this returns."""
        identity = {
            "target": board.target,
            "board_id": board.board_id,
            "virtual": int(board.virtual),
        }
        firmware = {"hash": board.firmware, "config": canonical(configuration(board.hello))}
        with self._write() as connection:
            row = {
                "run_id": run,
                "board_id": _find_or_add(connection, "boards", identity),
                "firmware_id": _find_or_add(connection, "firmware", firmware),
                "name": board.name,
                "url": board.url,
                "hello": canonical(board.hello),
            }
            return RunBoardId(_insert(connection, "run_boards", row))

    def add_result(self, board: RunBoardId, result: CaseResult) -> None:
        """Store one verdict, with its counters."""
        with self._write() as connection:
            row = {
                "attempt_id": self._attempt(connection, board, result),
                "reference": result.reference,
                "elements": result.elements,
                "max_abs_diff": result.max_abs_diff,
                "mismatches": result.mismatches,
                "violations": result.violations,
                "signed_mean": result.signed_mean,
                "histogram": canonical({str(k): v for k, v in result.histogram.items()}),
                "first_bad_index": result.first_bad_index,
                "expected": result.expected,
                "got": result.got,
                "verdict": result.verdict,
                "detail": result.detail,
                "fault": result.fault,
                "ticks": result.ticks,
                "at": time.time(),
            }
            _insert(connection, "numerics", row)

    def add_latency(self, board: RunBoardId, result: LatencyResult) -> None:
        """Store one timing with its raw samples.

        Raises:
            ValueError: A sample is negative.
        """
        blob = pack_samples(result.samples)
        summary = summarize(result.samples, result.overhead_ticks) if len(result.samples) else None
        with self._write() as connection:
            row = {
                "attempt_id": self._attempt(connection, board, result),
                "unit": result.unit,
                "hz": result.hz,
                "elements": result.elements,
                "first_ticks": result.first_ticks,
                "overhead_ticks": result.overhead_ticks,
                "sample_count": len(result.samples),
                "samples": blob,
                # Not canonical: the order is that of the execution.
                "operators": json.dumps(dict(result.operators), separators=(",", ":")),
                "median": summary and summary.median,
                "mad": summary and summary.mad,
                "verdict": result.verdict,
                "detail": result.detail,
            }
            _insert(connection, "latency", row)

    def add_console(self, board: RunBoardId, text: bytes) -> None:
        """Store what a board printed outside frames; pieces are kept in the order added."""
        with self._write() as connection:
            _insert(connection, "console", {"run_board_id": board, "at": time.time(), "text": text})

    def finish_run(self, run: RunId, verdict: str) -> None:
        """Give a run its verdict and bring everything to the disk."""
        with self._write() as connection:
            row = {"run_id": run, "verdict": verdict, "finished": time.time()}
            _insert(connection, "run_ends", row)
        with self._lock, one_line(self.path):
            checkpoint(self._connection)

    def query(self, sql: str, parameters: tuple[Any, ...] = ()) -> list[sqlite3.Row]:
        """Return the rows of a query, by index or name; reports are views of the store."""
        with self._lock, one_line(self.path):
            return self._connection.execute(sql, parameters).fetchall()

    def _check(self) -> None:
        """Raise if SQLite finds the file damaged: a damaged table can look like an empty one."""
        found = self.query("PRAGMA quick_check(1)")[0][0]
        if found != "ok":
            raise BenchError(
                f"result store {self.path}: it is damaged ({' '.join(str(found).split())}): move "
                "it away and keep it, then run again"
            )

    @contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._lock, one_line(self.path):
            # IMMEDIATE: waits for another writer here, where nothing can be lost yet.
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException:
                # On some errors, a full disk being one, SQLite has rolled back already.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._case_ids.clear()
                raise

    def _attempt(
        self, connection: sqlite3.Connection, board: RunBoardId, result: CaseResult | LatencyResult
    ) -> int:
        """Return the attempt's row, added if this is the first that is told of it."""
        case = {
            "name": result.name,
            "level": result.level,
            "case_group": result.group,
            "variant": result.variant,
            "route": result.route,
            "model": result.model,
            "params": canonical(result.params),
        }
        identity = canonical(case)
        if identity not in self._case_ids:
            self._case_ids[identity] = _find_or_add(
                connection, "cases", {"identity": identity}, case
            )
        key = {
            "run_board_id": board,
            "case_id": self._case_ids[identity],
            "attempt": result.attempt,
        }
        attempt = _find_or_add(connection, "attempts", key, {"at": time.time()})
        if result.counters:
            row = {"attempt_id": attempt, "counts": canonical(result.counters)}
            _insert(connection, "counters", row)
        return attempt


def configuration(hello: Mapping[str, Any]) -> dict[str, Any]:
    """Return the build configuration out of a hello: compiler, flags, clock, runtime."""
    build = dict(hello.get("build") or {})
    for key in _NOT_CONFIGURATION:
        build.pop(key, None)
    return {"build": build, "clock": hello.get("clock")}


def _find_or_add(
    connection: sqlite3.Connection,
    table: str,
    key: Mapping[str, Any],
    more: Mapping[str, Any] | None = None,
) -> int:
    """Return the id of the row with the unique `key`, adding it with `more` if there is none."""
    where = " AND ".join(f"{column} = ?" for column in key)
    found = connection.execute(
        f"SELECT id FROM {table} WHERE {where}", tuple(key.values())
    ).fetchone()
    if found:
        return int(found[0])
    return _insert(connection, table, {**key, **(more or {})})


def _insert(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> int:
    """Add a row; return its id."""
    cursor = connection.execute(
        f"INSERT INTO {table} ({', '.join(row)}) VALUES ({', '.join('?' * len(row))})",
        tuple(row.values()),
    )
    assert cursor.lastrowid is not None
    return cursor.lastrowid
