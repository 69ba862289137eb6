from __future__ import annotations

import random
import time
from pathlib import Path

import pytest
import soak
from link_board import Board, running

from bench.errors import BenchError
from bench.link import DeviceRebooted, DeviceSilent, Link, LinkError, PortGone
from bench.link.fault_spec import FaultSpec
from bench.link.faults import FaultyLine
from bench.link.mangler import Mangler

DATA = random.Random(5).randbytes(60_000)


def mangled(spec: FaultSpec, data: bytes, step: int, *, board_side: bool = True) -> bytes:
    mangler = Mangler(spec, "to host", board_side=board_side)
    out = []
    for at in range(0, len(data), step):
        out += mangler.feed(data[at : at + step], 0.0)
    return b"".join(piece for _, piece in out)


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("", FaultSpec()),
        ("drop=1e-4, seed=7", FaultSpec(drop=1e-4, seed=7)),
        ("latency=16ms,baud=921600", FaultSpec(latency=0.016, baud=921600)),
        ("delay=0.5s,hang=100", FaultSpec(delay=0.5, hang=100)),
        ("flip=0.5,dup=1,cut=0,text=1e-2,replay=.1,reset=1,close=2,rename=3",
         FaultSpec(flip=0.5, dup=1, text=0.01, replay=0.1, reset=1, close=2, rename=3)),
    ],
)  # fmt: skip
def test_spec(text: str, spec: FaultSpec) -> None:
    assert FaultSpec.parse(text) == spec
    assert FaultSpec.parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("drpo=1e-4", r"unknown key 'drpo' in 'drpo=1e-4'; known: drop, flip"),
        ("drop", "'drop' needs a value, as in drop=1e-4"),
        ("drop=", "'drop' needs a value"),
        ("drop=much", "'drop=much': not a number, as in drop=1e-4"),
        ("drop=2", "a rate is between 0 and 1"),
        ("drop=nan", "a rate is between 0 and 1"),
        ("drop=0.1,drop=0.2", "'drop' is given twice"),
        ("latency=16", "a time needs its unit, ms or s"),
        ("latency=xms", "not a time, as in latency=16ms"),
        ("latency=-1ms", "between 0 and 3600 s"),
        ("hang=soon", "not a whole number"),
        ("hang=-1", "may not be negative"),
    ],
)
def test_wrong_spec(text: str, message: str) -> None:
    with pytest.raises(BenchError, match=message):
        FaultSpec.parse(text)


def test_no_faults_change_nothing() -> None:
    assert mangled(FaultSpec(), DATA, 1000) == DATA


@pytest.mark.parametrize("key", ["drop", "flip", "dup", "cut", "text"])
def test_the_same_seed_hits_the_same_bytes_however_they_come(key: str) -> None:
    spec = FaultSpec(**{key: 1e-3}, seed=11)  # type: ignore[arg-type]
    first = mangled(spec, DATA, 60_000)
    assert first != DATA
    assert mangled(spec, DATA, 7) == mangled(spec, DATA, 4095) == first
    other = FaultSpec(**{key: 1e-3}, seed=12)  # type: ignore[arg-type]
    assert mangled(other, DATA, 4095) != first


def test_rates_are_what_they_say() -> None:
    # 60 faults are expected; five standard deviations are 39.
    assert abs(len(DATA) - len(mangled(FaultSpec(drop=1e-3), DATA, 4095)) - 60) < 39
    assert abs(len(mangled(FaultSpec(dup=1e-3), DATA, 4095)) - len(DATA) - 60) < 39
    flipped = mangled(FaultSpec(flip=1e-3), DATA, 4095)
    differing = [a ^ b for a, b in zip(flipped, DATA, strict=True) if a != b]
    assert abs(len(differing) - 60) < 39
    assert all(bin(difference).count("1") == 1 for difference in differing)


def test_only_the_board_writes_text() -> None:
    assert mangled(FaultSpec(text=1e-2), DATA, 4095, board_side=False) == DATA


def test_pacing() -> None:
    mangler = Mangler(FaultSpec(baud=10_000, latency=0.5), "to host", board_side=True)
    pieces = mangler.feed(bytes(1000), 100.0) + mangler.feed(bytes(500), 100.1)
    assert sum(len(piece) for _, piece in pieces) == 1500
    assert pieces[-1][0] == pytest.approx(100.0 + 1.5 + 0.5)
    assert [due for due, _ in pieces] == sorted(due for due, _ in pieces)


@pytest.mark.parametrize("seed", range(len(soak.KINDS)))
def test_each_kind_of_fault(runner: Path, seed: int) -> None:
    outcome = soak.run(seed, runner)
    assert outcome.verdict in ("right", "failed"), outcome


@pytest.mark.parametrize("spec", ["drop=1e-3", "flip=1e-3", "dup=1e-3", "text=1e-3", "cut=1e-4"])
def test_a_bad_line_gives_the_right_bytes(board: Board, spec: str) -> None:
    with (
        FaultyLine(board.url, FaultSpec.parse(f"{spec},seed=3")) as line,
        Link.open(line.url) as link,
    ):
        link.write("ram", 0, DATA)
        assert link.read("ram", 0, len(DATA)) == DATA
        counters = link.counters()
    assert line.faults > 0
    assert counters.host.resends > 0
    assert counters.device.bad_frames + counters.host.bad_frames > 0


def test_a_late_copy_never_overwrites(board: Board) -> None:
    """Every frame comes again up to 0.2 s later, while the same bytes are written anew."""
    with (
        FaultyLine(board.url, FaultSpec(replay=1.0, seed=1)) as line,
        Link.open(line.url) as link,
    ):
        for turn in range(30):
            data = bytes([turn]) * 3000
            link.write("ram", 0, data)
            assert link.read("ram", 0, 3000) == data
            time.sleep(0.01)  # so that copies are late within the test
        counters = link.counters()
    assert counters.device.stale + counters.device.duplicates > 0


def test_console_text_on_a_line_with_text(board: Board) -> None:
    """Lines that are written between frames come out whole and in order."""
    heard: list[bytes] = []
    with (
        FaultyLine(board.url, FaultSpec(text=2e-3, seed=2)) as line,
        Link.open(line.url, console=heard.append) as link,
    ):
        before = len(line.injected)  # some was, before the port was opened, and is lost
        link.write("ram", 0, DATA)
        assert link.read("ram", 0, len(DATA)) == DATA
        injected = line.injected[before:].splitlines()
        link.ping()  # what was injected before has come now
    lines = b"".join(heard).splitlines()
    assert injected
    # Plain lines are saved even out of the middle of a frame.
    for text in {b"I (1234) main: still alive", soak_line(b"Guru")}:
        assert sum(text in line for line in lines) >= injected.count(text)


def soak_line(start: bytes) -> bytes:
    from bench.link.mangler import CONSOLE_LINES

    return next(line for line in CONSOLE_LINES if line.startswith(start)).strip()


def test_hang_is_named_and_ended_by_a_reset(board: Board) -> None:
    with FaultyLine(lambda: board.url, FaultSpec(hang=5000), reset=board.reset) as line:
        with Link.open(line.url) as link, pytest.raises(DeviceSilent, match=line.url):
            link.write("ram", 0, DATA)
        line.reset()
        with Link.open(line.url) as link:
            link.write("ram", 0, DATA)


def test_reset_in_mid_run(board: Board) -> None:
    spec = FaultSpec(reset=20_000)
    with (
        FaultyLine(lambda: board.url, spec, reset=board.reset) as line,
        Link.open(line.url) as link,
    ):
        with pytest.raises(DeviceRebooted):
            link.write("ram", 0, DATA)
        link.reconnect()
        link.write("ram", 0, DATA)
        assert link.read("ram", 0, len(DATA)) == DATA


def test_close_and_rename(runner: Path) -> None:
    with running(runner) as board, FaultyLine(board.url, FaultSpec(close=9000)) as line:
        with Link.open(line.url) as link, pytest.raises(PortGone, match=line.url):
            link.write("ram", 0, DATA)
        with pytest.raises(LinkError):
            Link.open(line.url)
    with running(runner) as board, FaultyLine(board.url, FaultSpec(rename=9000)) as line:
        before = line.url
        with Link.open(before) as link, pytest.raises(PortGone, match=before):
            link.write("ram", 0, DATA)
        with Link.open(line.url) as link:
            link.write("ram", 0, DATA)


def test_a_board_that_dies_closes_the_line(board: Board) -> None:
    with FaultyLine(board.url, FaultSpec()) as line, Link.open(line.url) as link:
        board.process.kill()
        with pytest.raises(PortGone):
            while True:
                link.ping()


def test_reset_needs_a_board_that_can(board: Board) -> None:
    with pytest.raises(BenchError, match="needs a board that the bench can reset"):
        FaultyLine(board.url, FaultSpec(reset=1))
