"""A night that ends in its middle: all workers end, nothing stays behind, results are kept."""

from __future__ import annotations

import resource
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from night import KERNELS, served

from bench.lab.locks import BoardLock


def until(condition: Callable[[], bool]) -> bool:
    """Wait for a condition, with patience for a busy machine."""
    for _ in range(600):
        if condition():
            return True
        time.sleep(0.1)
    return False


def query(folder: Path, sql: str) -> list[tuple[object, ...]]:
    try:
        with sqlite3.connect(f"file:{folder / 'bench.sqlite'}?mode=ro", uri=True) as database:
            return database.execute(sql).fetchall()
    except sqlite3.OperationalError:
        return []


def attempts(folder: Path) -> int:
    return sum(int(str(row[0])) for row in query(folder, "select count(*) from attempts"))


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


def test_interrupt_ends_all_workers(tmp_path: Path) -> None:
    with served(KERNELS / "hangs.cpp") as hangs:
        command = [
            *(sys.executable, "-m", "bench", "nightly", "--results", str(tmp_path)),
            *("--board", f"hangs={hangs}", "--board", "works=host", "--case", "size/*"),
        ]
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            both = "select count(*) = 2 from run_boards"
            assert until(
                lambda: (
                    (attempts(tmp_path) >= 3 and query(tmp_path, both) == [(1,)])
                    or process.poll() is not None
                )
            )
            time.sleep(0.5)  # let it hang
            assert process.poll() is None, process.communicate()
            started = children(process.pid)
            assert started, "the night has no runner process"
            kept = attempts(tmp_path)
            process.send_signal(signal.SIGINT)
            stdout, stderr = process.communicate(timeout=60)
        finally:
            process.kill()
            process.communicate()
        assert process.returncode == 130, stderr
        assert "bench: interrupted" in stderr and "Traceback" not in stdout + stderr
        assert not any(map(alive, started))
        assert query(tmp_path, "select verdict from run_ends") == [("interrupted",)]
        assert attempts(tmp_path) >= kept
        # The board that hung was waited for, and got no second try.
        said = query(
            tmp_path,
            "select n.detail from numerics n join attempts a on a.id = n.attempt_id join"
            " run_boards b on b.id = a.run_board_id where b.name = 'hangs' order by n.id",
        )
        assert len(said) == 1, said
        assert "no answer to RUN_KERNEL" in str(said[0])
        with BoardLock(hangs):
            pass  # nobody holds the board any more


def test_full_disk_ends_the_night_in_one_line(tmp_path: Path) -> None:
    limit = 300_000  # bytes a file may have; the store outgrows it in the middle of the night

    def small_disk() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))

    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "nightly", "--results", str(tmp_path)),
            *("--board", "a=host", "--board", "b=host", "--case", "size/*"),
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
    assert attempts(tmp_path) > 0
