"""The board's port: an RFC 2217 server on loopback with the chip behind it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import serial
from serial import rfc2217

from bench.errors import BenchError
from bench.lab.mac import parse_mac
from bench.lab.virtual_s3.chip import Chip, Counters
from bench.lab.virtual_s3.faults import Fault, Faults
from bench.lab.virtual_s3.flash_memory import FlashMemory
from bench.lab.virtual_s3.loop import Loop, Stream
from bench.lab.wiring import Wiring


class VirtualS3:
    """A virtual ESP32-S3 at an ``rfc2217://`` URL; a context manager.

    One thread does everything: the network, the application's output, and the chip's timers.
    One client is served at a time; another one is turned away at once.

    Attributes:
        url: Where it is reached.
        mac: Its MAC, ``aa:bb:cc:dd:ee:ff``.
        faults: What is wrong with it; may be changed at any time.
    """

    def __init__(
        self,
        flash_file: Path,
        *,
        mac: str = "7c:df:a1:00:00:01",
        wiring: Wiring = Wiring.UART,
        runner: Path | None = None,
        port: int = 0,
        faults: Iterable[Fault] = (),
        note: Callable[[str], None] | None = None,
    ) -> None:
        """Take the port and the flash; the chip starts with :meth:`start` or :meth:`serve`.

        Args:
            flash_file: Holds the flash's content; created if missing.
            mac: The board's MAC.
            wiring: How DTR and RTS reach the chip.
            runner: Executable that plays the application; None plays none (boots still count).
            port: TCP port on loopback; 0 takes a free one.
            faults: What is wrong from the start.
            note: Told what happens, one line each.

        Raises:
            BenchError: The port is taken, the flash cannot be used, or the MAC is none.
        """
        address = parse_mac(mac)
        self.mac = address.hex(":")
        self.faults = Faults(faults)
        self._note = note
        self._memory = FlashMemory(flash_file)
        try:
            self._listener = _listen(port)
        except BaseException:
            self._memory.close()
            raise
        self.port = int(self._listener.getsockname()[1])
        self.url = f"rfc2217://127.0.0.1:{self.port}"
        self._loop = Loop()
        self._loop.listen(self._listener, self._accept)
        self._host: _Host | None = None
        self._thread: threading.Thread | None = None
        self._freed = False
        self._chip = Chip(self._loop, self, self._memory, address, wiring, runner, self.faults)

    def __enter__(self) -> VirtualS3:
        """Start in a thread."""
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.close()

    @property
    def counters(self) -> Counters:
        """What happened to the board so far."""
        return self._chip.counters

    def wait_running(self, timeout: float = 10.0) -> bool:
        """Wait until an application runs; False if none does by then."""
        return self._chip.running.wait(timeout)

    def start(self) -> None:
        """Serve in a thread of its own."""
        self._thread = threading.Thread(
            target=self.serve, name=f"virtual ESP32-S3 at {self.port}", daemon=True
        )
        self._thread.start()

    def close(self) -> None:
        """Switch off; the application is gone, and port and flash file are free on return."""
        self._loop.stop()
        if self._thread is not None:
            self._thread.join()
        self._free()

    def serve(self) -> None:
        """Serve until :meth:`close` is called, or an exception such as Ctrl-C arrives."""
        try:
            self._chip.power_on()
            self._loop.run()
        finally:
            self._free()

    def _free(self) -> None:
        if not self._freed:
            self._freed = True
            self._chip.stop()
            self.lose(for_good=True)
            self._loop.close()
            self._memory.close()

    # The chip's line to the host

    def send(self, data: bytes) -> None:
        """Send to the host; without one, bytes are lost as on an open line."""
        if self._host is not None:
            self._host.send(data)

    def backlog(self) -> int:
        """Return how many bytes the host did not take yet."""
        return len(self._host.stream.unsent) if self._host is not None else 0

    def lose(self, *, for_good: bool) -> None:
        """Break the connection; for good closes the port, too."""
        if self._host is not None:
            self._host.stream.close()
            self._host = None
        if for_good:
            self._loop.unlisten(self._listener)
            self._listener.close()

    def note(self, event: str) -> None:
        """Tell the user what happened."""
        if self._note is not None:
            self._note(event)

    def _accept(self) -> None:
        connection, _ = self._listener.accept()
        if self._host is not None:
            connection.close()
            return
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._host = _Host(self._loop, connection, self._chip, self.lose)


class _Host:
    """One client: splits its stream into data and RFC 2217 commands."""

    def __init__(
        self,
        loop: Loop,
        client: socket.socket,
        chip: Chip,
        lose: Callable[..., None],
    ) -> None:
        self.stream = Stream(loop, client, self._receive)
        self.stream.sink = chip.backlog
        self._chip = chip
        self._lose = lose
        port: Any = _Port(chip, self._deliver)
        connection: Any = self  # the stubs ask for real ports; these two do what it uses of them
        self._manager = rfc2217.PortManager(port, connection)
        self._data = bytearray()

    def write(self, data: bytes) -> None:
        """Send a command; the port manager calls this."""
        self.stream.send(data)

    def send(self, data: bytes) -> None:
        """Send data."""
        self.stream.send(data.replace(rfc2217.IAC, rfc2217.IAC_DOUBLED))

    def _receive(self, block: bytes) -> None:
        if not block:
            self._lose(for_good=False)
            return
        # The manager's filter works byte by byte; plain data goes around it.
        at = 0
        while at < len(block):
            if self._manager.mode == rfc2217.M_NORMAL and self._manager.suboption is None:
                found = block.find(rfc2217.IAC, at)
                end = len(block) if found < 0 else found
                self._data += block[at:end]
                at = end
            if at < len(block):
                for byte in self._manager.filter(block[at : at + 1]):
                    self._data += byte
                at += 1
        self._deliver()

    def _deliver(self) -> None:
        data = bytes(self._data)
        self._data.clear()
        if data:
            self._chip.receive(data)


class _Port:
    """What the port manager takes for a serial port: settings that do nothing, lines that do.

    Data that came before a line change is delivered before it.
    """

    baudrate = 115200
    bytesize = serial.EIGHTBITS
    parity = serial.PARITY_NONE
    stopbits = serial.STOPBITS_ONE
    xonxoff = False
    rtscts = False
    break_condition = False
    cts = dsr = cd = True
    ri = False

    def __init__(self, chip: Chip, deliver: Callable[[], None]) -> None:
        self._chip = chip
        self._deliver = deliver

    @property
    def dtr(self) -> bool:
        return self._chip.dtr

    @dtr.setter
    def dtr(self, value: bool) -> None:
        self._deliver()
        self._chip.set_lines(value, self._chip.rts)

    @property
    def rts(self) -> bool:
        return self._chip.rts

    @rts.setter
    def rts(self, value: bool) -> None:
        self._deliver()
        self._chip.set_lines(self._chip.dtr, value)

    def reset_input_buffer(self) -> None:
        """Nothing waits on this side."""

    def reset_output_buffer(self) -> None:
        """Nothing waits on this side."""


def _listen(port: int) -> socket.socket:
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
    except (OSError, OverflowError) as error:
        listener.close()
        raise BenchError(f"cannot listen on port {port} ({error}): give another --port") from error
    listener.listen()
    return listener
