"""pytest-embedded's own services with the bench's link on the same port, in a pytest of its own."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from esptool.targets import CHIP_DEFS
from esptool.util import FatalError
from pytest_embedded_idf.serial import IdfSerial
from virtual_boards import answers_as_loader, is_free

from bench.lab.build import build_host
from bench.lab.chatter import captured
from bench.lab.embedded import LinkSerial
from bench.lab.flash_errors import BoardSilent
from bench.lab.image import BuildFolder
from bench.lab.locks import BoardLock
from bench.lab.serial_port import open_serial
from bench.lab.virtual_s3 import VirtualS3

MakeBoard = Callable[..., VirtualS3]

_CONFTEST = """
import pytest
from bench.lab.embedded import use_link_serial

@pytest.fixture
def _fixture_classes_and_options(_fixture_classes_and_options):
    return use_link_serial(_fixture_classes_and_options)
"""
_TEST = """
import pytest

def test_link_and_console_share_the_port(dut):
    assert dut.serial.flashed
    hello = dut.serial.link.hello
    assert (hello.target, hello.firmware) == ("esp32s3", {firmware!r})
    dut.serial.link.write("ram", 64, bytes(range(256)) * 20)
    assert dut.serial.link.read("ram", 64, 5120) == bytes(range(256)) * 20
    dut.serial.hard_reset()
    dut.expect_exact("boot:0x8 (SPI_FAST_FLASH_BOOT)", timeout=10)
    dut.expect(r"bench runner \\w+ ready", timeout=10)
    assert dut.serial.link.read("ram", 64, 2) == bytes(2)
    assert dut.serial.dump_flash(address="0x10000", size="0x4")[0] == 0xE9
    dut.expect_exact("ready", timeout=10)
    dut.serial.link.ping()

def test_the_next_one_finds_it_flashed(dut):
    assert not dut.serial.flashed
    assert dut.serial.link.hello.firmware == {firmware!r}

@pytest.mark.parametrize("port", [{wrong!r}], indirect=True)
def test_wrong_chip(dut):
    pass

@pytest.mark.parametrize("port", [{corrupt!r}], indirect=True)
def test_corrupt(dut):
    pass

@pytest.mark.parametrize("port", [{locked!r}], indirect=True)
def test_locked(dut):
    pass
"""


def test_pytest_embedded_flashes_talks_and_fails(
    make_board: MakeBoard,
    build: BuildFolder,
    make_build: Callable[[bytes], BuildFolder],
    tmp_path: Path,
) -> None:
    runner = build_host().runner
    board, wrong, corrupt, locked = (
        make_board(*faults, flashed=build, runner=runner, mac=f"7c:df:a1:00:00:0{index}")
        for index, faults in enumerate([(), ("wrong-chip",), ("corrupt",), ()])
    )
    changed = make_build(b"firmware onf")
    (tmp_path / "conftest.py").write_text(_CONFTEST)
    (tmp_path / "test_board.py").write_text(
        _TEST.format(
            firmware=changed.elf_hash, wrong=wrong.url, corrupt=corrupt.url, locked=locked.url
        )
    )
    with BoardLock(locked.url):
        result = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-p", "no:cacheprovider"),
                *("--embedded-services", "esp,idf", "--target", "esp32s3", "--port", board.url),
                *("--app-path", str(changed.folder.parent), "--build-dir", changed.folder.name),
                *("--root-logdir", str(tmp_path), "--cache-dir", str(tmp_path)),
                *("--rootdir", str(tmp_path), str(tmp_path)),
            ],
            capture_output=True,
            text=True,
            timeout=100,
            cwd=tmp_path,
        )
    output = result.stdout
    assert re.search(r"=== 2 passed, .*3 errors in ", output), output
    assert board.counters.blocks > 0
    assert f"WrongChip: {wrong.url}: the chip there is an ESP32, not an ESP32-S3" in output
    assert wrong.wait_running()  # left reset
    assert f"WriteCorrupt: {corrupt.url}: the flash holds other data than was written" in output
    assert not answers_as_loader(corrupt)
    assert f"BoardBusy: board {locked.url} is in use by process" in output
    assert locked.counters.downloads == 0
    assert all(is_free(each) for each in (board, wrong, corrupt, locked))


def test_a_failed_connection_leaves_the_board_reset(
    make_board: MakeBoard, build: BuildFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = make_board(flashed=build)

    def fail(self: LinkSerial, app: object = None) -> None:
        CHIP_DEFS["esp32s3"](self.proc).connect()
        self.proc.close()  # as esptool does
        raise FatalError("Failed to connect to ESP32-S3: No serial data received.")

    monkeypatch.setattr(IdfSerial, "flash", fail)
    serial = LinkSerial.__new__(LinkSerial)
    serial.port, serial.retries = board.url, []
    with (
        captured(),
        open_serial(board.url) as serial.proc,
        pytest.raises(BoardSilent, match="nothing comes from the board"),
    ):
        serial.flash()
    assert board.wait_running()
    assert board.counters.downloads == 1
