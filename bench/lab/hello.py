"""What a board says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from bench.lab import rfc2217
from bench.lab.serial_port import open_link
from bench.link import Link
from bench.link.errors import DeviceSilent, PortGone, ProtocolMismatch


@dataclass(frozen=True)
class Running:
    """A board that runs the bench's firmware.

    Attributes:
        firmware: Hash of the firmware.
        board_id: The board's own id: the MAC of an ESP32-S3.
    """

    firmware: str
    board_id: str

    @classmethod
    def told_by(cls, link: Link) -> Running:
        """Read it from the hello that opened the link."""
        return cls(str(link.hello.firmware), str(link.hello.board.get("id", "")))


def running_firmware(url: str, *, baudrate: int = 921_600, patience: float = 2.0) -> Running | None:
    """Ask the board at ``url`` what it runs and which board it is; None if it does not say.

    Raises:
        BenchError: The port cannot be opened.
    """
    rfc2217.register()
    try:
        with open_link(url, baudrate=baudrate, patience=patience) as link:
            return Running.told_by(link)
    except (DeviceSilent, PortGone, ProtocolMismatch):
        return None
