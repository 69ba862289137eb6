"""A fast client for serial ports behind RFC 2217 (a port of another machine, or a virtual board).

pyserial's own client negotiates all four line settings again whenever a property such as
``timeout`` is set, and waits in steps of 50 ms; esptool sets the timeout twice a command, so that
flashing 200 KB takes 22 s. This client speaks the same protocol through pyserial's own classes,
but sends settings only when they changed, wakes up when the answer arrives, and hands over received
bytes in blocks.

:func:`register` makes ``serial.serial_for_url("rfc2217://...")`` return it, through the list of
handler packages that pyserial keeps for this purpose; nothing of pyserial is patched.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any

import serial
from serial import rfc2217

_HANDLERS = "bench.lab.urlhandler"


def register() -> None:
    """Let every later ``rfc2217://`` URL of this process be opened with :class:`Serial`."""
    if _HANDLERS not in serial.protocol_handler_packages:
        serial.protocol_handler_packages.insert(0, _HANDLERS)


class Serial(rfc2217.Serial):
    """pyserial's RFC 2217 port without its waits.

    Raises:
        serial.SerialException: The connection is lost, or the other side refuses a setting.
    """

    # What pyserial's class keeps beyond what its type stubs tell.
    _socket: socket.socket | None
    _thread: threading.Thread | None
    _write_lock: threading.Lock
    _network_timeout: float
    _ignore_set_control_answer: bool
    _rfc2217_port_settings: dict[str, Any]
    _rfc2217_options: dict[str, Any]
    _telnet_process_command: Callable[[bytes], None]
    _telnet_negotiate_option: Callable[[bytes, bytes], None]
    _telnet_process_subnegotiation: Callable[[bytes], None]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Take the arguments of :class:`serial.rfc2217.Serial`."""
        self._state = threading.Condition()
        self._received = bytearray()
        self._lost = False
        self._applied: tuple[object, ...] | None = None
        super().__init__(*args, **kwargs)

    def open(self) -> None:
        """Connect and negotiate; lines and settings are applied as pyserial does it."""
        with self._state:
            self._received.clear()
            self._lost = False
        self._applied = None
        super().open()

    def close(self) -> None:
        """Disconnect, and return only once the reader thread is gone."""
        self.is_open = False
        connection, self._socket = self._socket, None
        if connection is not None:
            with contextlib.suppress(OSError):  # if the other side was faster
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        thread, self._thread = self._thread, None
        if thread is not None and thread is not threading.current_thread():
            thread.join(7)

    # Settings

    def _reconfigure_port(self) -> None:
        wanted = (
            self.baudrate,
            self.bytesize,
            self.parity,
            self.stopbits,
            self.rtscts,
            self.xonxoff,
        )
        if wanted == self._applied and self.write_timeout is None:
            return
        self._applied = None
        if self.write_timeout is not None:
            # esptool tries, and goes on without one if a port says so.
            raise NotImplementedError("write_timeout is not supported over RFC 2217")
        if self.rtscts and self.xonxoff:
            raise ValueError("xonxoff and rtscts together are not supported")
        settings = self._rfc2217_port_settings
        settings["baudrate"].set(self.baudrate.to_bytes(4, "big"))
        settings["datasize"].set(bytes([self.bytesize]))
        settings["parity"].set(bytes([rfc2217.RFC2217_PARITY_MAP[self.parity]]))
        settings["stopsize"].set(bytes([rfc2217.RFC2217_STOPBIT_MAP[self.stopbits]]))
        for option in settings.values():
            self._wait_for(option)
        if self.rtscts:
            self.rfc2217_set_control(rfc2217.SET_CONTROL_USE_HW_FLOW_CONTROL)
        elif self.xonxoff:
            self.rfc2217_set_control(rfc2217.SET_CONTROL_USE_SW_FLOW_CONTROL)
        else:
            self.rfc2217_set_control(rfc2217.SET_CONTROL_USE_NO_FLOW_CONTROL)
        self._applied = wanted

    def rfc2217_send_purge(self, value: bytes) -> None:
        """Empty buffers of the other side and wait for its answer."""
        option = self._rfc2217_options["purge"]
        option.set(value)
        self._wait_for(option)

    def rfc2217_set_control(self, value: bytes) -> None:
        """Set a line or flow control and wait for the answer (or 0.1 s where none can be read)."""
        option = self._rfc2217_options["control"]
        option.set(value)
        if self._ignore_set_control_answer:
            time.sleep(0.1)
        else:
            self._wait_for(option)

    def _wait_for(self, option: Any) -> None:
        def answered() -> bool:
            return self._lost or option.state != rfc2217.REQUESTED

        with self._state:
            in_time = self._state.wait_for(answered, self._network_timeout)
        if option.state == rfc2217.ACTIVE:
            return
        if not in_time:
            raise serial.SerialException(f"timeout while waiting for option {option.name!r}")
        if self._lost:
            raise serial.SerialException("connection lost")
        raise serial.SerialException(f"the other side refused {option.name}={option.value!r}")

    # Data

    @property
    def in_waiting(self) -> int:
        """Number of bytes that :meth:`read` returns at once; a lost connection raises."""
        if not self.is_open:
            raise serial.PortNotOpenError()
        waiting = len(self._received)
        if not waiting and self._lost:
            raise serial.SerialException("connection lost")
        return waiting

    def read(self, size: int = 1) -> bytes:
        """Return ``size`` bytes, or fewer if the timeout passes; lost connections raise."""
        if not self.is_open:
            raise serial.PortNotOpenError()
        with self._state:
            self._state.wait_for(lambda: len(self._received) >= size or self._lost, self.timeout)
            data = bytes(self._received[:size])
            del self._received[:size]
            if not data and size and self._lost:
                raise serial.SerialException("connection lost")
            return data

    def wait_readable(self, timeout: float) -> bool:
        """Wait until bytes are there; False if none came within ``timeout`` seconds."""
        with self._state:
            self._state.wait_for(lambda: self._received or self._lost, timeout)
        return self.in_waiting > 0

    def reset_input_buffer(self) -> None:
        """Forget what was received, here and on the other side."""
        if not self.is_open:
            raise serial.PortNotOpenError()
        self.rfc2217_send_purge(rfc2217.PURGE_RECEIVE_BUFFER)
        with self._state:
            self._received.clear()

    def write(self, data: Any) -> int | None:
        """Send all bytes."""
        if not self.is_open:
            raise serial.PortNotOpenError()
        payload = bytes(data)
        self._internal_raw_write(payload.replace(b"\xff", b"\xff\xff"))
        return len(payload)

    def _internal_raw_write(self, data: bytes) -> None:
        connection = self._socket
        if connection is None:
            raise serial.PortNotOpenError()
        with self._write_lock:
            try:
                connection.sendall(data)
            except OSError as error:
                raise serial.SerialException(f"connection lost: {error}") from error

    def _telnet_read_loop(self) -> None:
        """Split the stream into data and commands; runs in pyserial's reader thread."""
        connection = self._socket
        assert connection is not None
        split = _TelnetSplitter(
            self._telnet_process_command,
            self._telnet_negotiate_option,
            self._telnet_process_subnegotiation,
        )
        try:
            while self.is_open:
                try:
                    block = connection.recv(65536)
                except TimeoutError:
                    continue
                if not block:
                    break
                data = split.feed(block)
                with self._state:
                    self._received += data
                    self._state.notify_all()
        except OSError:
            pass  # a reset of the connection is a loss like any other
        finally:
            with self._state:
                self._lost = True
                self._state.notify_all()


class _TelnetSplitter:
    """Separates data from telnet commands; both may be cut anywhere by the network."""

    def __init__(
        self,
        command: Callable[[bytes], None],
        negotiate: Callable[[bytes, bytes], None],
        subnegotiate: Callable[[bytes], None],
    ) -> None:
        self._command = command
        self._negotiate = negotiate
        self._subnegotiate = subnegotiate
        self._suboption: bytearray | None = None
        self._pending = b""

    def feed(self, block: bytes) -> bytes:
        """Return the data bytes in ``block`` and act on the commands in it."""
        block = self._pending + block
        self._pending = b""
        data = bytearray()
        at = 0
        while True:
            found = block.find(b"\xff", at)
            plain = block[at:] if found < 0 else block[at:found]
            if self._suboption is None:
                data += plain
            else:
                self._suboption += plain
            if found < 0:
                return bytes(data)
            length = 3 if block[found + 1 : found + 2] in _WITH_OPTION else 2
            if len(block) < found + length:
                self._pending = block[found:]
                return bytes(data)
            self._act(block[found + 1 : found + 2], block[found + 2 : found + length], data)
            at = found + length

    def _act(self, code: bytes, option: bytes, data: bytearray) -> None:
        if code == rfc2217.IAC:
            (data if self._suboption is None else self._suboption).append(0xFF)
        elif code == rfc2217.SB:
            self._suboption = bytearray()
        elif code == rfc2217.SE:
            suboption, self._suboption = self._suboption, None
            self._subnegotiate(bytes(suboption or b""))
        elif code in _WITH_OPTION:
            self._negotiate(code, option)
        else:
            self._command(code)


_WITH_OPTION = (rfc2217.DO, rfc2217.DONT, rfc2217.WILL, rfc2217.WONT)
