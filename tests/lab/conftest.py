"""A stand-in application, a stand-in build, virtual boards, and esptool as users run it."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from virtual_boards import StockEsptool, fill

from bench.lab.image import BuildFolder
from bench.lab.virtual_s3 import Fault, VirtualS3, write_build_folder
from bench.lab.wiring import Wiring

# Prints what it stands for, echoes all it gets, and ends on the byte 0x04.
_APPLICATION = """\
#!{python} -IS
import os
words = [os.environ[name] for name in ("BENCH_FIRMWARE_HASH", "BENCH_BOARD_ID", "BENCH_TARGET")]
os.write(1, ("application " + " ".join(words) + "\\r\\n").encode())
while data := os.read(0, 65536):
    if data == b"\\x04":
        break
    while data:
        data = data[os.write(1, data):]
"""
# Small enough to be quick, and three blocks of 16 KiB to have a middle.
_SIZE = 40 * 1024


@pytest.fixture(scope="module", autouse=True)
def _machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Have locks and notes of what was flashed apart from those of the machine at work."""
    folder = tmp_path_factory.mktemp("machine")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TMPDIR", str(folder))
        patch.setattr(tempfile, "tempdir", str(folder))
        yield folder


@pytest.fixture(autouse=True)
def _nothing_flashed_yet(_machine: Path) -> None:
    shutil.rmtree(_machine / "esp-nn-bench-flashed", ignore_errors=True)


@pytest.fixture(scope="session")
def application(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("application") / "application"
    path.write_text(_APPLICATION.format(python=sys.executable))
    path.chmod(0o755)
    return path


@pytest.fixture(scope="session")
def make_build(tmp_path_factory: pytest.TempPathFactory) -> Callable[[bytes], BuildFolder]:
    def make(identity: bytes) -> BuildFolder:
        folder = tmp_path_factory.mktemp("build")
        return BuildFolder.read(write_build_folder(folder, identity, _SIZE))

    return make


@pytest.fixture(scope="session")
def build(make_build: Callable[[bytes], BuildFolder]) -> BuildFolder:
    return make_build(b"firmware one")


@pytest.fixture
def make_board(tmp_path: Path, application: Path) -> Iterator[Callable[..., VirtualS3]]:
    """Start virtual boards; ``flashed`` puts a build into the flash before power-on."""
    boards: list[VirtualS3] = []

    def make(
        *faults: str,
        flashed: BuildFolder | None = None,
        mac: str = "7c:df:a1:00:00:01",
        wiring: Wiring = Wiring.UART,
        runner: Path = application,
    ) -> VirtualS3:
        flash_file = tmp_path / f"{mac.replace(':', '')}.bin"
        if flashed is not None:
            fill(flash_file, flashed)
        board = VirtualS3(
            flash_file,
            mac=mac,
            wiring=wiring,
            runner=runner,
            faults=[Fault.parse(spec) for spec in faults],
        )
        boards.append(board)
        board.start()
        return board

    yield make
    for board in boards:
        board.close()


@pytest.fixture(scope="session")
def stock_esptool(
    tmp_path_factory: pytest.TempPathFactory, application: Path, build: BuildFolder
) -> Iterator[StockEsptool]:
    run = StockEsptool(tmp_path_factory.mktemp("stock"), application, build)
    yield run
    run.close()


@pytest.fixture(scope="session", autouse=True)
def _start_early(request: pytest.FixtureRequest) -> None:
    if any("stock_esptool" in item.fixturenames for item in request.session.items):
        request.getfixturevalue("stock_esptool")
