"""A run that ends in its middle: what was finished is kept, the board is gone, the store opens."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

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


def children(pid: int) -> list[int]:
    found = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in map(int, (task / "children").read_text().split()):
            found += [child, *children(child)]
    return found


def alive(pid: int) -> bool:
    try:
        return "zombie" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def until(condition: Callable[[], bool]) -> bool:
    """Wait for a condition, with patience for a busy machine."""
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


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
    assert "bench: interrupted" in stderr and "Traceback" not in stderr
    assert not any(map(alive, started))
    assert verdicts(tmp_path) == ["interrupted"]
    assert attempts(tmp_path) >= kept


def test_full_disk_ends_the_run_in_one_line(tmp_path: Path) -> None:
    limit = 300_000  # bytes a file may have; the store outgrows it in the middle of the run

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "run", "--results", str(tmp_path)),
            *("--case", "size/*", "--case", "align/*"),
        ],
        capture_output=True,
        text=True,
        preexec_fn=small_disk,
        check=False,
    )
    assert done.returncode == 2, done.stdout
    assert "Traceback" not in done.stderr
    errors = [line for line in done.stderr.splitlines() if line.startswith("bench: error:")]
    assert len(errors) == 1 and str(tmp_path) in errors[0]
    assert attempts(tmp_path) > 0 and verdicts(tmp_path) == []
