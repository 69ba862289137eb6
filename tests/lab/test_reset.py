"""Every way to restart a board."""

from __future__ import annotations

import os
import pty
from collections.abc import Callable

import pytest
from esptool.targets import CHIP_DEFS
from virtual_boards import answers_as_loader, banner, read_until

from bench.lab.chatter import captured
from bench.lab.image import BuildFolder
from bench.lab.reset import Command, ResetFailed, RtsDtr, UsbJtag, Watchdog, line_reset
from bench.lab.serial_port import open_serial
from bench.lab.virtual_s3 import VirtualS3
from bench.lab.wiring import Wiring

MakeBoard = Callable[..., VirtualS3]


@pytest.mark.parametrize("wiring", list(Wiring))
def test_line_resets_restart_the_application(
    make_board: MakeBoard, build: BuildFolder, wiring: Wiring
) -> None:
    board = make_board(flashed=build, wiring=wiring)
    assert board.wait_running()
    assert line_reset(wiring).reset(board.url) == board.url
    assert board.wait_running()
    assert (board.counters.boots, board.counters.downloads) == (2, 0)


@pytest.mark.parametrize("wiring", list(Wiring))
def test_line_resets_leave_the_loader(
    make_board: MakeBoard, build: BuildFolder, wiring: Wiring
) -> None:
    board = make_board(flashed=build, wiring=wiring)
    before = {Wiring.UART: "default-reset", Wiring.USB_JTAG: "usb-reset"}[wiring]
    with captured(), open_serial(board.url) as port:
        CHIP_DEFS["esp32s3"](port).connect(before)
        port.dtr = True  # asks for download mode again
        line_reset(wiring).pulse(port)
        read_until(port, banner(board, build))


def test_the_wiring_names_the_strategy() -> None:
    assert type(line_reset(Wiring.UART)) is RtsDtr
    assert type(line_reset(Wiring.USB_JTAG)) is UsbJtag


def test_the_watchdog_leaves_the_loader(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build)
    with captured(), open_serial(board.url) as port:
        CHIP_DEFS["esp32s3"](port).connect()
    assert answers_as_loader(board)
    Watchdog().reset(board.url)
    assert board.wait_running()


def test_the_watchdog_needs_the_loader(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board("silent", flashed=build)
    with pytest.raises(
        ResetFailed, match=r"no loader answers at .*: the watchdog restarts a board"
    ):
        Watchdog().reset(board.url)


def test_the_command_is_sent() -> None:
    sent: list[str] = []
    assert Command(lambda: sent.append("reset")).reset("anywhere") == "anywhere"
    assert sent == ["reset"]


def test_a_port_without_lines_says_so() -> None:
    master, slave = pty.openpty()
    try:
        with pytest.raises(ResetFailed, match=r"has no modem lines to reset with .*: press the"):
            RtsDtr().reset(os.ttyname(slave))
    finally:
        os.close(master)
        os.close(slave)
