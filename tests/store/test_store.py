"""The store keeps everything: other writers, sudden death, full disks, other versions."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from synthetic import HOST, at, esp, host, latency, result, wrong

from bench.errors import BenchError
from bench.store import Store, database
from bench.store.results import (
    boards_of,
    load_boards,
    load_console,
    load_results,
    load_run,
    load_runs,
    load_timings,
)

TABLES = {
    *("hosts", "runs", "run_ends", "boards", "firmware", "run_boards", "cases", "attempts"),
    *("numerics", "counters", "latency", "console"),
}


def start(store, info=None, kind="nightly"):
    run = store.begin_run(kind, HOST | {"argv": ["bench", "run"]})
    return run, store.add_board(run, info or esp())


def count(folder):
    with Store.read(folder) as store:
        return store.query("SELECT count(*) FROM numerics")[0][0]


def test_everything_comes_back(tmp_path):
    results = [
        wrong("pairs/a", 7, counters={"resends": 2, "path": {"vector": 5}}, ticks=99),
        result("glu/0", level="program", variant=None, route="delegate", model="glu"),
        result("pairs/b", verdict="error", elements=0, detail="no answer", attempt=1),
        result("pairs/b", attempt=2, fault="3 guard bytes overwritten", verdict="fail"),
    ]
    timing = latency([500, 510, 505], operators={"quantize": 100, "mul": 300}, counters={"crc": 0})
    with Store.open(tmp_path) as store:
        with at(1000.5):
            run, board = start(store)
        for one in results:
            store.add_result(board, one)
        store.add_latency(board, timing)
        store.add_console(board, b"\xffpanic\0")
        store.add_console(board, b"'ed\n")
        assert load_run(store).verdict is None
        store.finish_run(run, "fail")
    with Store.read(tmp_path) as store:
        assert [s.result for s in load_results(store, [board])] == results
        (found,) = load_timings(store, [board])
        assert found.result == timing
        assert list(found.result.operators) == ["quantize", "mul"]
        assert load_console(store, board) == b"\xffpanic\0'ed\n"
        stored = load_run(store)
        assert (stored.kind, stored.started, stored.verdict) == ("nightly", 1000.5, "fail")
        assert stored.host == HOST
        assert stored.argv == ["bench", "run"]
        row = load_boards(store, boards_of(store, run))[board]
        assert row.hello == esp().hello
        assert (row.name, row.board_id, row.virtual) == ("s3-1", esp().board_id, False)


def test_what_repeats_is_stored_once(tmp_path):
    with Store.open(tmp_path) as store:
        for _ in range(3):
            run, board = start(store)
            store.add_result(board, result())
            store.add_latency(board, latency([5] * 3))
            store.finish_run(run, "pass")
        counts = {t: store.query(f"SELECT count(*) FROM {t}")[0][0] for t in TABLES}
    assert counts["hosts"] == counts["boards"] == counts["firmware"] == 1
    assert counts["cases"] == 2
    assert counts["runs"] == counts["numerics"] == counts["latency"] == 3


def test_nothing_can_be_changed_or_removed(tmp_path):
    with Store.open(tmp_path) as store:
        run, board = start(store)
        store.add_result(board, result(counters={"a": 1}))
        store.add_latency(board, latency([5]))
        store.add_console(board, b"x")
        store.finish_run(run, "pass")
        assert {
            r[0] for r in store.query("SELECT name FROM sqlite_master WHERE type='table'")
        } == TABLES
        for table in TABLES:
            column = "run_id" if table == "run_ends" else "id"
            for change in (f"DELETE FROM {table}", f"UPDATE {table} SET {column} = 77"):
                with pytest.raises(BenchError, match="append-only"):
                    store.query(change)


def test_a_failed_write_leaves_nothing_behind(tmp_path):
    with Store.open(tmp_path) as store:
        _, board = start(store)
        with pytest.raises(BenchError, match="CHECK"):
            store.add_result(board, result("new", verdict="maybe"))
        assert store.query("SELECT count(*) FROM cases")[0][0] == 0
        store.add_result(board, result("new"))
        assert store.query("SELECT count(*) FROM numerics")[0][0] == 1


def test_threads_share_a_store(tmp_path):
    with Store.open(tmp_path) as store:
        run = store.begin_run("nightly", HOST)

        def work(number):
            board = store.add_board(run, esp(number))
            for i in range(25):
                store.add_result(board, result(f"case/{i}"))

        threads = [threading.Thread(target=work, args=(n,)) for n in range(1, 5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [len(load_results(store, [b])) for b in boards_of(store, run)] == [25] * 4


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from synthetic import HOST, esp, result
from bench.store import Store
with Store.open(Path(sys.argv[1])) as store:
    board = store.add_board(store.begin_run("correctness", HOST), esp())
    for i in range(int(sys.argv[2])):
        store.add_result(board, result(f"case/{{i}}", detail="x" * 200))
        print(i + 1, flush=True)
"""


def writer(folder, results, before=""):
    text = before + WRITER.format(tests=str(Path(__file__).parent))
    return subprocess.Popen(
        [sys.executable, "-c", text, str(folder), str(results)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_two_benches_write_at_once(tmp_path):
    # Neither finds a store: both create it.
    writers = [writer(tmp_path, 150) for _ in range(2)]
    for process in writers:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert count(tmp_path) == 300


def test_sudden_death_loses_nothing_that_was_stored(tmp_path):
    process = writer(tmp_path, 100000)
    for _ in range(60):
        stored = int(process.stdout.readline())
    os.kill(process.pid, signal.SIGKILL)
    stored += len(process.stdout.read().splitlines())
    process.wait()
    process.stdout.close()
    process.stderr.close()
    assert stored >= 60
    assert count(tmp_path) in (stored, stored + 1)
    with Store.open(tmp_path) as store:
        assert store.query("PRAGMA integrity_check")[0][0] == "ok"
        assert load_run(store).verdict is None
        _, board = start(store)
        store.add_result(board, result())


def test_full_disk(tmp_path):
    with Store.open(tmp_path) as store:
        _, board = start(store)
        pages = store.query("PRAGMA page_count")[0][0]
        store.query(f"PRAGMA max_page_count = {pages + 10}")
        stored = 0
        with pytest.raises(BenchError, match=r"disk is full; what was stored before is safe"):
            for stored in range(10000):
                store.add_result(board, result(f"case/{stored}", detail="x" * 500))
        assert stored > 10
        assert store.query("SELECT count(*) FROM numerics")[0][0] == stored
        store.query("PRAGMA max_page_count = 100000")
        store.add_result(board, result("after"))
    assert count(tmp_path) == stored + 1


def test_write_error_of_the_system(tmp_path):
    # The system refuses to let any file grow: the write itself fails, in the middle of a page.
    limit = "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (500000, 500000))\n"
    process = writer(tmp_path, 100000, before=limit)
    out, errors = process.communicate(timeout=60)
    stored = len(out.splitlines())
    assert stored > 10
    assert "BenchError" in errors.splitlines()[-1]
    assert "cannot be written" in errors.splitlines()[-1]
    assert count(tmp_path) == stored


def add_version(monkeypatch, sql):
    known = database.migrations()
    monkeypatch.setattr(database, "migrations", lambda: [*known, sql])
    return len(known) + 1


def test_older_schema_is_brought_up_to_date(tmp_path, monkeypatch):
    with Store.open(tmp_path) as store:
        _, board = start(store)
        store.add_result(board, result())
    version = add_version(
        monkeypatch, "ALTER TABLE runs ADD COLUMN note TEXT;\nCREATE TABLE more (id INTEGER);\n"
    )
    assert count(tmp_path) == 1
    with Store.open(tmp_path) as store:
        assert store.query("PRAGMA user_version")[0][0] == version
        assert store.query("SELECT note FROM runs")[0][0] is None
        start(store)


def test_a_migration_that_fails_changes_nothing(tmp_path, monkeypatch):
    with Store.open(tmp_path) as store:
        _, board = start(store)
        store.add_result(board, result())
    with monkeypatch.context() as patch:
        add_version(patch, "CREATE TABLE half (id INTEGER);\nINSERT INTO missing VALUES (1);\n")
        with pytest.raises(BenchError, match="missing"):
            Store.open(tmp_path)
    with Store.open(tmp_path) as store:
        assert not store.query("SELECT 1 FROM sqlite_master WHERE name = 'half'")
        assert store.query("SELECT count(*) FROM numerics")[0][0] == 1


def test_two_benches_bring_a_store_up_to_date_at_once(tmp_path, monkeypatch):
    path = tmp_path / "bench.sqlite"
    real = database._version
    calls = []

    def other_bench_is_faster(connection, *arguments):
        seen = real(connection, *arguments)
        calls.append(seen)
        if len(calls) == 1:
            with monkeypatch.context() as patch:
                patch.setattr(database, "_version", real)
                Store.open(tmp_path).close()
        elif len(calls) == 2:
            # From here on nobody else may come in between.
            other = sqlite3.connect(path, timeout=0)
            with pytest.raises(sqlite3.OperationalError, match="locked"):
                other.execute("BEGIN IMMEDIATE")
            other.close()
        return seen

    monkeypatch.setattr(database, "_version", other_bench_is_faster)
    with Store.open(tmp_path) as store:
        start(store)
    assert calls == [0, len(database.migrations())]


def test_newer_schema_is_left_alone(tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        version = add_version(patch, "CREATE TABLE more (id INTEGER);\n")
        Store.open(tmp_path).close()
    before = (tmp_path / "bench.sqlite").read_bytes()
    for way in (Store.open, Store.read):
        with pytest.raises(BenchError, match=f"schema {version}, written by a newer bench"):
            way(tmp_path)
    assert (tmp_path / "bench.sqlite").read_bytes() == before


def test_files_of_something_else_are_left_alone(tmp_path):
    path = tmp_path / "bench.sqlite"
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE mine (id)")
    other.commit()
    other.close()
    with pytest.raises(BenchError, match="SQLite file of something else"):
        Store.open(tmp_path)
    path.write_bytes(b"not a database at all" * 100)
    with pytest.raises(BenchError, match="damaged or no SQLite file"):
        Store.open(tmp_path)


def test_folders_that_cannot_be_written(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(BenchError, match=r"results folder .*file: .*choose another one"):
        Store.open(tmp_path / "file")
    with pytest.raises(BenchError, match="results folder"):
        Store.open(tmp_path / "file" / "below")
    (tmp_path / "bench.sqlite").mkdir()
    with pytest.raises(BenchError, match="not writable"):
        Store.open(tmp_path)


READER = """
import os, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from synthetic import HOST
from bench.store import Store, database
from bench.store.results import boards_of, load_results
# All modules are loaded while they can be: Python itself may lie where the other user cannot look.
database.migrations()
if os.geteuid() == 0:
    os.setuid(65534)
with Store.read(Path(sys.argv[1])) as store:
    print(len(load_results(store, boards_of(store, 1))))
    store.begin_run("nightly", HOST)
"""


def test_a_store_that_nobody_may_write_can_be_read(tmp_path):
    folder = tmp_path / "results"
    with Store.open(folder) as store:
        _, board = start(store)
        store.add_result(board, result())
    (folder / "bench.sqlite").chmod(0o444)
    folder.chmod(0o555)
    # pytest's folders are for their owner alone, and root may write anything: another user reads.
    for above in tmp_path.parents[:3]:
        if above.owner() == folder.owner() and above.name.startswith(("pytest", "test_")):
            above.chmod(0o755)
    tmp_path.chmod(0o755)
    try:
        text = READER.format(tests=str(Path(__file__).parent))
        ran = subprocess.run(
            [sys.executable, "-c", text, str(folder)], capture_output=True, text=True
        )
    finally:
        folder.chmod(0o755)
    assert ran.stdout == "1\n", ran.stderr
    assert "not writable: change its permissions" in ran.stderr.splitlines()[-1]


def test_another_bench_that_hangs(tmp_path, monkeypatch):
    monkeypatch.setattr(database, "BUSY_SECONDS", 0.2)
    with Store.open(tmp_path) as first, Store.open(tmp_path) as second:
        _, board = start(second)
        first.query("BEGIN IMMEDIATE")
        with pytest.raises(BenchError, match="another bench has kept it locked"):
            second.add_result(board, result())
        first.query("ROLLBACK")
        second.add_result(board, result())


def test_no_results_yet(tmp_path):
    with pytest.raises(BenchError, match="no results in"):
        Store.read(tmp_path)
    assert not list(tmp_path.iterdir())
    with Store.open(tmp_path) as store:
        assert load_runs(store) == []
        with pytest.raises(BenchError, match="no runs in"):
            load_run(store)
        with pytest.raises(BenchError, match="no run 7 in"):
            load_run(store, 7)


def test_result_as_json():
    record = wrong("pairs/a", 7).to_json()
    assert json.loads(json.dumps(record)) == record
    assert record["histogram"] == {"1": 30, "3": 6, "-2": 4}
    assert record["first_bad_index"] == 7


def test_a_board_that_never_answered_is_kept(tmp_path):
    with Store.open(tmp_path) as store:
        silent = replace(esp(), board_id="", firmware="", hello={})
        run, board = start(store, silent)
        store.add_result(board, result(verdict="not-run", elements=0, detail="silent"))
        store.add_board(run, host())
        assert load_boards(store, [board])[board].hello == {}
