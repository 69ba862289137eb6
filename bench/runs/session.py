"""A board with an open link, and its way back when it dies."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import TYPE_CHECKING

from bench.errors import BenchError
from bench.lab.board import Board, SharedBoard
from bench.lab.host import HostBoard
from bench.lab.serial_port import open_link
from bench.link import DeviceRebooted, Link, LinkError
from bench.runs.trouble import Trouble, diagnose

if TYPE_CHECKING:
    from bench.link.fault_spec import FaultSpec
    from bench.link.faults import FaultyLine

# Enough of the console for a panic's first line and its dump.
_CONSOLE_TAIL = 16_384


class BoardLost(BenchError):
    """The board does not answer, and a reset did not bring it back."""


class BoardSession:
    """Starts a board, opens its link, and resets it once when it stops answering.

    Attributes:
        resets: How often it was reset.
        troubles: Each time it went down, and how.
        patient: False once a board that goes down need not come back: the run is being ended.
    """

    def __init__(
        self,
        board: Board,
        *,
        faults: FaultSpec | None = None,
        console: Callable[[bytes], None] | None = None,
    ) -> None:
        """Remember the board; entering the context starts it.

        Args:
            board: The board to talk to.
            faults: If given, a line with these faults stands between the board and the link.
            console: Receives what the board prints outside frames.
        """
        self.board = board
        self.resets = 0
        self.troubles: list[Trouble] = []
        self.patient = True
        self._faults = faults
        self._console = console
        self._console_tail = b""
        self._line: FaultyLine | None = None
        self._link: Link | None = None

    @property
    def link(self) -> Link:
        """The open link.

        Raises:
            BoardLost: There is none: the session was not entered, or the board is lost.
        """
        if self._link is None:
            raise BoardLost(f"board {self.board.name}: no link is open")
        if isinstance(self.board, SharedBoard):
            self._link = self.board.open_link(self._hear)
        return self._link

    @property
    def has_no_line(self) -> bool:
        """Whether nothing lies between bench and board that could lose or delay anything."""
        return isinstance(self.board, HostBoard) and self._faults is None

    def __enter__(self) -> BoardSession:
        """Start the board and wait for its hello.

        Raises:
            BenchError: It does not start, dies at once, or answers something else than hello.
        """
        try:
            self.board.start()
            self._connect()
        except BaseException:
            self._leave()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the link and leave the board."""
        self._leave()

    def recover(self, cause: LinkError) -> None:
        """Bring the board back after ``cause``: a fresh hello, if need be after a reset.

        A board that restarted by itself only needs the hello. Any other is reset, once.

        Raises:
            BoardLost: It stays dead; says how it died, if that is known.
        """
        death = self.board.post_mortem()
        why = f"{cause}; {death}" if death else str(cause)
        if isinstance(cause, DeviceRebooted) or isinstance(cause.__cause__, DeviceRebooted):
            try:
                self.link.reconnect()
                self._note_trouble(cause, death)
                return
            except LinkError:
                pass  # it is not well after all
        self._disconnect()
        self._note_trouble(cause, death)
        if not self.patient:
            raise BoardLost(f"board {self.board.name} is lost: {why}; the run is being ended")
        self.resets += 1
        try:
            # The line knows how to reset the board behind it, and a hang of its own ends so too.
            (self._line or self.board).reset()
            self._connect()
        except BenchError as error:
            raise BoardLost(
                f"board {self.board.name} is lost: {why}; after a reset: {error}"
            ) from error

    def _hear(self, text: bytes) -> None:
        """Pass on what the board prints; its last words tell how it went down."""
        self._console_tail = (self._console_tail + text)[-_CONSOLE_TAIL:]
        if self._console is not None:
            self._console(text)

    def why_unanswered(self, error: BenchError) -> Trouble:
        """Tell why the board never answered, from what entering the session raised."""
        if isinstance(error, LinkError):
            return diagnose(error, None, self._console_tail)
        if type(error) is BenchError and isinstance(error.__cause__, LinkError):
            return diagnose(error.__cause__, str(error), self._console_tail)
        return Trouble("lost", str(error))

    def _note_trouble(self, cause: LinkError, death: str | None) -> None:
        self.troubles.append(diagnose(cause, death, self._console_tail))
        self._console_tail = b""

    def _connect(self) -> None:
        if self._faults is not None and self._line is None:
            from bench.link.faults import FaultyLine

            line = FaultyLine(
                lambda: self.board.url,
                self._faults,
                baudrate=self.board.type.baudrate,
                reset=self.board.reset,
            )
            self._line = line.__enter__()
        url = self._line.url if self._line else self.board.url
        try:
            if isinstance(self.board, SharedBoard):
                self._link = self.board.open_link(self._hear)
                return
            self._link = open_link(url, baudrate=self.board.type.baudrate, console=self._hear)
        except LinkError as error:
            death = self.board.post_mortem()
            if death is None:
                raise
            raise BenchError(f"board {self.board.name}: {death}") from error

    def _disconnect(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None

    def _leave(self) -> None:
        self._disconnect()
        if self._line is not None:
            self._line.close()
            self._line = None
        self.board.stop()
