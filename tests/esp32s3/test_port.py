"""The port's own code, run as a process behind a pty: ESP-IDF is a stand-in, the chip is none."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from compiled_boards import ESPNN, FIRMWARE, HERE, compile_into
from idf_project import EXECUTORCH_INCLUDE, MAIN

from bench.cases.kernel import standard_kernel_cases
from bench.lab.host import HostBoard
from bench.link import KernelParams, KernelRequest, Link, Place
from bench.runs.kernels import run_kernel_case
from bench.runs.session import BoardSession


def compile_port(folder: Path, line: str) -> Path:
    main = [MAIN / f"{name}.cpp" for name in ("main", "esp32s3_port", "memories", "programs_none")]
    runner = sorted((FIRMWARE / "runner").glob("*.cpp"))
    return compile_into(
        folder / "fake-esp32s3",
        f"-I{HERE / 'idf_stubs'}", f"-I{MAIN}", "-std=gnu++20", '-DBENCH_ESP_NN_VERSION="1.2.3"',
        *ESPNN, *runner, *main, MAIN / f"{line}.cpp", HERE / "idf_runtime.cpp",
    )  # fmt: skip


@pytest.fixture(scope="module")
def uart(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_port(tmp_path_factory.mktemp("uart"), "line_uart")


@pytest.fixture(scope="module")
def usb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_port(tmp_path_factory.mktemp("usb"), "line_usb_serial_jtag")


@contextmanager
def talking_to(port: Path) -> Iterator[Link]:
    with BoardSession(HostBoard(port)) as session:
        yield session.link


@pytest.fixture
def link(uart: Path) -> Iterator[Link]:
    with talking_to(uart) as link:
        yield link


def test_hello(link: Link) -> None:
    hello = link.hello
    assert hello.target == "esp32s3"
    assert int(hello.board.pop("measured_hz")) == pytest.approx(240_000_000, rel=0.05)
    assert hello.board == {
        "id": "7c:df:a1:00:0b:fe",
        "description": "ESP32-S3",
        "chip_revision": "v0.2",
        "cores": "2",
        "psram_bytes": "0",
    }
    assert hello.firmware == bytes(7 * i % 256 for i in range(32)).hex()
    assert hello.reset_reason == "power on"
    assert hello.kernels == {"mul_int8": ["espnn", "espnn-raw", "ansi", "portable"]}
    assert hello.programs is None
    assert hello.clock == {"unit": "cycles", "hz": 240_000_000}
    assert hello.chunk == 2048
    # What is in flight fits the receive buffer.
    assert hello.window * (hello.chunk + 40) <= 16 * 1024
    compiler = hello.build.pop("compiler")
    assert compiler.startswith("GCC ")
    assert hello.build == {
        "idf": "v5.5.5",
        "esp_nn": "1.2.3",
        "esp_nn_skip_nudge": "off",
        "optimization": "performance",
        "data_cache_bytes": "0x10000",
        "instruction_cache_bytes": "0x8000",
        "psram": "off",
        "link": "UART0, 921600 baud",
        "revision": "1f00d",
    }


def test_internal_ram_holds_a_case_of_all_pairs_in_one_piece(link: Link) -> None:
    ram, flash = link.hello.memories
    assert flash.name == "flash" and flash.read_only and not ram.read_only
    assert ram.name == "ram" and ram.size >= 3 * 65_536 + 832 and ram.size <= 230 * 1024 - 8192


def test_psram_is_a_memory_of_its_own(uart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_PSRAM_BYTES", str(8 << 20))
    with talking_to(uart) as link:
        memories = [(memory.name, memory.size) for memory in link.hello.memories]
        assert [name for name, _ in memories] == ["ram", "psram", "flash"]
        assert dict(memories)["psram"] == 1 << 20
        assert link.hello.board["psram_bytes"] == str(8 << 20)
        link.write("psram", (1 << 20) - 4, b"last")
        assert link.read("psram", (1 << 20) - 4, 4) == b"last"


# The later byte comes after more events than the driver's queue holds.
@pytest.mark.parametrize("at", ["200", "90000"])
def test_overruns_are_counted(uart: Path, monkeypatch: pytest.MonkeyPatch, at: str) -> None:
    monkeypatch.setenv("FAKE_OVERRUN_AT", at)
    with talking_to(uart) as link:
        link.write("ram", 0, bytes(100_000))
        assert link.counters().device.overruns == 2  # of the buffer, and of the hardware's


@pytest.mark.parametrize("line", ["uart", "usb"])
def test_a_line_that_keeps_up_has_no_overruns(line: str, request: pytest.FixtureRequest) -> None:
    with talking_to(request.getfixturevalue(line)) as link:
        link.write("ram", 0, bytes(100_000))
        assert link.counters().device.overruns == 0


@pytest.mark.parametrize(
    ("source", "functions"),
    [("timing", {"time_call", "empty_call"}), ("kernel_commands", {"call_kernel"})],
)
def test_what_a_timed_call_runs_is_in_internal_ram(
    tmp_path: Path, source: str, functions: set[str]
) -> None:
    made = compile_into(
        tmp_path / f"{source}.o",
        f"-I{HERE / 'idf_stubs'}", f"-I{MAIN}", "-std=gnu++20", "-c",
        FIRMWARE / "runner" / f"{source}.cpp",
    )  # fmt: skip
    symbols = subprocess.run(["objdump", "-t", made], capture_output=True, text=True, check=True)
    lines = [line.split() for line in symbols.stdout.splitlines()]
    in_ram = [words[-1] for words in lines if any(word.startswith(".iram1") for word in words[:-1])]
    for function in functions:
        assert any(f"{len(function)}{function}" in symbol for symbol in in_ram), in_ram


@pytest.mark.parametrize("line", ["uart", "usb"])
def test_kernel_cases_and_restart(line: str, request: pytest.FixtureRequest) -> None:
    cases = {case.name: case for case in standard_kernel_cases()}
    with talking_to(request.getfixturevalue(line)) as link:
        for name in ("all-pairs/asymmetric", "align/out+5"):
            results = run_kernel_case(link, cases[name])
            wrong = {r.variant for r in results if r.verdict != "pass"}
            assert wrong == ({"espnn-raw"} if cases[name].group != "all-pairs" else set())
        data = os.urandom(100_000)
        link.write("ram", 1, data)
        assert link.read("ram", 1, len(data)) == data
        assert link.reset().reset_reason == "restart by software"


def test_timed_calls_leave_interrupts_as_they_were(link: Link) -> None:
    # The stand-in aborts if they are masked twice.
    params = KernelParams(0, 0, 0, 1 << 30, 0, scale1=1.0, scale2=1.0, scale_out=1.0)
    for _ in range(2):
        reply = link.run_kernel(
            KernelRequest(
                "espnn",
                Place("ram", 0),
                Place("ram", 64),
                Place("ram", 128),
                16,
                params,
                warmup=5,
                samples=100,
                sample_place=Place("ram", 1024),
            )
        )
        assert (reply.vector_elements, reply.scalar_elements) == (16, 0)


def test_a_wrong_clock_is_said(uart: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_CPU_HZ", "160000000")
    heard: list[bytes] = []
    board = HostBoard(uart)
    with BoardSession(board, console=heard.append) as session:
        assert session.link.hello.clock["hz"] == 160_000_000
        session.link.ping()
    assert b"does not run at 240 MHz" in b"".join(heard)


@pytest.mark.parametrize(
    ("name", "value", "hz"),
    [("FAKE_EMULATOR", "QEMU", 240_000_000), ("FAKE_CYCLES_HZ", "40000000", 40_000_000)],
)
def test_an_emulated_chip_is_a_virtual_board(
    uart: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str, hz: int
) -> None:
    """By the emulator's sign, or by clocks that do not agree."""
    monkeypatch.setenv(name, value)
    heard: list[bytes] = []
    board = HostBoard(uart)
    with BoardSession(board, console=heard.append) as session:
        hello = session.link.hello
        session.link.ping()
    assert hello.board["description"] == "virtual board: an emulated ESP32-S3"
    assert hello.clock["unit"] == "cycles"
    assert hello.clock["hz"] == pytest.approx(hz, rel=0.05)
    assert b"an emulated chip: latencies are not those of an ESP32-S3" in b"".join(heard)


def test_log_lines_cannot_be_taken_for_frames(tmp_path: Path) -> None:
    program = compile_into(
        tmp_path / "log",
        f"-I{HERE / 'idf_stubs'}", f"-I{MAIN}", f"-isystem{EXECUTORCH_INCLUDE}",
        "-DC10_USING_CUSTOM_GENERATED_MACROS", MAIN / "executorch_pal.cpp", HERE / "log_main.cpp",
    )  # fmt: skip
    said = subprocess.run([program], capture_output=True, check=True).stdout
    lines = said.split(b"\r\n")
    assert lines[:2] == [b"E some/file.cpp:42 plain", b"E some/file.cpp:42 a    b"]
    assert len(lines) == 4 and lines[3] == b"" and 200 < len(lines[2]) < 256
    assert all(0x20 <= byte < 0x7F for line in lines for byte in line)
