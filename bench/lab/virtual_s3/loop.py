"""One thread's loop over sockets and timers: all of a virtual board runs in it."""

from __future__ import annotations

import contextlib
import selectors
import socket
import time
from collections.abc import Callable

# Reading for a stream pauses as long as so many bytes wait on the other side of the board.
_BACKLOG = 1 << 20
_BLOCK = 65536


class Timer:
    """A pending call; :meth:`cancel` forgets it."""

    def __init__(self, due: float, call: Callable[[], None]) -> None:
        """Remember what is due when (on the monotonic clock)."""
        self.due = due
        self.call = call
        self.cancelled = False

    def cancel(self) -> None:
        """Do not call."""
        self.cancelled = True


class Loop:
    """Runs until stopped; only :meth:`stop` may be called from another thread."""

    def __init__(self) -> None:
        """Start with nothing to do."""
        self._selector = selectors.DefaultSelector()
        self._wake, self._woken = socket.socketpair()
        self._selector.register(self._woken, selectors.EVENT_READ)
        self._timers: list[Timer] = []
        self._streams: list[Stream] = []
        self._listeners: dict[socket.socket, Callable[[], None]] = {}
        self._stopping = False

    def call_later(self, delay: float, call: Callable[[], None]) -> Timer:
        """Call after ``delay`` seconds."""
        timer = Timer(time.monotonic() + delay, call)
        self._timers.append(timer)
        return timer

    def listen(self, listener: socket.socket, accept: Callable[[], None]) -> None:
        """Call ``accept`` whenever a connection waits."""
        self._listeners[listener] = accept
        self._selector.register(listener, selectors.EVENT_READ)

    def unlisten(self, listener: socket.socket) -> None:
        """No longer."""
        if self._listeners.pop(listener, None) is not None:
            self._selector.unregister(listener)

    def add(self, stream: Stream) -> None:
        """Serve a stream until it is closed."""
        self._streams.append(stream)

    def remove(self, stream: Stream) -> None:
        """Stop serving it."""
        self._streams.remove(stream)
        stream.unwatch(self._selector)

    def stop(self) -> None:
        """Make :meth:`run` return, now or as soon as it is called."""
        self._stopping = True
        with contextlib.suppress(OSError):  # if it was closed already
            self._wake.send(b"x")

    def run(self) -> None:
        """Serve all of it until :meth:`stop`."""
        while not self._stopping:
            self._step()

    def close(self) -> None:
        """Free what the loop itself holds."""
        self._selector.close()
        self._wake.close()
        self._woken.close()

    def _step(self) -> None:
        for stream in self._streams:
            stream.watch(self._selector)
        self._timers = [timer for timer in self._timers if not timer.cancelled]
        due = min((timer.due for timer in self._timers), default=None)
        timeout = None if due is None else max(0.0, due - time.monotonic())
        ready = {key.fileobj: events for key, events in self._selector.select(timeout)}
        # Streams first: the end of one client is seen before the next one is looked at.
        for stream in list(self._streams):
            if stream.connection in ready:
                stream.serve(ready[stream.connection])
        for listener, accept in list(self._listeners.items()):
            if listener in ready:
                accept()
        now = time.monotonic()
        for timer in [timer for timer in self._timers if timer.due <= now]:
            if not timer.cancelled:  # by a timer before it
                timer.cancelled = True
                timer.call()


class Stream:
    """A connection whose sending never blocks.

    Attributes:
        connection: The socket.
        unsent: Bytes the other side did not take yet.
        sink: Where this stream's data ends up; while that is full, nothing is read here.
    """

    def __init__(
        self,
        loop: Loop,
        connection: socket.socket,
        on_data: Callable[[bytes], None],
    ) -> None:
        """Serve ``connection`` in ``loop``; ``on_data`` gets what arrives, and b"" at the end."""
        connection.setblocking(False)
        self.connection = connection
        self.unsent = bytearray()
        self.sink: Callable[[], int] = int
        self._loop = loop
        self._on_data = on_data
        self._open = True
        self._events = 0
        loop.add(self)

    def send(self, data: bytes) -> None:
        """Send now or as soon as the other side takes it."""
        self.unsent += data
        self._flush()

    def watch(self, selector: selectors.BaseSelector) -> None:
        """Register for what can be done at the moment, which may be nothing."""
        events = selectors.EVENT_WRITE if self.unsent else 0
        if self.sink() < _BACKLOG:
            events |= selectors.EVENT_READ
        if events == self._events:
            return
        if self._events:
            selector.unregister(self.connection)
        if events:
            selector.register(self.connection, events)
        self._events = events

    def unwatch(self, selector: selectors.BaseSelector) -> None:
        """Register for nothing."""
        if self._events:
            selector.unregister(self.connection)
            self._events = 0

    def serve(self, events: int) -> None:
        """Do what can be done without blocking."""
        if events & selectors.EVENT_WRITE:
            self._flush()
        if events & selectors.EVENT_READ and self._open:
            try:
                data = self.connection.recv(_BLOCK)
            except BlockingIOError:
                return
            except OSError:
                data = b""
            self._on_data(data)

    def close(self) -> None:
        """Close the connection; bytes not sent yet are lost."""
        if self._open:
            self._open = False
            self._loop.remove(self)
            self.connection.close()

    def _flush(self) -> None:
        try:
            while self.unsent:
                del self.unsent[: self.connection.send(self.unsent)]
        except BlockingIOError:
            return
        except OSError:
            self.unsent.clear()  # reading will tell that the other side is gone
