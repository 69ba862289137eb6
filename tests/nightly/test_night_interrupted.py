"""A night that ends in its middle: all workers end, nothing stays behind, results are kept."""

from __future__ import annotations

import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

from bench_process import alive, children, on_a_small_disk, until
from night import KERNELS, served

from bench.lab.locks import BoardLock


def query(folder: Path, sql: str) -> list[tuple[object, ...]]:
    try:
        with sqlite3.connect(f"file:{folder / 'bench.sqlite'}?mode=ro", uri=True) as database:
            return database.execute(sql).fetchall()
    except sqlite3.OperationalError:
        return []


def attempts(folder: Path) -> int:
    return sum(int(str(row[0])) for row in query(folder, "select count(*) from attempts"))


def test_interrupt_ends_all_workers(tmp_path: Path) -> None:
    with served(KERNELS / "hangs.cpp") as hangs:
        command = [
            *(sys.executable, "-m", "bench", "nightly", "--results", str(tmp_path)),
            *("--board", f"hangs={hangs}", "--board", "works=host"),
            *("--case", "size/*", "--case", "grid/*"),  # most of a minute, if nobody interrupts
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
        assert f"bench: interrupted: what was finished is kept in {tmp_path}" in stderr
        assert "Traceback" not in stdout + stderr
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
    # The store outgrows the disk in the middle of the night.
    boards = ("--board", "a=host", "--board", "b=host")
    done = on_a_small_disk("nightly", "--results", tmp_path, *boards, "--case", "size/*")
    assert str(tmp_path) in done.refusal()
    assert attempts(tmp_path) > 0
