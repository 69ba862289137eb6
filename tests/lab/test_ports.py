"""Finding boards among serial ports."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from serial.tools.list_ports_common import ListPortInfo

from bench.errors import BenchError
from bench.lab.ports import (
    find_ports,
    follow,
    looked_for,
    port_of,
    usb_serial_number,
    wiring_of,
)
from bench.lab.wiring import Wiring


def _port(device: str, vid: int | None, pid: int | None, number: str | None) -> ListPortInfo:
    info = ListPortInfo(device)
    info.vid, info.pid, info.serial_number = vid, pid, number
    return info


_UART = _port("/dev/ttyUSB0", 0x10C4, 0xEA60, "0001")
_USB = _port("/dev/ttyACM3", 0x303A, 0x1001, "7C:DF:A1:00:00:01")
_OTHER = _port("/dev/ttyACM0", 0x2341, 0x0043, "arduino")
_PLAIN = _port("/dev/ttyS0", None, None, None)
_ALL = [_UART, _USB, _OTHER, _PLAIN]


def test_only_ports_that_may_be_boards_are_found() -> None:
    found = find_ports(lambda: _ALL)
    assert [(port.device, port.wiring) for port in found] == [
        ("/dev/ttyACM3", Wiring.USB_JTAG),
        ("/dev/ttyUSB0", Wiring.UART),
    ]


def test_a_board_is_found_by_its_mac_however_it_is_written() -> None:
    for mac in ("7c:df:a1:00:00:01", "7CDFA1000001", "7c-df-a1-00-00-01"):
        assert port_of(mac, lambda: _ALL) == "/dev/ttyACM3"


def test_a_missing_board_names_those_that_are_there() -> None:
    with pytest.raises(BenchError) as caught:
        port_of("7c:df:a1:00:00:02", lambda: _ALL)
    assert str(caught.value) == (
        "board 7c:df:a1:00:00:02 is not connected (boards that are: 7C:DF:A1:00:00:01 at "
        "/dev/ttyACM3, 0001 at /dev/ttyUSB0): plug it in, or correct its serial number"
    )


def test_a_board_is_followed_to_its_new_name() -> None:
    moved = _port("/dev/ttyACM4", 0x303A, 0x1001, "7C:DF:A1:00:00:01")
    views: Iterator[list[ListPortInfo]] = iter([[_UART], [_UART], [_UART, moved]])
    assert follow("7c:df:a1:00:00:01", comports=lambda: next(views)) == "/dev/ttyACM4"


def test_a_board_that_stays_away_is_reported() -> None:
    with pytest.raises(BenchError, match="is not connected"):
        follow("7c:df:a1:00:00:01", timeout=0, comports=lambda: [_UART])


def test_the_wiring_follows_from_the_usb_ids() -> None:
    assert wiring_of("/dev/ttyACM3", lambda: _ALL) is Wiring.USB_JTAG
    assert wiring_of("/dev/ttyUSB0", lambda: _ALL) is Wiring.UART
    assert wiring_of("rfc2217://lab:4000", lambda: _ALL) is Wiring.UART


def test_the_serial_number_of_a_port() -> None:
    assert usb_serial_number("/dev/ttyACM3", lambda: _ALL) == "7C:DF:A1:00:00:01"
    assert usb_serial_number("/dev/ttyS0", lambda: _ALL) is None
    assert usb_serial_number("rfc2217://lab:4000", lambda: _ALL) is None


def test_what_was_looked_for() -> None:
    assert "USB-Serial/JTAG (303a:1001)" in looked_for(lambda: [_PLAIN])
    assert looked_for(lambda: [_PLAIN]).endswith("(/dev/ttyS0)")
    assert looked_for(lambda: []).endswith("(none at all)")
