"""A board that is already running the firmware behind a serial URL."""

from __future__ import annotations

from bench.lab.boards import BoardType
from bench.lab.locks import BoardLock
from bench.lab.ports import wiring_of
from bench.lab.reset import line_reset
from bench.lab.rfc2217 import register


class SerialBoard:
    """A port, a socket or an RFC 2217 server where a board answers hello."""

    def __init__(self, kind: BoardType, url: str, name: str | None = None) -> None:
        """Remember where it is, and its name if that is not its URL; the link opens it."""
        self.name = name or url
        self.type = kind
        self.url = url
        self._lock = BoardLock(url)

    def start(self) -> None:
        """Take it for this process; it runs already.

        Raises:
            BenchError: Another process has it; names the holder.
        """
        register()
        self._lock.acquire()

    def reset(self) -> None:
        """Restart it over the port's control lines, as its wiring has it.

        Raises:
            BenchError: The port cannot be opened.
        """
        self.url = line_reset(wiring_of(self.url)).reset(self.url)

    def stop(self) -> None:
        """Leave it running, for others to take."""
        self._lock.release()

    def post_mortem(self) -> str | None:
        """Tell nothing: from here a dead board looks like a mute one."""
        return None
