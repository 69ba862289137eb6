"""What a board says of itself."""

from __future__ import annotations

from bench.lab import rfc2217
from bench.lab.serial_port import open_link
from bench.link.errors import DeviceSilent, PortGone, ProtocolMismatch


def running_firmware(url: str, *, baudrate: int = 921_600, patience: float = 2.0) -> str | None:
    """Ask the board at ``url`` for the hash of the firmware it runs; None if it does not say.

    Raises:
        BenchError: The port cannot be opened.
    """
    rfc2217.register()
    try:
        with open_link(url, baudrate=baudrate, patience=patience) as link:
            return str(link.hello.firmware)
    except (DeviceSilent, PortGone, ProtocolMismatch):
        return None
