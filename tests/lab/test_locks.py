"""One user a board, across processes, and no lock that outlives its process."""

from __future__ import annotations

import getpass
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.lab.locks import BoardBusy, BoardLock, lock_board, lock_first

_HOLD = """
import sys, time
from pathlib import Path
from bench.lab.locks import BoardLock
with BoardLock(sys.argv[1], folder=Path(sys.argv[2])):
    print("locked", flush=True)
    time.sleep(60)
"""
_MAC = "7c:df:a1:00:00:01"


@pytest.fixture
def holder(tmp_path: Path):
    process = subprocess.Popen(
        [sys.executable, "-c", _HOLD, _MAC, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "locked\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_another_process_is_named(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    with pytest.raises(BoardBusy) as caught:
        BoardLock(_MAC.upper(), folder=tmp_path).acquire()
    message = str(caught.value)
    assert message.startswith(f"board {_MAC} is in use by process {holder.pid} of ")
    assert message.endswith("wait for it, end it, or take another board")


def test_a_killed_process_leaves_no_lock(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    holder.send_signal(signal.SIGKILL)
    holder.wait()
    with BoardLock(_MAC, folder=tmp_path):
        pass


def test_other_boards_are_free(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    others = ["7c:df:a1:00:00:02", "rfc2217://127.0.0.1:4000"]
    locks = [BoardLock(other, folder=tmp_path) for other in others]
    for lock in locks:
        lock.acquire()
    for lock in locks:
        lock.release()


def test_the_first_free_board(holder: subprocess.Popen[str], tmp_path: Path) -> None:
    with lock_first([_MAC, "other"], folder=tmp_path) as lock:
        assert lock.identity == "other"
        with pytest.raises(BoardBusy, match=f"{_MAC} is in use.*; board other is in use"):
            lock_first([_MAC, "other"], folder=tmp_path)


def test_two_names_of_one_device_are_one_board(tmp_path: Path) -> None:
    (tmp_path / "device").touch()
    (tmp_path / "by-id").symlink_to(tmp_path / "device")
    with (
        BoardLock(str(tmp_path / "by-id"), folder=tmp_path / "locks"),
        pytest.raises(BoardBusy),
    ):
        BoardLock(str(tmp_path / "device"), folder=tmp_path / "locks").acquire()


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("rfc2217://localhost:4000", "rfc2217://127.0.0.1:4000", True),
        ("RFC2217://LocalHost:4000/", "rfc2217://127.0.0.1:4000?logging=debug", True),
        ("socket://bench.lan:4000", "SOCKET://bench.LAN:4000/", True),
        ("rfc2217://localhost:4000", "rfc2217://localhost:4001", False),
        ("rfc2217://localhost:4000", "rfc2217://bench.lan:4000", False),
        ("rfc2217://notlocalhost:4000", "rfc2217://not127.0.0.1:4000", False),
        ("rfc2217://localhost:door", "rfc2217://127.0.0.1:door", False),  # none can be opened
        ("rfc2217://[::1]:4000", "rfc2217://[::2]:4000", False),
    ],
)
def test_urls_are_compared_by_where_they_lead(one: str, other: str, same: bool) -> None:
    assert (BoardLock(one).identity == BoardLock(other).identity) == same


@pytest.mark.parametrize("taken", ["rfc2217://127.0.0.1:4000", _MAC])
def test_a_board_is_locked_by_its_port_and_its_mac(tmp_path: Path, taken: str) -> None:
    with (
        lock_board("rfc2217://localhost:4000", _MAC, folder=tmp_path),
        pytest.raises(BoardBusy, match=f"board {taken} is in use by process {os.getpid()} "),
    ):
        BoardLock(taken, folder=tmp_path).acquire()
    BoardLock(taken, folder=tmp_path).acquire()


def test_of_a_board_in_use_neither_lock_is_kept(
    holder: subprocess.Popen[str], tmp_path: Path
) -> None:
    with pytest.raises(BoardBusy), lock_board("/dev/ttyNONE", _MAC, folder=tmp_path):
        pass
    with lock_board("/dev/ttyNONE", folder=tmp_path):
        pass


def test_a_released_board_can_be_taken_by_another(tmp_path: Path) -> None:
    one, other = (BoardLock(_MAC, folder=tmp_path) for _ in range(2))
    one.acquire()
    with pytest.raises(BoardBusy, match=f"in use by process {os.getpid()} "):
        other.acquire()
    one.release()
    one.release()  # does no harm
    with other, pytest.raises(BoardBusy):
        one.acquire()


def test_a_folder_that_cannot_be_used_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BenchError, match=r"cannot lock board .* in .*file .*: make that folder"):
        BoardLock(_MAC, folder=tmp_path / "file").acquire()


def test_a_user_without_a_name_is_known_by_number(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nameless() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr(getpass, "getuser", nameless)
    with (
        BoardLock("/dev/ttyX", folder=tmp_path),
        pytest.raises(BoardBusy, match=f"process {os.getpid()} of {os.getuid()} since"),
    ):
        BoardLock("/dev/ttyX", folder=tmp_path).acquire()
