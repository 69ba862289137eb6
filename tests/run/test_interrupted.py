"""A run that ends in its middle: what was finished is kept, the board is gone, the store opens."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from bench_process import alive, children, on_a_small_disk, until

# A line so slow that the run takes minutes.
SLOW_RUN = ("run", "--case", "all-pairs/*", "--case", "size/*", "--faults", "baud=460800")


def attempts(folder: Path) -> int:
    try:
        with sqlite3.connect(f"file:{folder / 'bench.sqlite'}?mode=ro", uri=True) as database:
            return int(database.execute("select count(*) from attempts").fetchone()[0])
    except sqlite3.OperationalError:
        return 0


def verdicts(folder: Path) -> list[str]:
    with sqlite3.connect(folder / "bench.sqlite") as database:
        assert database.execute("pragma integrity_check").fetchone() == ("ok",)
        return [row[0] for row in database.execute("select verdict from run_ends")]


@pytest.fixture
def run_under_way(tmp_path: Path) -> Iterator[tuple[subprocess.Popen[str], list[int]]]:
    """A run with some attempts in its store, and the processes it started."""
    command = [sys.executable, "-m", "bench", *SLOW_RUN, "--results", str(tmp_path)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert until(lambda: attempts(tmp_path) >= 3 or process.poll() is not None)
        assert process.poll() is None, process.communicate()
        started = children(process.pid)
        assert started, "the run has no runner process"
        yield process, started
    finally:
        process.kill()
        process.communicate()


def test_kill_leaves_nothing_running_and_loses_nothing(
    run_under_way: tuple[subprocess.Popen[str], list[int]], tmp_path: Path
) -> None:
    process, started = run_under_way
    kept = attempts(tmp_path)
    process.send_signal(signal.SIGKILL)
    process.wait()
    assert until(lambda: not any(map(alive, started)))
    assert verdicts(tmp_path) == []  # never finished, and says so
    assert attempts(tmp_path) >= kept >= 3


def test_interrupt_ends_the_run_in_one_line(
    run_under_way: tuple[subprocess.Popen[str], list[int]], tmp_path: Path
) -> None:
    process, started = run_under_way
    kept = attempts(tmp_path)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert f"bench: interrupted: what was finished is kept in {tmp_path}" in stderr
    assert "Traceback" not in stderr
    assert not any(map(alive, started))
    assert verdicts(tmp_path) == ["interrupted"]
    assert attempts(tmp_path) >= kept


def test_full_disk_ends_the_run_in_one_line(tmp_path: Path) -> None:
    # The store outgrows the disk in the middle of the run.
    done = on_a_small_disk("run", "--results", tmp_path, "--case", "size/*", "--case", "align/*")
    assert str(tmp_path) in done.refusal()
    assert attempts(tmp_path) > 0 and verdicts(tmp_path) == []
