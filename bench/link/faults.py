"""A faulty line between a board and the bench: a proxy with a port of its own."""

from __future__ import annotations

import contextlib
import heapq
import os
import select
import threading
import time
import tty
from collections.abc import Callable
from types import TracebackType

import serial

from bench.errors import BenchError
from bench.link.errors import LinkError
from bench.link.fault_spec import FaultSpec
from bench.link.mangler import Mangler
from bench.link.transport import adopt_port, open_serial

_POLL = 0.05
_READ_SIZE = 65536


class FaultyLine:
    """Passes bytes between a board's port and a pty, wrongly as the spec says.

    Use it as a context manager and open ``url`` in the board's place. ``url`` changes when the
    port is renamed and when the board is reset on another port.
    """

    def __init__(
        self,
        board: str | Callable[[], str],
        spec: FaultSpec,
        *,
        baudrate: int = 921_600,
        reset: Callable[[], None] | None = None,
    ) -> None:
        """Prepare the line; entering it opens the ports.

        Args:
            board: URL of the board's port, or what returns it (a reset may change it).
            spec: The faults.
            baudrate: For opening the board's port.
            reset: Restarts the board; its port is closed meanwhile.

        Raises:
            BenchError: The spec wants resets, but the board cannot be reset.
        """
        if spec.reset and reset is None:
            raise BenchError("faults: reset=... needs a board that the bench can reset")
        self.spec = spec
        self.url = ""
        self._board_url = board if callable(board) else lambda: board
        self._baudrate = baudrate
        self._reset = reset
        self._to_board = Mangler(spec, "to board", board_side=False)
        self._to_host = Mangler(spec, "to host", board_side=True)
        self._stop = threading.Event()
        self._hung = False
        self._events = {
            kind: at
            for kind in ("hang", "reset", "close", "rename")
            if (at := getattr(spec, kind)) > 0
        }
        self._from_host_bytes = 0
        self._port: serial.SerialBase | None = None
        self._host_end = self._anchor = -1
        self._threads: list[threading.Thread] = []
        self._closed = False
        # Held while ports are opened and closed.
        self._lock = threading.Lock()

    @property
    def injected(self) -> bytes:
        """All console text that the line added so far."""
        return bytes(self._to_host.injected)

    @property
    def faults(self) -> int:
        """How many faults happened so far, events left out."""
        return self._to_board.faults + self._to_host.faults

    def __enter__(self) -> FaultyLine:
        """Open both ends and start."""
        self._open_host_end()
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close both ends."""
        self.close()

    def close(self) -> None:
        """Close both ends; the board stays as it is."""
        self._closed = True
        with self._lock:
            self._halt()
            self._close_host_end()

    def reset(self) -> None:
        """Restart the board, which also ends a hang; the host's end stays open.

        Raises:
            BenchError: The board cannot be reset.
        """
        if self._reset is None:
            raise BenchError("this board cannot be reset by the bench")
        with self._lock:
            self._restart(self._reset)

    def _restart(self, reset: Callable[[], None]) -> None:
        self._halt()
        reset()
        self._hung = False
        if self._host_end < 0:
            self._open_host_end()
        self._start()

    def _start(self) -> None:
        port = open_serial(self._board_url(), self._baudrate)
        self._port = port
        self._stop = threading.Event()
        self._threads = [
            threading.Thread(
                target=work, args=(self._stop, self._host_end, port), name=name, daemon=True
            )
            for name, work in (("line to host", self._to_host_loop),
                               ("line to board", self._to_board_loop))
        ]  # fmt: skip
        for thread in self._threads:
            thread.start()

    def _halt(self) -> None:
        self._stop.set()
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()
        self._threads = []
        if self._port is not None:
            with contextlib.suppress(OSError):
                self._port.close()
            self._port = None

    def _open_host_end(self) -> None:
        self._host_end, self._anchor = os.openpty()
        tty.setraw(self._anchor)
        os.set_blocking(self._host_end, False)
        self.url = os.ttyname(self._anchor)

    def _close_host_end(self) -> None:
        for fd in (self._host_end, self._anchor):
            if fd >= 0:
                os.close(fd)
        self._host_end = self._anchor = -1

    def _to_board_loop(self, stop: threading.Event, host_end: int, port: serial.SerialBase) -> None:
        queue = _Queue()
        try:
            while not stop.is_set():
                timeout = queue.timeout()
                readable, _, _ = select.select([host_end], [], [], timeout)
                if readable:
                    data = os.read(host_end, _READ_SIZE)
                    if not self._hung:
                        queue.add(self._to_board.feed(data, time.monotonic()))
                    if self._happens(len(data), stop):
                        return
                for piece in queue.due():
                    port.write(piece)
        except OSError:
            self._lost(stop)

    def _to_host_loop(self, stop: threading.Event, host_end: int, port: serial.SerialBase) -> None:
        queue = _Queue()
        transport = adopt_port(port, self.url)
        try:
            while not stop.is_set():
                data = transport.receive(queue.timeout())
                if data and not self._hung:
                    queue.add(self._to_host.feed(data, time.monotonic()))
                for piece in queue.due():
                    _write_all(host_end, piece, stop)
        except (OSError, LinkError):
            self._lost(stop)

    def _happens(self, size: int, stop: threading.Event) -> bool:
        """Count bytes from the host and do what is due; True if this thread has had its day."""
        self._from_host_bytes += size
        for kind, at in sorted(self._events.items(), key=lambda event: event[1]):
            if self._from_host_bytes >= at:
                del self._events[kind]
                if kind != "hang":
                    self._change(kind, stop)
                    return True
                self._hung = True
        return False

    def _change(self, kind: str, stop: threading.Event) -> None:
        if not self._take_lock(stop):
            return
        try:
            if kind == "reset":
                assert self._reset is not None
                self._restart(self._reset)
                return
            self._halt()
            self._close_host_end()
            if kind == "rename":
                self._open_host_end()
                self._start()
        except BenchError:  # the board does not come back: the port stays closed
            self._close_host_end()
        finally:
            self._lock.release()

    def _lost(self, stop: threading.Event) -> None:
        """The board's port is gone: so is this one."""
        if self._take_lock(stop):
            self._halt()
            self._close_host_end()
            self._lock.release()

    def _take_lock(self, stop: threading.Event) -> bool:
        """Take the lock in a thread of the line; False once somebody waits for its end."""
        while not stop.is_set() and not self._closed:
            if self._lock.acquire(timeout=_POLL):
                if stop.is_set() or self._closed:
                    self._lock.release()
                    return False
                return True
        return False


class _Queue:
    """Pieces by the time they are due; pieces due at once keep their order."""

    def __init__(self) -> None:
        self._pieces: list[tuple[float, int, bytes]] = []
        self._count = 0

    def add(self, pieces: list[tuple[float, bytes]]) -> None:
        for due, data in pieces:
            self._count += 1
            heapq.heappush(self._pieces, (due, self._count, data))

    def timeout(self) -> float:
        if not self._pieces:
            return _POLL
        return min(_POLL, max(0.0, self._pieces[0][0] - time.monotonic()))

    def due(self) -> list[bytes]:
        now = time.monotonic()
        pieces = []
        while self._pieces and self._pieces[0][0] <= now:
            pieces.append(heapq.heappop(self._pieces)[2])
        return pieces


def _write_all(fd: int, data: bytes, stop: threading.Event) -> None:
    while data and not stop.is_set():
        try:
            data = data[os.write(fd, data) :]
        except BlockingIOError:
            select.select([], [fd], [], _POLL)
