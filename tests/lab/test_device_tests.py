"""``pytest --target esp32s3`` as users run it, on virtual boards."""

from __future__ import annotations

import os
import re
import sqlite3
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest
from virtual_boards import answers_as_loader, fill, is_free, with_one_byte_changed

from bench.lab.boards import board_type
from bench.lab.build import build_host
from bench.lab.flash import flash
from bench.lab.hello import running_firmware
from bench.lab.image import BuildFolder
from bench.lab.locks import BoardLock
from bench.lab.serial_board import SerialBoard
from bench.lab.serial_port import ServerOccupied, open_serial
from bench.lab.virtual_s3 import Fault, VirtualS3
from bench.lab.wiring import Wiring
from bench.paths import project_root
from bench.runs.session import BoardSession

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MakeBoard = Callable[..., VirtualS3]

_ROOT = project_root()
_KERNELS = _ROOT / "tests" / "device" / "test_kernel_cases.py"
_SOME = ("-k", "size/7/ or size/16/")
_HOW_MANY = 12
# Plugins that take seconds to load and have no part in this.
_WITHOUT = ("hypothesispytest", "hydra_pytest", "anyio", "benchmark", "cacheprovider")


def _environment(espport: str | None = None) -> dict[str, str]:
    given = {} if espport is None else {"ESPPORT": espport}
    return {name: value for name, value in os.environ.items() if name != "ESPPORT"} | given


class Session:
    """A pytest that ended."""

    def __init__(
        self,
        port: str,
        build: BuildFolder,
        *arguments: object,
        cwd: Path = _ROOT,
        espport: str | None = None,
    ):
        done = subprocess.run(
            [
                *(sys.executable, "-m", "pytest", "-ra"),
                *(part for name in _WITHOUT for part in ("-p", f"no:{name}")),
                *("--target", "esp32s3", "--port", port, "--app-path", build.folder.parent),
                *("--build-dir", build.folder.name, *map(str, arguments)),
            ],
            capture_output=True,
            text=True,
            cwd=cwd,
            env=_environment(espport),
            timeout=120,
            check=False,
        )
        self.status = done.returncode
        self.output = done.stdout + done.stderr


@pytest.fixture(scope="module", autouse=True)
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Have the sessions' results apart from those of the lab."""
    folder = tmp_path_factory.mktemp("results")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_ADDOPTS", f"--results={folder}")
        yield folder


def _newest_runs(results: Path, url: str, count: int) -> list[tuple[str, int, str, int]]:
    """Return (target, virtual, firmware, results) of the last runs on a board, newest first."""
    with closing(sqlite3.connect(results / "bench.sqlite")) as store:
        return store.execute(
            "SELECT b.target, b.virtual, f.hash, (SELECT count(*) FROM attempts a JOIN numerics n"
            " ON n.attempt_id = a.id WHERE a.run_board_id = rb.id AND n.verdict = 'pass')"
            " FROM run_boards rb JOIN boards b ON b.id = rb.board_id"
            " JOIN firmware f ON f.id = rb.firmware_id WHERE rb.url = ?"
            " ORDER BY rb.id DESC LIMIT ?",
            (url, count),
        ).fetchall()


@pytest.fixture(scope="module")
def runner() -> Path:
    return build_host().runner


@pytest.fixture(scope="module")
def blocks_of_one_flash(tmp_path_factory: pytest.TempPathFactory, build: BuildFolder) -> int:
    with VirtualS3(tmp_path_factory.mktemp("spare") / "flash.bin") as board:
        flash(board.url, build)
        return board.counters.blocks


def test_flashes_once_and_again_after_one_changed_byte(
    make_board: MakeBoard,
    build: BuildFolder,
    make_build: Callable[[bytes], BuildFolder],
    runner: Path,
    blocks_of_one_flash: int,
    results: Path,
    tmp_path: Path,
) -> None:
    board = make_board(runner=runner)
    junit = tmp_path / "junit.xml"
    first = Session(board.url, build, _ROOT / "tests/device", "-k", "size/7/ or plain_mul",
                    f"--junitxml={junit}")  # fmt: skip
    assert first.status == 0, first.output
    assert "7 passed" in first.output
    assert first.output.count(f"bench: flashed {build.elf_hash[:12]} on {board.url}\n") == 1
    assert board.counters.blocks == blocks_of_one_flash
    properties = {p.get("name"): p.get("value") for p in ET.parse(junit).iter("property")}
    assert properties["native against integer"] == "pass, max 0 LSB, 0 differ"
    assert int(properties["delegate against runtime, ns (virtual board)"] or 0) > 0
    [(target, virtual, firmware, right)] = _newest_runs(results, board.url, 1)
    assert (target, virtual, firmware) == ("esp32s3", 1, build.elf_hash)
    assert right > 12

    again = Session(board.url, build, _KERNELS, *_SOME)
    assert again.status == 0, again.output
    ran = f"bench: {board.url} runs {build.elf_hash[:12]} already, nothing flashed\n"
    assert again.output.count(ran) == 1
    assert board.counters.blocks == blocks_of_one_flash

    changed = make_build(b"firmware onf")
    third = Session(board.url, changed, _KERNELS, *_SOME)
    assert third.status == 0, third.output
    blocks = board.counters.blocks
    assert blocks > blocks_of_one_flash
    assert [run[2] for run in _newest_runs(results, board.url, 2)] == [
        changed.elf_hash,
        build.elf_hash,
    ]

    alike = with_one_byte_changed(changed, "bench.bin", tmp_path / "alike" / "build")
    fourth = Session(board.url, alike, _KERNELS, *_SOME)
    assert fourth.status == 0, fourth.output
    assert board.counters.blocks > blocks
    assert is_free(board)


def test_a_usb_jtag_board_is_flashed_blank_and_with_an_application(
    make_board: MakeBoard,
    build: BuildFolder,
    make_build: Callable[[bytes], BuildFolder],
    runner: Path,
) -> None:
    board = make_board(runner=runner, wiring=Wiring.USB_JTAG)
    for other in (build, make_build(b"firmware onf")):
        blocks = board.counters.blocks
        session = Session(board.url, other, _KERNELS, "-k", "size/7/")
        assert session.status == 0, session.output
        assert board.counters.blocks > blocks
    assert is_free(board)


def test_two_workers_take_one_board_each(
    make_board: MakeBoard,
    build: BuildFolder,
    runner: Path,
    blocks_of_one_flash: int,
    results: Path,
) -> None:
    boards = [make_board(mac=f"7c:df:a1:00:00:0{index}", runner=runner) for index in (1, 2)]
    ports = "|".join(board.url for board in boards)
    session = Session(ports, build, _KERNELS, *_SOME, "-n", 2)
    assert session.status == 0, session.output
    assert f"{_HOW_MANY} passed" in session.output
    for board in boards:
        assert session.output.count(f"bench: flashed {build.elf_hash[:12]} on {board.url}\n") == 1
    assert [board.counters.blocks for board in boards] == [blocks_of_one_flash] * 2
    shares = [_newest_runs(results, board.url, 2) for board in boards]
    assert all(len(share) == 1 and share[0][3] > 0 for share in shares)  # one run on each
    # Each case ran once: with two variants, one of them held against two references.
    assert sum(share[0][3] for share in shares) == 3 * _HOW_MANY


_OWN_TESTS = """
import pytest
from bench.cases.kernel import standard_kernel_cases
from bench.cases.program import ProgramCase
from bench.runs.jobs import KernelJob, ProgramJob

CASE = standard_kernel_cases()[-1]

def test_console_and_link_share_the_port(bench_run, bench_dut, bench_check):
    bench_check(KernelJob(CASE))
    bench_dut.serial.hard_reset()
    bench_dut.expect(r"bench runner \\w+ ready", timeout=10)
    bench_check(KernelJob(CASE))
    assert bench_run.session.resets == 0

def test_program(bench_run, bench_check):
    object.__setattr__(bench_run.session.link.hello, "programs", None)
    bench_check(ProgramJob(ProgramCase("some", "portable", b"", [], [], 0, 0)))
"""


def test_tests_of_ones_own(
    make_board: MakeBoard, build: BuildFolder, runner: Path, tmp_path: Path
) -> None:
    board = make_board(flashed=build, runner=runner)
    (tmp_path / "test_own.py").write_text(_OWN_TESTS)
    both = Session(board.url, build, "--rootdir", tmp_path, tmp_path, cwd=tmp_path)
    assert both.status == 0, both.output
    assert "1 passed, 1 skipped" in both.output
    reason = "not runnable: the firmware was built without ExecuTorch and runs no programs"
    assert re.search(rf"SKIPPED \[1\].*{reason}", both.output)
    assert board.counters.blocks == 0

    skipped = Session(
        board.url, build, "--rootdir", tmp_path, tmp_path, "-k", "program", cwd=tmp_path
    )
    assert skipped.status == 1, skipped.output
    assert "every test for the board was skipped, so nothing was tested" in skipped.output


def test_other_projects_are_left_alone(tmp_path: Path, build: BuildFolder) -> None:
    (tmp_path / "test_theirs.py").write_text(
        "import pytest\n"
        "def test(_fixture_classes_and_options):\n"
        "    serial = _fixture_classes_and_options.classes['serial']\n"
        "    assert serial.__module__ == 'pytest_embedded_idf.serial'\n"
        "    pytest.skip('as they like')\n"
    )
    session = Session(
        *("/dev/ttyNONE", build, "--rootdir", tmp_path, tmp_path),
        *("--embedded-services", "esp,idf"),
        cwd=tmp_path,
    )
    assert session.status == 0, session.output
    assert "1 skipped" in session.output


# Fault: the sentence after "bench: error: URL: "
_FAILURES = {
    "no-sync": "the board enters download mode but never answers: nothing we send reaches it",
    "wrong-chip": "the chip there is an ESP32, not an ESP32-S3: correct the port",
    "mute@4": "the board stopped answering while it was written: check its power and cable",
    "corrupt@4": "the flash holds other data than was written: try a lower baud rate",
}


@pytest.fixture(scope="module")
def failures(
    tmp_path_factory: pytest.TempPathFactory,
    make_build: Callable[[bytes], BuildFolder],
    build: BuildFolder,
    runner: Path,
) -> Iterator[dict[str, tuple[VirtualS3, Session]]]:
    """Try all at once: most of the time esptool waits for an answer."""
    old = make_build(b"what was there")
    boards = {}
    for fault in _FAILURES:
        flash_file = tmp_path_factory.mktemp("faulty") / "flash.bin"
        fill(flash_file, old)
        boards[fault] = VirtualS3(flash_file, runner=runner, faults=[Fault.parse(fault)])
        boards[fault].start()
    with ThreadPoolExecutor(len(boards)) as pool:
        sessions = pool.map(lambda b: Session(b.url, build, _KERNELS, *_SOME), boards.values())
        yield dict(zip(boards, zip(boards.values(), sessions, strict=True), strict=True))
    for board in boards.values():
        board.close()


@pytest.mark.parametrize("fault", _FAILURES)
def test_a_failure_is_one_line(failures: dict[str, tuple[VirtualS3, Session]], fault: str) -> None:
    board, session = failures[fault]
    assert session.status == 2, session.output
    line = f"bench: error: {board.url}: {_FAILURES[fault]}"
    assert session.output.count(line) == 1, session.output
    assert "Traceback" not in session.output
    assert "Error" not in session.output
    assert is_free(board)
    assert not answers_as_loader(board)


def test_workers_stop_when_all_boards_are_taken(
    make_board: MakeBoard, build: BuildFolder, runner: Path
) -> None:
    board = make_board(flashed=build, runner=runner)
    with BoardLock(board.url), BoardLock("/dev/ttyNONE"):
        busy = Session(f"{board.url}|/dev/ttyNONE", build, _KERNELS, *_SOME, "-n", 2)
    assert busy.status == 2, busy.output
    assert f"bench: error: board {board.url} is in use by process {os.getpid()}" in busy.output
    assert "Traceback" not in busy.output
    assert "replacing crashed worker" not in busy.output
    assert board.counters.downloads == 0


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        ("drop@4", "the connection was lost while writing; connected again and rewrote"),
        ("noise@3", "a block was not acknowledged and was sent again"),
    ],
)
def test_what_esptool_repeats_is_told(
    make_board: MakeBoard, build: BuildFolder, runner: Path, fault: str, sentence: str
) -> None:
    board = make_board(fault, runner=runner)
    session = Session(board.url, build, _KERNELS, "-k", "size/7/")
    assert session.status == 0, session.output
    assert f"BenchWarning: while {board.url} was flashed, {sentence}" in session.output


def test_a_case_that_ran_again_is_told(
    make_board: MakeBoard, build: BuildFolder, runner: Path
) -> None:
    board = make_board("panic@2000", runner=runner, flashed=build)
    session = Session(board.url, build, _KERNELS, *_SOME)
    assert session.status == 0, session.output
    assert re.search(r"BenchWarning: size/\S+ was run again: ", session.output)


def test_boards_that_are_left_out_are_told(
    make_board: MakeBoard, build: BuildFolder, runner: Path
) -> None:
    boards = [
        make_board(mac=f"7c:df:a1:00:00:0{index}", runner=runner, flashed=build) for index in (1, 2)
    ]
    session = Session("|".join(board.url for board in boards), build, _KERNELS, "-k", "size/7/")
    assert session.status == 0, session.output
    assert "1 of 2 boards is used, the first that is free: give -n 2" in session.output


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_a_port_in_the_environment_is_told_and_left(
    make_board: MakeBoard, build: BuildFolder, runner: Path, workers: tuple[str, ...]
) -> None:
    boards = [
        make_board(mac=f"7c:df:a1:00:00:0{index}", runner=runner, flashed=build)
        for index in range(1, 2 + bool(workers))
    ]
    port = "|".join(board.url for board in boards)
    session = Session(port, build, _KERNELS, "-k", "size/7/", *workers, espport="/dev/ttyNONE")
    assert session.status == 0, session.output
    told = f"BenchWarning: ESPPORT=/dev/ttyNONE is set, too; --port {port} is used"
    assert session.output.count(told) == 1, session.output

    same = Session(port, build, _KERNELS, "-k", "size/7/", *workers, espport=port)
    assert same.status == 0, same.output
    assert "BenchWarning" not in same.output


def _pytest(*arguments: object) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=_ROOT,
        env=_environment(),
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def test_a_target_alone_means_the_cases_for_boards() -> None:
    status, output = _pytest("--target", "host", "--collect-only", "-q")
    assert status == 0, output
    named = {line.partition("::")[0] for line in output.splitlines() if "::" in line}
    assert named == {
        f"tests/device/test_{kind}_cases.py" for kind in ("kernel", "multiply", "program")
    }


def test_what_documented_sessions_use_needs_no_extra() -> None:
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]
    needed = {re.split("[>=]", line)[0] for line in project["dependencies"]}
    assert {"pytest-timeout", "pytest-xdist"} <= needed


def test_a_wrong_application_folder_is_named(make_board: MakeBoard, tmp_path: Path) -> None:
    board = make_board()
    status, output = _pytest(
        *("--target", "esp32s3", "--port", board.url, f"--app-path={tmp_path / 'none'}"),
        *(_KERNELS, *_SOME),
    )
    assert status == 2, output
    assert f"no folder {tmp_path / 'none'}: correct --app-path" in output


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_no_board_is_a_usage_error(workers: tuple[str, ...]) -> None:
    status, output = _pytest("-q", _KERNELS, "--target", "esp32s3", *workers)
    assert status == pytest.ExitCode.USAGE_ERROR, output
    assert "no esp32s3 board: looked for" in output


def test_an_unknown_target_is_a_usage_error(build: BuildFolder) -> None:
    unknown = Session("/dev/ttyNONE", build, _KERNELS, "--target", "nonesuch")
    assert unknown.status == 4, unknown.output
    assert "unknown target 'nonesuch': choose one of" in unknown.output


def test_more_workers_than_boards(build: BuildFolder, tmp_path: Path) -> None:
    (tmp_path / "test_own.py").write_text(_OWN_TESTS)
    crowd = Session("/dev/ttyNONE", build, "--rootdir", tmp_path, tmp_path, "-n", 2, cwd=tmp_path)
    assert crowd.status == 4, crowd.output
    assert "2 workers, but boards at /dev/ttyNONE only: give -n 1" in crowd.output


def test_without_boards_no_worker_is_started(build: BuildFolder) -> None:
    crowd = Session("/dev/ttyNONE", build, _KERNELS, "-n", 2)
    assert crowd.status == 4, crowd.output
    assert crowd.output.count("2 workers, but boards at /dev/ttyNONE only: give -n 1") == 1
    assert "2/2 workers" not in crowd.output


def test_sessions_without_boards_tell_of_none() -> None:
    status, output = _pytest("--target", "host", "-n", "2", _KERNELS, "-k", "size/7/")
    assert status == 0, output
    assert "bench: " not in output


@pytest.mark.parametrize("workers", [(), ("-n", "2")])
def test_one_board_named_twice(workers: tuple[str, ...]) -> None:
    ports = "rfc2217://127.0.0.1:4000|rfc2217://localhost:4000"
    status, output = _pytest(*("-q", _KERNELS, "--target", "esp32s3", "--port", ports, *workers))
    assert status == pytest.ExitCode.USAGE_ERROR, output
    assert f"--port {ports}: one board is there twice" in output


def test_no_build(make_board: MakeBoard, build: BuildFolder, tmp_path: Path) -> None:
    board = make_board()
    nothing = Session(board.url, build, _KERNELS, "--app-path", tmp_path)
    assert nothing.status == 2, nothing.output
    assert re.search(r"bench: error: cannot read \S+flasher_args.json .*idf.py bu", nothing.output)
    assert board.counters.downloads == 0
    assert is_free(board)


def test_an_occupied_server_is_called_so(make_board: MakeBoard) -> None:
    board = make_board()
    with open_serial(board.url):
        with pytest.raises(ServerOccupied, match="does not serve us: another program"):
            running_firmware(board.url)
        with (
            pytest.raises(ServerOccupied, match="does not serve us: another program"),
            BoardSession(SerialBoard(board_type("esp32s3"), board.url)),
        ):
            pass
    assert is_free(board)
