"""A port of any pyserial URL as a two-way stream of bytes that never blocks for long."""

from __future__ import annotations

import contextlib
import errno
import os
import select
import time
from collections import deque
from typing import Any, Protocol

import serial

from bench.link.errors import LinkError, PortBusy, PortGone
from bench.link.holders import describe_holders

_READ_SIZE = 65536
# Linux gives this many bytes of a terminal at once, at most.
_TTY_READ = 4095
_MOST_READS = 8
# Ports without a file descriptor are polled this often, in seconds.
_POLL = 0.001


class Transport(Protocol):
    """What the link needs of a port."""

    name: str

    def send(self, data: bytes) -> None:
        """Queue bytes; those the port cannot take yet go out during ``receive``."""
        ...

    def receive(self, timeout: float) -> bytes:
        """Return the bytes that are there, waiting up to ``timeout`` seconds for the first.

        Raises:
            PortGone: The port closed.
        """
        ...

    def wait(self, timeout: float) -> bool:
        """Wait for bytes without taking them; True also if the port closed."""
        ...

    def drop_unsent(self) -> None:
        """Forget queued bytes that did not go out."""
        ...

    def close(self) -> None:
        """Close the port."""
        ...


def open_port(url: str, baudrate: int) -> Transport:
    """Open a pyserial URL as a transport; see ``open_serial``."""
    return adopt_port(open_serial(url, baudrate), url)


def open_serial(url: str, baudrate: int) -> Any:
    """Open a pyserial URL, exclusively where the system can.

    Raises:
        PortBusy: Another program has it; names it where the system tells.
        LinkError: It cannot be opened.
    """
    try:
        port = serial.serial_for_url(url, baudrate=baudrate, timeout=_POLL, do_not_open=True)
    except (ValueError, serial.SerialException) as error:
        raise LinkError(f"{url}: not a port: {error}") from error
    if isinstance(port, serial.Serial):
        port.exclusive = True
    try:
        port.open()
    except (OSError, ValueError) as error:  # SerialException is an OSError
        raise _open_error(url, error) from error
    return port


def adopt_port(port: Any, name: str) -> Transport:
    """Make a transport of an open pyserial port; closing the transport closes the port."""
    try:
        # pyserial opens devices and sockets without blocking, so their descriptors can be used
        # as they are: far faster than its own reads.
        os.set_blocking(port.fileno(), False)
    except (AttributeError, OSError, ValueError):
        return _PolledPort(port, name)
    return _DescriptorPort(port, name)


def _open_error(url: str, error: Exception) -> LinkError:
    busy = getattr(error, "errno", None) in (errno.EBUSY, errno.EAGAIN) or (
        "exclusively lock" in str(error)
    )
    if busy:
        holders = describe_holders(url)
        return PortBusy(f"{url} is busy: {holders or 'another program'} has it open; close that")
    number = getattr(error, "errno", None)
    reason = os.strerror(number) if number else str(error)
    return LinkError(f"cannot open {url}: {reason}; is the board connected?")


class _DescriptorPort:
    """A device, pty or socket, used through its file descriptor."""

    def __init__(self, port: Any, name: str) -> None:
        self.name = name
        self._port = port
        self._fd: int = port.fileno()
        self._unsent: deque[memoryview] = deque()

    def send(self, data: bytes) -> None:
        self._unsent.append(memoryview(data))
        self._flush()

    def receive(self, timeout: float) -> bytes:
        fds = [self._fd]
        deadline = time.monotonic() + timeout
        try:
            while True:
                readable, writable, _ = select.select(fds, fds if self._unsent else [], [], timeout)
                if writable:
                    self._flush()
                if readable:
                    return self._read()
                timeout = deadline - time.monotonic()
                if not writable or timeout <= 0:
                    return b""
        except BlockingIOError:
            return b""
        except (OSError, ValueError) as error:
            raise self._gone(error) from error

    def _read(self) -> bytes:
        data = os.read(self._fd, _READ_SIZE)
        if not data:
            raise self._gone(None)
        if len(data) < _TTY_READ:
            return data
        # A terminal gives no more at once, but may have more.
        parts = [data]
        with contextlib.suppress(BlockingIOError):
            while len(parts[-1]) >= _TTY_READ and len(parts) < _MOST_READS:
                parts.append(os.read(self._fd, _READ_SIZE))
        return b"".join(parts)

    def wait(self, timeout: float) -> bool:
        try:
            return bool(select.select([self._fd], [], [], timeout)[0])
        except (OSError, ValueError):
            return True

    def drop_unsent(self) -> None:
        self._unsent.clear()

    def close(self) -> None:
        self._fd = -1
        with contextlib.suppress(OSError):
            self._port.close()

    def _flush(self) -> None:
        try:
            while self._unsent:
                sent = os.write(self._fd, self._unsent[0])
                if sent < len(self._unsent[0]):
                    self._unsent[0] = self._unsent[0][sent:]
                    return  # the port is full
                self._unsent.popleft()
        except BlockingIOError:
            return
        except (OSError, ValueError) as error:
            raise self._gone(error) from error

    def _gone(self, error: Exception | None) -> PortGone:
        reason = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
        return PortGone(f"{self.name} closed{reason}: the board or its adapter went away")


class _PolledPort:
    """A port that only pyserial can read, such as rfc2217."""

    def __init__(self, port: Any, name: str) -> None:
        self.name = name
        self._port = port

    def send(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except OSError as error:
            raise self._gone(error) from error

    def receive(self, timeout: float) -> bytes:
        try:
            return bytes(self._port.read(self._port.in_waiting)) if self._poll(timeout) else b""
        except OSError as error:
            raise self._gone(error) from error

    def wait(self, timeout: float) -> bool:
        try:
            return self._poll(timeout)
        except OSError:
            return True

    def _poll(self, timeout: float) -> bool:
        wait_readable = getattr(self._port, "wait_readable", None)
        if wait_readable is not None:  # the lab's own RFC 2217 client
            return bool(wait_readable(timeout))
        # Not port.read: its timeout would have to be set, which is slow over RFC 2217.
        deadline = time.monotonic() + timeout
        while not self._port.in_waiting:
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            time.sleep(min(_POLL, left))
        return True

    def drop_unsent(self) -> None:
        """Nothing is queued here: pyserial's write sends all."""

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self._port.close()

    def _gone(self, error: OSError) -> PortGone:
        return PortGone(f"{self.name} closed ({error}): the board or its adapter went away")
