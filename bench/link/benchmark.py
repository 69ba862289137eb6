"""What the link costs, each figure beside the bare alternative measured in the same run."""

from __future__ import annotations

import json
import os
import select
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bench.errors import BenchError
from bench.link.client import Link
from bench.link.exchange import Request
from bench.link.fault_spec import FaultSpec
from bench.link.faults import FaultyLine
from bench.link.framing import encode
from bench.link.protocol import OPEN_REPLY, READ_REQUEST, REPLY, WRITE_REQUEST, Type
from bench.link.pty_process import PtyProcess

_SIZE = 1 << 20
_ROUNDS = 30
_BAUD = 921_600
_BYTES_A_SECOND = _BAUD / 10
_PACED_SIZE = 1 << 20
_LATENCY = 0.016
_PINGS = 300
_EMBEDDED_PINGS = 20

# Takes all the bytes, then returns them.
_BARE_ECHO = """
import os, sys
size, chunk = int(sys.argv[1]), int(sys.argv[2])
while True:
    parts, received = [], 0
    while received < size:
        parts.append(os.read(0, 65536))
        received += len(parts[-1])
    data = memoryview(b"".join(parts))
    for at in range(0, size, chunk):
        part = data[at : at + chunk]
        while part:
            part = part[os.write(1, part) :]
"""


@dataclass(frozen=True)
class Paced:
    """Payload rates over a line of 921,600 baud, bytes a second."""

    latency: float
    write: float
    read: float


@dataclass(frozen=True)
class BenchmarkResult:
    """Figures and their comparisons.

    Attributes:
        throughput_ratio: ``Link.write`` and then ``Link.read`` of the same bytes, by a bare echo
            of the same traffic: a process that takes all the bytes and then returns them, in
            writes of a chunk. The median of the rounds' ratios, as is ``pipelined_ratio``.
        pipelined_ratio: Chunks written and read back in one stream, by a bare echo with as many
            chunks in flight, both ways at once: what framing, checking and bookkeeping cost where
            the line is a pty of the same machine, far faster than any serial line.
        paced_ratio: The worst paced rate, by the 92,160 bytes a second of the line.
        round_trip_ratio: How many times longer pytest-embedded takes for an empty request.
        echo_rate: Bare echo, all out and then all back, bytes a second that went out and came back.
        link_rate: The same by ``Link.write`` and ``Link.read``.
        pipelined_echo_rate: Bare echo with a window of chunks in flight.
        pipelined_link_rate: The same through the link.
        write_rate: ``Link.write`` alone.
        read_rate: ``Link.read`` alone.
        paced: Paced rates, without and with added latency.
        round_trip: Seconds of an empty request, median.
        embedded_round_trip: The same through pytest-embedded.
        chunk: Data bytes of a frame, and of a write to the bare echo.
        window: Frames, or bare writes, in flight.
    """

    throughput_ratio: float
    pipelined_ratio: float
    paced_ratio: float
    round_trip_ratio: float
    echo_rate: float
    link_rate: float
    pipelined_echo_rate: float
    pipelined_link_rate: float
    write_rate: float
    read_rate: float
    paced: tuple[Paced, ...]
    round_trip: float
    embedded_round_trip: float
    chunk: int
    window: int


def run_benchmark(
    runner: Path, *, progress: Callable[[str], None] | None = None
) -> BenchmarkResult:
    """Measure a host runner; takes about half a minute.

    Args:
        runner: The host runner's executable.
        progress: Called with a line for people before each part.

    Raises:
        BenchError: Something needed for a comparison does not work.
    """
    say = progress or (lambda line: None)
    say(f"throughput: {_ROUNDS} x {_SIZE:,} bytes through the link and through a bare echo")
    chunk, window, rounds = _throughput(runner)
    say("round trip: an empty request through the link and through pytest-embedded")
    round_trip, embedded = _round_trips(runner)
    say(f"paced: {_PACED_SIZE:,} bytes each way at {_BAUD:,} baud, with and without latency")
    with ThreadPoolExecutor() as pool:
        paced = tuple(pool.map(lambda latency: _paced(runner, latency), (0.0, _LATENCY)))
    ratio = {
        ours: statistics.median(times[bare] / times[ours] for times in rounds)
        for ours, bare in (("link", "echo"), ("pipelined link", "pipelined echo"))
    }
    rates = {what: _SIZE / statistics.median(times[what] for times in rounds) for what in rounds[0]}
    worst = min(rate for line in paced for rate in (line.write, line.read))
    return BenchmarkResult(
        throughput_ratio=ratio["link"],
        pipelined_ratio=ratio["pipelined link"],
        paced_ratio=worst / _BYTES_A_SECOND,
        round_trip_ratio=embedded / round_trip,
        echo_rate=rates["echo"],
        link_rate=rates["link"],
        pipelined_echo_rate=rates["pipelined echo"],
        pipelined_link_rate=rates["pipelined link"],
        write_rate=rates["write"],
        read_rate=rates["read"],
        paced=paced,
        round_trip=round_trip,
        embedded_round_trip=embedded,
        chunk=chunk,
        window=window,
    )


def print_benchmark(result: BenchmarkResult, console: Console) -> None:
    """Print the comparison as a table."""
    table = Table(title=f"the link, chunks of {result.chunk:,} bytes, {result.window} in flight")
    for heading in ("what", "link", "bare", "ratio"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for what, ours, bare, ratio in (
        ("all out, then all back", result.link_rate, result.echo_rate, result.throughput_ratio),
        ("both ways at once", result.pipelined_link_rate, result.pipelined_echo_rate,
         result.pipelined_ratio),
    ):  # fmt: skip
        table.add_row(f"{what}, by a bare echo", _rate(ours), _rate(bare), f"{ratio:.2f}")
    for line in result.paced:
        added = f", +{line.latency * 1000:.0f} ms" if line.latency else ""
        for way, rate in (("to", line.write), ("from", line.read)):
            table.add_row(
                f"{way} the device at {_BAUD:,} baud{added}", _rate(rate), _rate(_BYTES_A_SECOND),
                f"{rate / _BYTES_A_SECOND:.3f}",
            )  # fmt: skip
    table.add_row(
        "empty request, by pytest-embedded", f"{result.round_trip * 1e3:.3f} ms",
        f"{result.embedded_round_trip * 1e3:.1f} ms", f"{result.round_trip_ratio:.0f} x",
    )  # fmt: skip
    table.add_row("Link.write alone", _rate(result.write_rate), "", "")
    table.add_row("Link.read alone", _rate(result.read_rate), "", "")
    console.print(table)


def _rate(rate: float) -> str:
    return f"{rate / 1e6:.2f} MB/s" if rate >= 1e6 else f"{rate:,.0f} B/s"


@contextmanager
def _process(command: list[str]) -> Iterator[PtyProcess]:
    try:
        process = PtyProcess(command)
    except OSError as error:
        raise BenchError(f"cannot run {command[0]}: {error.strerror}") from error
    try:
        yield process
    finally:
        process.close()


def _throughput(runner: Path) -> tuple[int, int, list[dict[str, float]]]:
    """Return chunk, window and, for each round, the seconds of everything that is compared.

    A round does all there and back again, so that what else the machine does hits all alike.
    """
    data = os.urandom(_SIZE)
    with ExitStack() as stack:
        board = stack.enter_context(_process([str(runner)]))
        link = stack.enter_context(Link.open(board.url))
        chunk, window = link.hello.chunk, link.hello.window
        size = [str(_SIZE), str(chunk)]
        echo = stack.enter_context(_process([sys.executable, "-S", "-c", _BARE_ECHO, *size]))
        stream_echo = stack.enter_context(_process(["cat"]))
        work = {
            "echo": lambda: _echo(echo.anchor, data, chunk, len(data)),
            "write": lambda: link.write("ram", 0, data),
            "read": lambda: link.read("ram", 0, len(data)),
            "pipelined echo": lambda: _echo(stream_echo.anchor, data, chunk, chunk * window),
            "pipelined link": lambda: _stream(link, data),
        }
        rounds = []
        for _ in range(1 + _ROUNDS):
            times = dict.fromkeys(work, 0.0)
            for what in (*work, *reversed(work)):
                times[what] += _timed(work[what]) / 2
            times["link"] = times["write"] + times["read"]
            rounds.append(times)
    return chunk, window, rounds[1:]  # the first warms up


def _timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _echo(fd: int, data: bytes, chunk: int, in_flight: int) -> None:
    """Send ``data`` to a bare echo in writes of ``chunk`` bytes; read it all back.

    At most ``in_flight`` bytes are sent ahead of what came back.
    """
    os.set_blocking(fd, False)
    got: list[bytes] = []
    sent = received = 0
    while received < len(data):
        while sent < len(data) and sent - received < in_flight:
            try:
                sent += os.write(fd, data[sent : sent + chunk])
            except BlockingIOError:
                break
        more = [fd] if sent < len(data) and sent - received < in_flight else []
        readable, _, _ = select.select([fd], more, [])
        if readable:
            got.append(os.read(fd, 65536))
            received += len(got[-1])
    if b"".join(got) != data:
        raise BenchError("the bare echo returned other bytes than it was sent")


def _stream(link: Link, data: bytes) -> None:
    """Write each chunk and read it back, all in one stream, and check the whole's CRC."""
    chunk = link.hello.chunk
    got: dict[int, bytes] = {}

    def requests() -> Iterator[Request]:
        for at in range(0, len(data), chunk):
            part = data[at : at + chunk]
            yield Request(Type.WRITE, WRITE_REQUEST.pack(0, at) + part, tag=-1)
            yield Request(Type.READ, READ_REQUEST.pack(0, at, len(part)), answer=len(part), tag=at)

    link.exchange.run(requests(), "the stream", seconds=60, reply=got.__setitem__)
    del got[-1]
    if b"".join(got[at] for at in sorted(got)) != data:
        raise BenchError("the link returned other bytes than it was sent")
    link.crc32(link.hello.memories[0].name, 0, len(data))


def _paced(runner: Path, latency: float) -> Paced:
    data = os.urandom(_PACED_SIZE)
    spec = FaultSpec(baud=_BAUD, latency=latency)
    with (
        _process([str(runner)]) as board,
        FaultyLine(board.url, spec) as line,
        Link.open(line.url) as link,
    ):
        write = _timed(lambda: link.write("ram", 0, data))
        read = _timed(lambda: link.read("ram", 0, len(data)))
    return Paced(latency, _PACED_SIZE / write, _PACED_SIZE / read)


def _round_trips(runner: Path) -> tuple[float, float]:
    with _process([str(runner)]) as board:
        with Link.open(board.url) as link:
            link_seconds = [_timed(link.ping) for _ in range(_PINGS)]
            session, boot_id = link.exchange.session, link.hello.boot_id
        embedded_seconds = _embedded(board.url, session, boot_id)
    return statistics.median(link_seconds), statistics.median(embedded_seconds)


def _embedded(url: str, session: int, boot_id: int) -> list[float]:
    """Time the same frames through pytest-embedded on the same port."""
    reply = OPEN_REPLY.pack(boot_id)
    pairs = [
        (
            encode(Type.OPEN, session, sequence, b"").hex(),
            encode(Type.OPEN | REPLY, session, sequence, reply).hex(),
        )
        for sequence in range(1_000_000, 1_000_000 + _EMBEDDED_PINGS)
    ]
    with tempfile.TemporaryDirectory() as name:
        work = Path(name) / "pairs.json"
        work.write_text(json.dumps(pairs), encoding="utf-8")
        test = Path(__file__).with_name("embedded_round_trip.py")
        command = [
            sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", name,
            "-p", "no:cacheprovider", "-p", "no:esp-nn-bench", "--embedded-services", "serial",
            "--port", url, "--baud", str(_BAUD), "--root-logdir", name, str(test),
        ]  # fmt: skip
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, cwd=name,
            env={**os.environ, "BENCH_ROUND_TRIPS": str(work)},
        )  # fmt: skip
        if done.returncode != 0:
            last = (done.stdout.strip().splitlines() or ["no output"])[-1]
            raise BenchError(f"pytest-embedded could not be measured: {last}")
        seconds: list[float] = json.loads(work.with_suffix(".seconds").read_text(encoding="utf-8"))
    return seconds
