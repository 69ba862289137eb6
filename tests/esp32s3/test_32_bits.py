"""The shared firmware as 32-bit code: the standard kernel cases, and every test of the link."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import test_link_device
import test_link_faults
import test_link_framing
import test_link_host
from link_board import HERE, Board, compile_device, running

from bench.cases.kernel import standard_kernel_cases
from bench.lab.host import HostBoard
from bench.link import DeviceRefused, Link
from bench.runs.kernels import run_kernel_case
from bench.runs.session import BoardSession

# This board has no ExecuTorch.
NEEDS_PROGRAMS = {"test_hello", "test_a_refusal_names_port_request_and_reason"}


@pytest.fixture(scope="module")
def runner(board_of_32_bits: Path) -> Path:
    return board_of_32_bits


@pytest.fixture
def board(runner: Path) -> Iterator[Board]:
    with running(runner) as board:
        yield board


@pytest.fixture
def link(board: Board) -> Iterator[Link]:
    with Link.open(board.url) as link:
        yield link


@pytest.fixture(scope="module")
def device(can_make_32_bits: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("device") / "device"
    return compile_device(made, HERE / "device_main.cpp", "-m32")


def of(module: object) -> dict[str, object]:
    """Return a module's tests and the fixtures they use beside the ones above."""
    mine = {"runner", "board", "link", "device", *NEEDS_PROGRAMS}
    return {
        name: value
        for name, value in vars(module).items()
        if name not in mine
        and (name.startswith("test_") or "fixture" in type(value).__name__.lower())
        and callable(value)
    }


globals().update(of(test_link_framing))
globals().update(of(test_link_device))
globals().update(of(test_link_host))
globals().update(of(test_link_faults))


def test_is_a_program_of_32_bits(runner: Path) -> None:
    identification = runner.read_bytes()[:5]
    assert identification == b"\x7fELF\x01"  # ELFCLASS32


def test_says_that_it_runs_no_programs(link: Link) -> None:
    assert link.hello.programs is None
    link.write("program", 0, bytes(64))
    with pytest.raises(DeviceRefused, match="without a runtime for programs"):
        link.load_program("program", 0, 64)


def test_standard_kernel_cases(runner: Path) -> None:
    cases = [case for case in standard_kernel_cases() if case.group != "all-pairs"]
    pairs = [case for case in standard_kernel_cases() if case.group == "all-pairs"]
    with BoardSession(HostBoard(runner)) as session:
        results = [r for c in (*cases, *pairs[::5]) for r in run_kernel_case(session.link, c)]
    assert len(results) > 400
    assert [r.name for r in results if r.verdict != "pass"] == []
