"""``bench board`` as users run it: exit codes, one line on trouble, and nothing left behind."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import serial
from virtual_boards import fill, is_free, read_until

from bench.lab import rfc2217
from bench.lab.build import build_host
from bench.lab.image import BuildFolder
from bench.lab.locks import BoardLock
from bench.lab.reset import RtsDtr
from bench.lab.serial_port import open_serial
from bench.lab.virtual_s3 import VirtualS3

MakeBoard = Callable[..., VirtualS3]
_MAIN = "from bench.cli import main; main()"


def _bench(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", _MAIN, "board", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=60,
    )


@pytest.fixture
def process(
    tmp_path: Path, application: Path
) -> Iterator[Callable[..., tuple[subprocess.Popen[str], str]]]:
    """Start ``bench board virtual-s3`` and return it with its URL."""
    started = []

    def start(*options: object) -> tuple[subprocess.Popen[str], str]:
        board = subprocess.Popen(
            [
                *(sys.executable, "-c", _MAIN, "board"),
                *("virtual-s3", "--flash-file", str(tmp_path / "flash.bin")),
                *("--runner", str(application), *map(str, options)),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(board)
        assert board.stdout is not None
        return board, board.stdout.readline().strip()

    yield start
    for board in started:
        board.kill()
        board.communicate()


def test_flash_writes_once(
    make_board: MakeBoard, build: BuildFolder, make_build: Callable[[bytes], BuildFolder]
) -> None:
    board = make_board(flashed=make_build(b"what was there"), runner=build_host().runner)
    arguments = ("flash", "--port", board.url, "--build", build.folder, "--mac", board.mac)
    first = _bench(*arguments)
    assert first.returncode == 0, first.stderr
    assert first.stdout.startswith(f"flashed {build.elf_hash[:12]} on board {board.mac}: ")
    assert first.stdout.endswith(", verified, and the board runs it\n")
    written = board.counters.blocks
    again = _bench(*arguments)
    assert again.stdout == f"nothing to do: the board runs {build.elf_hash[:12]} already\n"
    assert board.counters.blocks == written > 0


def test_trouble_is_one_line_and_status_2(
    make_board: MakeBoard, build: BuildFolder, make_build: Callable[[bytes], BuildFolder]
) -> None:
    old = make_build(b"what was there")
    board = make_board("wrong-mac", flashed=old, runner=build_host().runner)
    result = _bench("flash", "--port", board.url, "--build", build.folder, "--mac", board.mac)
    assert (result.returncode, result.stdout) == (2, "")
    assert [line for line in result.stderr.splitlines() if line.strip()] == [
        f"bench: error: {board.url}: this is board 7c:df:a1:00:00:fe, not {board.mac}; nothing was "
        "written: correct the port or the MAC"
    ]
    assert is_free(board)


def test_another_board_is_refused_though_it_runs_the_build(
    make_board: MakeBoard, build: BuildFolder
) -> None:
    board = make_board(flashed=build, runner=build_host().runner)
    asked = "7c:df:a1:00:00:02"
    result = _bench("flash", "--port", board.url, "--build", build.folder, "--mac", asked)
    assert (result.returncode, result.stdout) == (2, "")
    assert [line for line in result.stderr.splitlines() if line.strip()] == [
        f"bench: error: {board.url}: this is board {board.mac}, not {asked}; nothing was written: "
        "correct the port or the MAC"
    ]
    assert board.counters.blocks == 0


def test_what_is_no_mac_is_no_other_board(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build)
    result = _bench("flash", "--port", board.url, "--build", build.folder, "--mac", "banana")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == (
        "bench: error: 'banana' is no MAC: write six bytes as aa:bb:cc:dd:ee:ff\n"
    )
    assert (board.counters.downloads, board.counters.blocks) == (0, 0)


def test_a_damaged_build_is_one_line_and_nothing_is_written(
    make_board: MakeBoard, build: BuildFolder, tmp_path: Path
) -> None:
    board = make_board()
    folder = Path(shutil.copytree(build.folder, tmp_path / "copy"))
    listing = folder / "flasher_args.json"
    listing.write_text(listing.read_text().replace('"0x10000": ', '"-0x1000": '))
    result = _bench("flash", "--port", board.url, "--build", folder)
    assert (result.returncode, result.stdout) == (2, "")
    lines = [line for line in result.stderr.splitlines() if line.strip()]
    assert len(lines) == 1
    assert "bench.bin cannot be written at -0x1000, which is no multiple of" in lines[0]
    assert (board.counters.downloads, board.counters.blocks) == (0, 0)


def test_force_flashes_what_runs_already(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build, runner=build_host().runner)
    result = _bench("flash", "--port", board.url, "--build", build.folder, "--force")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"flashed {build.elf_hash[:12]} on board {board.mac}: ")
    assert board.counters.blocks > 0


@pytest.mark.parametrize("held", ["port", "mac"])
def test_port_and_mac_keep_others_out(make_board: MakeBoard, build: BuildFolder, held: str) -> None:
    board = make_board(flashed=build)
    by_name = board.url.replace("127.0.0.1", "localhost")
    lock = {"port": by_name, "mac": board.mac.upper()}[held]
    with BoardLock(lock):
        result = _bench(
            *("flash", "--port", board.url, "--build", build.folder, "--mac", board.mac)
        )
    name = {"port": board.url, "mac": board.mac}[held]
    assert result.returncode == 2
    assert f"board {name} is in use by process {os.getpid()} of " in result.stderr
    assert (board.counters.downloads, board.counters.blocks) == (0, 0)


def test_a_locked_board_is_left_alone(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board()
    with BoardLock(board.url):
        result = _bench("reset", "--port", board.url)
    assert result.returncode == 2
    assert f"board {board.url} is in use by process {os.getpid()} of " in result.stderr
    assert board.counters.downloads == 0


def test_reset_restarts_the_application(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build)
    assert board.wait_running()
    result = _bench("reset", "--port", board.url)
    assert (result.returncode, result.stdout) == (0, f"reset the board at {board.url}\n")
    assert board.wait_running()
    assert board.counters.boots == 2


def test_the_virtual_board_fails_on_demand(
    process: Callable[..., tuple[subprocess.Popen[str], str]], build: BuildFolder
) -> None:
    board, url = process("--mac", "02:00:00:00:00:07", "--fault", "wrong-mac", "--fault", "no-sync")
    assert url.startswith("rfc2217://127.0.0.1:")
    with open_serial(url) as port:
        RtsDtr().pulse(port)
        read_until(port, b"invalid header")
    board.send_signal(signal.SIGINT)
    _, errors = board.communicate(timeout=10)
    assert "no bootloader in flash" in errors
    assert "Traceback" not in errors


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--fault", "fire"], "unknown fault 'fire'"),
        (["--fault", "hang*0"], "fault 'hang*0': '*0' is never"),
        (["--mac", "me"], "'me' is no MAC"),
        (["--flash-file", "/proc/flash.bin"], "cannot use /proc/flash.bin as flash"),
        (["--runner", "/nowhere"], "'/nowhere' does not exist"),
        (["--runner", "/etc/passwd"], "'/etc/passwd' is not executable"),
    ],
)
def test_wrong_options_are_named(
    application: Path, tmp_path: Path, options: list[str], words: str
) -> None:
    defaults = ["--flash-file", str(tmp_path / "flash.bin"), "--runner", str(application)]
    result = _bench("virtual-s3", *defaults, *options)
    assert result.returncode == 2
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_kill_9_leaves_nothing(
    process: Callable[..., tuple[subprocess.Popen[str], str]],
    build: BuildFolder,
    tmp_path: Path,
) -> None:
    fill(tmp_path / "flash.bin", build)
    board, url = process()
    with rfc2217.Serial(url, timeout=10) as port:
        RtsDtr().pulse(port)
        read_until(port, b"esp32s3\r\n")
        children = _children(board.pid)
        assert len(children) == 1
        board.kill()
        board.wait()
        with pytest.raises(serial.SerialException):
            port.read(1)
    deadline = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < deadline, "the application outlived its board"
        time.sleep(0.01)
    _, url = process("--port", url.rpartition(":")[2])  # port and flash are free
    with open_serial(url) as port:
        RtsDtr().pulse(port)
        read_until(port, f"application {build.elf_hash} 7c:df:a1:00:00:01 esp32s3".encode())


def _children(pid: int) -> list[int]:
    return [
        int(child)
        for task in Path(f"/proc/{pid}/task").iterdir()
        for child in (task / "children").read_text().split()
    ]
