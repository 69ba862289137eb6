"""The fast RFC 2217 client: what it leaves out, and that it leaves out nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest
import serial
from virtual_boards import read_until

from bench.lab import rfc2217
from bench.lab.image import BuildFolder
from bench.lab.reset import RtsDtr
from bench.lab.virtual_s3 import VirtualS3

MakeBoard = Callable[..., VirtualS3]


class _Counting(rfc2217.Serial):
    """Counts the settings and commands sent to the server."""

    sent = 0

    def rfc2217_send_subnegotiation(self, option: bytes, value: bytes = b"") -> None:
        self.sent += 1
        super().rfc2217_send_subnegotiation(option, value)


def test_pyserial_opens_urls_with_it(make_board: MakeBoard) -> None:
    rfc2217.register()
    rfc2217.register()
    assert serial.protocol_handler_packages.count("bench.lab.urlhandler") == 1
    with serial.serial_for_url(make_board().url) as port:
        assert type(port) is rfc2217.Serial
    assert type(serial.serial_for_url("loop://")) is not rfc2217.Serial


def test_only_changed_settings_are_negotiated(make_board: MakeBoard) -> None:
    with _Counting(make_board().url) as port:
        port.sent = 0
        for seconds in (0.1, 1, 3, None):
            port.timeout = seconds
        port.apply_settings(port.get_settings())
        assert port.sent == 0
        port.baudrate = 921_600
        assert port.sent == 5  # four settings and flow control
        port.baudrate = 921_600
        assert port.sent == 5


def test_settings_are_negotiated_anew_after_a_reconnect(make_board: MakeBoard) -> None:
    port = _Counting(make_board().url)
    port.close()
    port.sent = 0
    port.open()
    assert port.sent >= 5
    port.close()


def test_a_write_timeout_is_refused_as_by_pyserial(make_board: MakeBoard) -> None:
    with rfc2217.Serial(make_board().url) as port:
        with pytest.raises(NotImplementedError):
            port.write_timeout = 3
        port.write_timeout = None
        port.baudrate = 9600


def test_a_lost_connection_raises_everywhere(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build)
    port = rfc2217.Serial(board.url, timeout=10)
    RtsDtr().pulse(port)
    read_until(port, b"esp32s3\r\n")
    port.write(b"last words")
    assert port.read(10) == b"last words"
    board.close()
    with pytest.raises(serial.SerialException):
        port.read(1)
    with pytest.raises(serial.SerialException):
        _ = port.in_waiting
    with pytest.raises(serial.SerialException):
        port.rts = True
    port.close()
    with pytest.raises(serial.PortNotOpenError):
        port.read(1)


def test_what_came_before_the_loss_is_delivered(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build)
    with rfc2217.Serial(board.url, timeout=10) as port:
        RtsDtr().pulse(port)
        read_until(port, b"esp32s3\r\n")
        port.write(b"last words")
        while port.in_waiting < 10:
            assert port.wait_readable(10)
        board.close()
        assert port.read(100) == b"last words"


def test_timeouts_end_reads_and_waits(make_board: MakeBoard) -> None:
    with rfc2217.Serial(make_board("silent").url, timeout=0.01) as port:
        assert port.read(5) == b""
        assert not port.wait_readable(0.01)
        port.timeout = 0
        assert port.read(5) == b""


def test_commands_and_data_are_told_apart_at_any_cut() -> None:
    rng = random.Random(7)
    for _ in range(300):
        data, commands, stream = b"", [], b""
        for _ in range(rng.randrange(1, 12)):
            payload = bytes(rng.choice(b"\xff\xf0\xfa\xfb\x00\x2c") for _ in range(5))
            kind = rng.randrange(4)
            escaped = payload.replace(b"\xff", b"\xff\xff")
            if kind == 0:
                data += payload
                stream += escaped
            elif kind == 1:
                commands.append(("sub", payload))
                stream += b"\xff\xfa" + escaped + b"\xff\xf0"
            elif kind == 2:
                commands.append(("option", b"\xfb\xff"))
                stream += b"\xff\xfb\xff"
            else:
                commands.append(("command", b"\xf1"))
                stream += b"\xff\xf1"
        seen: list[tuple[str, bytes]] = []
        split = rfc2217._TelnetSplitter(
            lambda code, seen=seen: seen.append(("command", code)),
            lambda code, option, seen=seen: seen.append(("option", code + option)),
            lambda content, seen=seen: seen.append(("sub", content)),
        )
        received, at = b"", 0
        while at < len(stream):
            size = rng.randrange(1, 6)
            received += split.feed(stream[at : at + size])
            at += size
        assert (received, seen) == (data, commands)
