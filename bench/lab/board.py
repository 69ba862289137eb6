"""What every board can do, real or virtual."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

from bench.lab.boards import BoardType
from bench.link import Link


class Board(Protocol):
    """One device of a target. It is a serial URL plus a way to reset it; all else is the link's."""

    @property
    def name(self) -> str:
        """How people call it."""
        ...

    @property
    def type(self) -> BoardType:
        """Its kind."""
        ...

    @property
    def url(self) -> str:
        """Its port as a pyserial URL; may change with every start and reset."""
        ...

    def start(self) -> None:
        """Make it ready to answer hello.

        Raises:
            BenchError: It cannot be started.
        """
        ...

    def reset(self) -> None:
        """Restart its firmware, whatever state it is in; any link to it must be closed before."""
        ...

    def stop(self) -> None:
        """Leave it; nothing of it stays behind on this machine."""
        ...

    def post_mortem(self) -> str | None:
        """Say how it died, if that can be told; None while it may be alive."""
        ...


@runtime_checkable
class SharedBoard(Board, Protocol):
    """A board whose port somebody else has open, too: its link is had from it, not opened."""

    def open_link(self, console: Callable[[bytes], None] | None) -> Link:
        """Return the open link, or a new one if whoever shares the port closed it.

        Args:
            console: Receives what the board prints outside frames, from now on.

        Raises:
            LinkError: The board does not answer hello.
        """
        ...
