"""A board that is already running the firmware behind a serial URL."""

from __future__ import annotations

from bench.errors import BenchError
from bench.lab.boards import BoardType


class SerialBoard:
    """A port, a socket or an RFC 2217 server where a board answers hello."""

    def __init__(self, kind: BoardType, url: str) -> None:
        """Remember where it is; the link opens it."""
        self.name = url
        self.type = kind
        self.url = url

    def start(self) -> None:
        """Nothing to start: it runs."""

    def reset(self) -> None:
        """Pulse EN through the RTS line, as development boards wire it.

        Raises:
            BenchError: The port cannot be opened.
        """
        import time

        import serial

        try:
            with serial.serial_for_url(self.url, exclusive=None) as port:
                port.dtr = False  # IO0 stays high: boot the application
                port.rts = True  # EN low
                time.sleep(0.1)
                port.rts = False
        except (OSError, ValueError) as error:
            raise BenchError(f"cannot reset the board on {self.url}: {error}") from error

    def stop(self) -> None:
        """Leave it running."""

    def post_mortem(self) -> str | None:
        """Tell nothing: from here a dead board looks like a mute one."""
        return None
