"""Which serial ports may be boards, and which port is a given board's now?

A port's name says little: it changes with the order of plugging in, and with every reset of a chip
that has its USB within itself. A board is known by its USB serial number, which for the chip's own
USB-Serial/JTAG is its MAC.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from serial.tools import list_ports

from bench.errors import BenchError
from bench.lab.wiring import Wiring

ListPorts = Callable[[], Iterable[Any]]

# USB ids under which ESP32-S3 boards show up: of the chip itself, and of the usual bridges.
USB_JTAG = (0x303A, 0x1001)
_BRIDGES = {
    (0x10C4, 0xEA60): "CP210x",
    (0x10C4, 0xEA71): "CP2108",
    (0x1A86, 0x7522): "CH340",
    (0x1A86, 0x7523): "CH340",
    (0x1A86, 0x55D3): "CH343",
    (0x1A86, 0x55D4): "CH9102",
    (0x0403, 0x6001): "FT232",
    (0x0403, 0x6010): "FT2232",
    (0x0403, 0x6014): "FT232H",
    (0x0403, 0x6015): "FT231X",
}


@dataclass(frozen=True)
class FoundPort:
    """A port that may be a board's.

    Attributes:
        device: Its name now.
        serial_number: USB serial number, None if the adapter has none.
        wiring: How a board behind it is reset.
        adapter: What it is, for people.
    """

    device: str
    serial_number: str | None
    wiring: Wiring
    adapter: str


def find_ports(comports: ListPorts = list_ports.comports) -> list[FoundPort]:
    """Return the serial ports that may be ESP32-S3 boards, by name."""
    found = []
    for port in sorted(comports(), key=lambda port: str(port.device)):
        ids = (port.vid, port.pid)
        if ids == USB_JTAG:
            found.append(
                FoundPort(port.device, port.serial_number, Wiring.USB_JTAG, "USB-Serial/JTAG")
            )
        elif ids in _BRIDGES:
            found.append(FoundPort(port.device, port.serial_number, Wiring.UART, _BRIDGES[ids]))
    return found


def looked_for(comports: ListPorts = list_ports.comports) -> str:
    """Say what :func:`find_ports` looked for and what there was, for an error's text."""
    there = ", ".join(str(port.device) for port in comports()) or "none at all"
    names = ", ".join(sorted({"USB-Serial/JTAG (303a:1001)", *_BRIDGES.values()}))
    return f"looked for {names} among the serial ports of this machine ({there})"


def wiring_of(url: str, comports: ListPorts = list_ports.comports) -> Wiring:
    """Return how the board at ``url`` is reset; what is no local USB port counts as a UART."""
    for port in find_ports(comports):
        if port.device == url:
            return port.wiring
    return Wiring.UART


def usb_serial_number(url: str, comports: ListPorts = list_ports.comports) -> str | None:
    """Return the USB serial number behind ``url``, None if it has none."""
    for port in comports():
        if port.device == url:
            return port.serial_number or None
    return None


def port_of(serial_number: str, comports: ListPorts = list_ports.comports) -> str:
    """Return the port that a board has now.

    Args:
        serial_number: USB serial number or MAC, however it is written.
        comports: Lists the ports.

    Raises:
        BenchError: It is not connected; names the boards that are.
    """
    wanted = _normal(serial_number)
    there = find_ports(comports)
    for port in there:
        if port.serial_number is not None and _normal(port.serial_number) == wanted:
            return port.device
    others = ", ".join(f"{port.serial_number} at {port.device}" for port in there) or "none"
    raise BenchError(
        f"board {serial_number} is not connected (boards that are: {others}): plug it in, or "
        "correct its serial number"
    )


def follow(
    serial_number: str, timeout: float = 10.0, comports: ListPorts = list_ports.comports
) -> str:
    """Wait for a board whose port vanished and return its port, which may have another name.

    Raises:
        BenchError: It did not come back within ``timeout`` seconds.
    """
    deadline = time.monotonic() + timeout
    while True:
        try:
            return port_of(serial_number, comports)
        except BenchError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def _normal(serial_number: str) -> str:
    return serial_number.replace(":", "").replace("-", "").lower()
