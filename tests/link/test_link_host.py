"""The whole link: the Python client and a host runner."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from link_board import Board, listening, pty_with

from bench.errors import BenchError
from bench.link import (
    DeviceRebooted,
    DeviceRefused,
    DeviceSilent,
    KernelParams,
    KernelRequest,
    Link,
    LinkError,
    Place,
    PortBusy,
    PortGone,
    ProtocolMismatch,
)
from bench.link.exchange import Exchange
from bench.link.framing import Decoder, Frame, encode
from bench.link.protocol import (
    CRC32_REQUEST,
    HELLO_REPLY,
    READ_REQUEST,
    SEQUENCE_WINDOW,
    Type,
)

PARAMS = KernelParams(3, -5, 7, 1 << 30, -5, scale1=0.1, scale2=0.2, scale_out=0.3)


def kernel(elements: int, variant: str = "native", **more: object) -> KernelRequest:
    return KernelRequest(
        variant, Place("ram", 0), Place("ram", 4096), Place("ram", 8192), elements, PARAMS,
        **more,  # type: ignore[arg-type]
    )  # fmt: skip


def inject(exchange: Exchange, frame: bytes) -> None:
    """Put a frame on the line that the link knows nothing of."""
    with exchange._lock:
        exchange._transport.send(frame)


def test_hello(link: Link) -> None:
    hello = link.hello
    assert hello.target == "host" and hello.protocol == 1
    assert hello.kernels["mul_int8"][0] == "native" and "portable" in hello.kernels["mul_int8"]
    assert hello.memory("ram").size == 1 << 20
    assert hello.programs is not None and "executorch" in str(hello.programs["runtime"])
    assert hello.clock == {"unit": "ns", "hz": 1_000_000_000}
    assert hello.reset_reason == "power on"
    assert len(hello.firmware) == 64


@pytest.mark.parametrize("size", [0, 1, 8191, 8192, 8193, 65536, 300_001])
def test_what_is_written_is_read(link: Link, size: int) -> None:
    data = random.Random(size).randbytes(size)
    link.write("ram", 5, data)
    assert link.read("ram", 5, size) == data
    assert link.crc32("ram", 5, size) == zlib.crc32(data)


def test_fill(link: Link) -> None:
    link.fill("ram", 10, 100, 0xA5)
    assert link.read("ram", 9, 102) == b"\0" + b"\xa5" * 100 + b"\0"


def test_kernel(link: Link) -> None:
    x, y = bytes(range(200)), bytes(range(50, 250))
    link.write("ram", 0, x)
    link.write("ram", 4096, y)
    reply = link.run_kernel(kernel(200, warmup=2, samples=9, sample_place=Place("ram", 20_001)))
    assert reply.variant == "native"
    assert reply.vector_elements + reply.scalar_elements == 200
    samples = memoryview(link.read("ram", 20_001, 36)).cast("I")
    assert all(ticks >= reply.overhead_ticks // 2 for ticks in samples)
    native = link.read("ram", 8192, 200)
    assert link.run_kernel(kernel(200, "portable")).variant == "portable"
    portable = link.read("ram", 8192, 200)
    # 7 + (x - 3) * (y + 5) / 2^6, to within a rounding: the multiplier is 1/2, the shift -5.
    for a, b, out in zip(memoryview(x).cast("b"), memoryview(y).cast("b"),
                         memoryview(native).cast("b"), strict=True):  # fmt: skip
        exact = 7 + (a - 3) * (b + 5) / 64
        assert abs(max(-128, min(127, exact)) - out) <= 1
    assert portable != native  # the portable variant goes by the scales, which say otherwise


def test_kernel_requests_that_cannot_be(link: Link) -> None:
    with pytest.raises(LinkError, match="no variant 'fast' here; it has native, portable"):
        link.run_kernel(kernel(4, "fast"))
    with pytest.raises(
        LinkError, match="no memory 'psram' on this board; it has ram, constants, program"
    ):
        link.write("psram", 0, b"x")
    with pytest.raises(LinkError, match="are outside its 1,048,576 bytes"):
        link.read("ram", 1 << 20, 1)
    with pytest.raises(LinkError, match="need a place"):
        link.run_kernel(kernel(4, samples=3))


def test_a_refusal_names_port_request_and_reason(link: Link) -> None:
    link.write("program", 0, b"no program at all" * 10)
    with pytest.raises(DeviceRefused) as refusal:
        link.load_program("program", 0, 170)
    assert link.url in str(refusal.value) and "LOAD_PROGRAM" in str(refusal.value)
    assert "PROGRAM_FAILED" in str(refusal.value)
    link.ping()  # the session goes on


def test_counters_of_a_good_line(link: Link) -> None:
    link.write("ram", 0, bytes(100_000))
    counters = link.counters()
    assert counters.device.bad_frames == counters.host.bad_frames == 0
    assert counters.device.duplicates == counters.device.stale == 0
    assert counters.device.text_bytes == 0
    assert counters.device.frames > 100_000 // link.hello.chunk


def test_socket(runner: Path) -> None:
    with listening(runner) as address:
        for _ in range(2):  # one client after the other
            with Link.open(f"socket://{address}") as link:
                data = os.urandom(200_000)
                link.write("ram", 0, data)
                assert link.read("ram", 0, len(data)) == data
                before = link.hello.boot_id
                assert link.reset().boot_id != before


def test_reset_by_command(link: Link) -> None:
    link.write("ram", 0, b"gone after this")
    before = link.hello.boot_id
    hello = link.reset()
    assert hello.boot_id != before and hello.reset_reason == "reset by command"
    assert link.read("ram", 0, 15) == bytes(15)


def test_console_text_is_heard_without_a_request(board: Board) -> None:
    heard: list[bytes] = []
    came = threading.Event()

    def console(text: bytes) -> None:
        heard.append(text)
        if b"\n" in text:
            came.set()

    with Link.open(board.url, console=console) as link:
        link.reset()
        assert came.wait(10)
        assert b"bench runner" in b"".join(heard) and b"".join(heard).endswith(b"ready\r\n")


def test_a_device_that_restarts_by_itself_is_noticed(link: Link) -> None:
    # A RESET that the link does not know of is to it what a watchdog's would be.
    exchange = link.exchange
    inject(exchange, encode(Type.RESET, exchange._session, exchange._sequence, b""))
    exchange._sequence += 1
    with pytest.raises(DeviceRebooted, match="restarted before WRITE"):
        while True:
            link.write("ram", 0, bytes(10_000))
    link.reconnect()
    link.write("ram", 0, b"again")
    assert link.read("ram", 0, 5) == b"again"


def test_another_program_takes_the_board_over(board: Board, link: Link) -> None:
    with pytest.raises(PortBusy):
        Link.open(board.url)
    exchange = link.exchange
    session = exchange._session + 1
    inject(exchange, encode(Type.OPEN, session, 5, b""))
    with pytest.raises(LinkError, match="another program opened this board"):
        link.read("ram", 0, 10)


def test_busy_port_names_its_holder(board: Board, link: Link) -> None:
    with pytest.raises(PortBusy, match=rf"this program itself \(process {os.getpid()}\)"):
        Link.open(board.url)


def test_busy_port_names_another_program(board: Board) -> None:
    code = (
        "import serial, sys, time; port = serial.Serial(sys.argv[1], exclusive=True);"
        "print('open', flush=True); time.sleep(60)"
    )
    other = subprocess.Popen([sys.executable, "-c", code, board.url], stdout=subprocess.PIPE)
    try:
        assert other.stdout is not None and other.stdout.readline() == b"open\n"
        with pytest.raises(PortBusy, match=rf"process {other.pid}\)"):
            Link.open(board.url)
    finally:
        other.kill()
        other.wait()
        other.stdout.close()  # type: ignore[union-attr]


@pytest.mark.parametrize("url", ["/dev/ttyNOTHERE", "socket://127.0.0.1:1", "nonsense://x"])
def test_a_port_that_is_not_there(url: str) -> None:
    with pytest.raises(LinkError, match=url):
        Link.open(url)


def test_device_dies(board: Board, link: Link) -> None:
    board.process.kill()
    board.process.wait()
    with pytest.raises(PortGone, match=f"{board.url} closed"):
        link.write("ram", 0, bytes(100_000))
    with pytest.raises(PortGone):
        link.ping()


def test_device_dies_in_mid_transfer(board: Board, link: Link) -> None:
    threading.Timer(0.05, board.process.kill).start()
    with pytest.raises(PortGone):
        while True:
            link.write("ram", 0, bytes(1 << 20))


def test_device_hangs(board: Board, link: Link) -> None:
    os.kill(board.process.pid, signal.SIGSTOP)
    with pytest.raises(DeviceSilent, match=rf"{board.url}: no answer to READ of 10 bytes"):
        link.read("ram", 0, 10)
    os.kill(board.process.pid, signal.SIGCONT)
    assert link.read("ram", 0, 10) == bytes(10)


def test_device_hangs_while_it_works(board: Board, link: Link) -> None:
    slow = kernel(1000, samples=200_000, sample_place=Place("ram", 20_000))
    threading.Timer(0.02, os.kill, (board.process.pid, signal.SIGSTOP)).start()
    with pytest.raises(DeviceSilent, match="no answer to RUN_KERNEL mul_int8/native"):
        link.run_kernel(slow, seconds=0.1)
    os.kill(board.process.pid, signal.SIGCONT)


def test_a_failed_write_never_lands_later(board: Board, link: Link) -> None:
    """What was under way when a request failed must not overwrite newer data."""
    os.kill(board.process.pid, signal.SIGSTOP)
    with pytest.raises(DeviceSilent):
        link.write("ram", 0, b"old" * 1000)
    # The device finds the old frames on its line before the new ones, and acts on them first.
    exchange = link.exchange
    old = encode(Type.WRITE, exchange._session, exchange._sequence - 64, bytes(5) + b"old" * 10)
    os.kill(board.process.pid, signal.SIGCONT)
    link.write("ram", 0, b"new" * 1000)
    inject(exchange, old)  # and a copy that was slower still
    assert link.read("ram", 0, 3000) == b"new" * 1000
    assert link.counters().device.stale >= 1


def test_silence_is_one_clear_error() -> None:
    with pty_with(b"") as (url, _), pytest.raises(DeviceSilent, match="not a byte came"):
        Link.open(url, patience=0.3)


def test_garbage_is_one_clear_error() -> None:
    garbage = random.Random(1).randbytes(3000) + b"\0\xc1 this is no frame \0"
    stop = threading.Event()

    def speak(fd: int) -> None:
        os.set_blocking(fd, False)
        while not stop.wait(0.01):
            with contextlib.suppress(BlockingIOError):
                os.write(fd, garbage)

    with pty_with(b"") as (url, fd):
        speaker = threading.Thread(target=speak, args=(fd,))
        speaker.start()
        try:
            with pytest.raises(
                BenchError, match=r"only [0-9]+ bytes of console text and [0-9]+ dam"
            ):
                Link.open(url, patience=0.5)
        finally:
            stop.set()
            speaker.join()


DESCRIPTION = json.dumps(
    {
        "protocol": 1, "target": "fake", "board": {"id": "1", "description": ""}, "firmware": "",
        "boot_id": 1, "reset_reason": "", "kernels": {}, "memories": [{"name": "ram", "size": 99}],
        "chunk": 1024, "window": 4, "programs": None, "clock": {"unit": "ns", "hz": 1}, "build": {},
    }
).encode()  # fmt: skip


Meddler = Callable[[Frame, bytes], bytes]


@contextlib.contextmanager
def answering(
    description: bytes,
    *,
    version: int = 1,
    wrong_crc: bool = False,
    chunk: int = 1024,
    meddle: Meddler = lambda frame, reply: reply,
) -> Iterator[str]:
    """A device of few words; its memory holds what it says of itself.

    ``meddle`` turns each reply's wire bytes into what is sent.
    """
    stop = threading.Event()

    def answer(frame: Frame) -> bytes:
        if frame.type == Type.HELLO:
            # What another version says here is anybody's guess.
            fields = (1, 2, chunk, 8, len(description))
            return HELLO_REPLY.pack(*fields) if version == 1 else b""
        memory, offset, size = (READ_REQUEST if frame.type == Type.READ else CRC32_REQUEST
                                ).unpack_from(frame.payload.ljust(9, b"\0"))  # fmt: skip
        data = description[offset : offset + size]
        wrong = wrong_crc and memory == 0
        return {
            Type.OPEN: bytes(4),
            Type.READ: data,
            Type.WRITE: b"",
            Type.CRC32: (zlib.crc32(data) ^ wrong).to_bytes(4, "little"),
        }[Type(frame.type)]

    def serve(fd: int) -> None:
        decoder = Decoder(lambda text: None)
        os.set_blocking(fd, False)
        while not stop.wait(0.001):
            with contextlib.suppress(BlockingIOError):
                for frame in decoder.feed(os.read(fd, 4096)):
                    reply = encode(frame.type | 0x80, frame.session, frame.sequence,
                                   answer(frame), attempt=frame.attempt,
                                   version=version)  # fmt: skip
                    os.write(fd, meddle(frame, reply))

    with pty_with(b"") as (url, fd):
        server = threading.Thread(target=serve, args=(fd,))
        server.start()
        try:
            yield url
        finally:
            stop.set()
            server.join()


@pytest.mark.parametrize(
    ("version", "description", "message"),
    [
        (2, b"{}", "speaks version 2"),
        (1, b"{", "describes itself in no way"),
        (1, b"[]", "describes itself in no way"),
        (1, b'{"memories": []}', "describes itself in no way"),
    ],
)
def test_another_firmware_is_one_clear_error(
    version: int, description: bytes, message: str
) -> None:
    with (
        answering(description, version=version) as url,
        pytest.raises(ProtocolMismatch, match=message),
    ):
        Link.open(url)


def test_a_transfer_counts_only_with_the_right_crc() -> None:
    with answering(DESCRIPTION) as url, Link.open(url) as link:
        assert link.read("ram", 3, 50) == DESCRIPTION[3:53]
        link.write("ram", 3, DESCRIPTION[3:53])
    with answering(DESCRIPTION, wrong_crc=True) as url, Link.open(url) as link:
        with pytest.raises(LinkError, match=f"{url}: READ of 50 bytes.*other bytes came"):
            link.read("ram", 3, 50)
        with pytest.raises(LinkError, match=f"{url}: WRITE of 50 bytes.*holds other bytes"):
            link.write("ram", 3, DESCRIPTION[3:53])


def test_answers_of_another_session_are_nobody_s() -> None:
    def meddle(frame: Frame, reply: bytes) -> bytes:
        late = encode(frame.type | 0x80, frame.session ^ 1, frame.sequence, bytes(50))
        return late + reply if frame.type == Type.READ else reply

    with answering(DESCRIPTION, meddle=meddle) as url, Link.open(url) as link:
        assert link.read("ram", 3, 50) == DESCRIPTION[3:53]


def test_a_device_that_changes_its_version_is_noticed() -> None:
    def meddle(frame: Frame, reply: bytes) -> bytes:
        if frame.type != Type.WRITE:
            return reply
        return encode(frame.type | 0x80, frame.session, frame.sequence, b"", version=3)

    with (
        answering(DESCRIPTION, meddle=meddle) as url,
        Link.open(url) as link,
        pytest.raises(ProtocolMismatch, match="speaks version 3"),
    ):
        link.write("ram", 0, b"x")


def test_no_request_gets_so_far_ahead_that_one_in_flight_is_stale() -> None:
    lost: list[Frame] = []
    spread = 0

    def meddle(frame: Frame, reply: bytes) -> bytes:
        nonlocal spread
        if 0 < len(lost) < 15:
            spread = max(spread, frame.sequence - lost[0].sequence)
        third = frame.type == Type.READ and READ_REQUEST.unpack_from(frame.payload)[1] == 24
        if third and len(lost) < 15:
            lost.append(frame)
            return b""
        return reply

    # Chunks of 8 bytes: more requests than the device's window has places.
    with (
        answering(DESCRIPTION * 3, chunk=8, meddle=meddle) as url,
        pytest.raises(ProtocolMismatch),  # three descriptions are none
    ):
        Link.open(url)
    assert len(lost) == 15
    assert 32 < spread < SEQUENCE_WINDOW


def test_port_is_free_after_a_failure(board: Board) -> None:
    os.kill(board.process.pid, signal.SIGSTOP)
    with pytest.raises(DeviceSilent):
        Link.open(board.url, patience=0.2)
    os.kill(board.process.pid, signal.SIGCONT)
    Link.open(board.url).close()


def test_runner_ends_with_the_bench(runner: Path) -> None:
    """kill -9 of the program that started it: the line closes, and the parent is gone."""
    code = (
        "import subprocess, sys, time\n"
        "from link_board import Board\n"
        "from pathlib import Path\n"
        "print(Board(Path(sys.argv[1])).process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    bench = subprocess.Popen(
        [sys.executable, "-c", code, str(runner)], stdout=subprocess.PIPE,
        cwd=Path(__file__).parent,
    )  # fmt: skip
    assert bench.stdout is not None
    pid = int(bench.stdout.readline())
    bench.kill()
    bench.wait()
    bench.stdout.close()
    deadline = time.monotonic() + 5
    while Path(f"/proc/{pid}/status").exists() and time.monotonic() < deadline:
        if "zombie" in Path(f"/proc/{pid}/status").read_text():
            break
        time.sleep(0.01)
    else:
        assert not Path(f"/proc/{pid}").exists()


def test_listening_runner_ends_with_its_parent(runner: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "process = subprocess.Popen([sys.argv[1], '--listen', '127.0.0.1:0'])\n"
        "time.sleep(0.2)\n"
        "print(process.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    bench = subprocess.Popen([sys.executable, "-c", code, str(runner)], stdout=subprocess.PIPE)
    assert bench.stdout is not None
    pid = int(bench.stdout.readline())
    bench.kill()
    bench.wait()
    bench.stdout.close()
    deadline = time.monotonic() + 5
    while time.monotonic() < deadline:
        try:
            if "(zombie)" in Path(f"/proc/{pid}/status").read_text():
                return
        except OSError:
            return
        time.sleep(0.01)
    pytest.fail("it still runs")


def test_runner_outlives_the_thread_that_started_it(runner: Path) -> None:
    boards: list[Board] = []

    def start() -> None:
        boards.append(Board(runner))
        Link.open(boards[0].url).close()  # it runs, and has asked to die with its parent

    thread = threading.Thread(target=start)
    thread.start()
    thread.join()
    try:
        with Link.open(boards[0].url) as link:
            link.ping()
    finally:
        boards[0].stop()


@pytest.mark.parametrize("arguments", [["--listen"], ["--listen", "nonsense"], ["--what"]])
def test_runner_refuses_wrong_arguments(runner: Path, arguments: list[str]) -> None:
    done = subprocess.run(
        [runner, *arguments],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
