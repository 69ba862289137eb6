"""Flashing: only when needed, the right board, every failure by its name, and a free port after."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from esptool.util import FatalError
from virtual_boards import answers_as_loader, fill, is_free, with_one_byte_changed

from bench.errors import BenchError
from bench.lab import flash_errors
from bench.lab.flash import FlashReport, ensure_flashed, flash, read_mac
from bench.lab.flashed import LastFlashed
from bench.lab.hello import Running
from bench.lab.image import BuildFolder
from bench.lab.reset import RtsDtr
from bench.lab.serial_port import PortUnavailable, ServerOccupied, open_serial
from bench.lab.virtual_s3 import Counters, Fault, VirtualS3
from bench.lab.wiring import Wiring

MakeBoard = Callable[..., VirtualS3]


def _running(board: VirtualS3, board_id: str | None = None) -> Callable[[], Running | None]:
    """Ask the stand-in application what it stands for, by a reset; ``board_id`` if it lies."""

    def ask() -> Running | None:
        with open_serial(board.url) as port:
            RtsDtr().pulse(port)
            port.timeout = 1
            words = port.read_until(b" esp32s3\r\n").split()
            if b"application" not in words:
                return None
            firmware, mac = (word.decode() for word in words[-3:-1])
            return Running(firmware, mac if board_id is None else board_id)

    return ask


def test_flashes_once_and_again_after_one_changed_byte(
    make_board: MakeBoard, build: BuildFolder, make_build: Callable[[bytes], BuildFolder]
) -> None:
    board = make_board()
    steps: list[tuple[int, int]] = []
    report = ensure_flashed(
        board.url, build, _running(board), mac=board.mac, progress=lambda *step: steps.append(step)
    )
    size = sum(path.stat().st_size for _, path in build.files)
    assert (report.flashed, report.mac, report.written) == (True, board.mac, size)
    assert report.retries == ()
    assert report.log.count("Hash of data verified.") == 3
    assert steps == sorted(steps)
    assert steps[-1] == (size, size)

    before = board.counters
    assert ensure_flashed(board.url, build, _running(board)) == FlashReport(False, build.elf_hash)
    assert board.counters.blocks == before.blocks
    assert board.counters.downloads == before.downloads  # not even looked at by esptool

    changed = make_build(b"firmware onf")
    assert ensure_flashed(board.url, changed, _running(board)).flashed
    assert _running(board)() == Running(changed.elf_hash, board.mac)


@pytest.mark.parametrize("name", ["bench.bin", "bootloader/bootloader.bin"])
def test_flashes_again_what_the_board_cannot_tell(
    make_board: MakeBoard, build: BuildFolder, name: str, tmp_path: Path
) -> None:
    """A byte changes that leaves the application's identity as it is."""
    board = make_board()
    assert ensure_flashed(board.url, build, _running(board)).flashed
    changed = with_one_byte_changed(build, name, tmp_path / "changed")
    assert changed.elf_hash == build.elf_hash
    assert ensure_flashed(board.url, changed, _running(board)).flashed
    assert not ensure_flashed(board.url, changed, _running(board)).flashed
    fill(tmp_path / "expected.bin", changed)
    assert (tmp_path / "7cdfa1000001.bin").read_bytes() == (tmp_path / "expected.bin").read_bytes()


def test_a_half_written_board_is_flashed_though_its_old_application_runs(
    make_board: MakeBoard, build: BuildFolder
) -> None:
    board = make_board(flashed=build)
    LastFlashed(board.mac).begin()  # and the line was lost before the application's turn
    assert ensure_flashed(board.url, build, _running(board)).flashed
    assert not ensure_flashed(board.url, build, _running(board)).flashed


def test_a_board_that_somebody_else_flashed_since_is_believed(
    make_board: MakeBoard,
    build: BuildFolder,
    make_build: Callable[[bytes], BuildFolder],
    tmp_path: Path,
) -> None:
    board = make_board()
    flash(board.url, make_build(b"firmware two"))
    board.close()
    fill(tmp_path / "7cdfa1000001.bin", build)
    board = make_board()
    assert not ensure_flashed(board.url, build, _running(board)).flashed


def test_a_note_that_cannot_be_written_stops_before_anything_is(
    make_board: MakeBoard, build: BuildFolder, _machine: Path
) -> None:
    (_machine / "esp-nn-bench-flashed").write_text("in the way")
    board = make_board()
    with pytest.raises(BenchError, match=r"cannot note in .* \(File exists\): make that folder"):
        flash(board.url, build)
    assert board.counters.blocks == 0
    (_machine / "esp-nn-bench-flashed").unlink()


def test_force_flashes_what_runs_already(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build)
    assert ensure_flashed(board.url, build, _running(board), force=True).flashed
    assert board.counters.blocks > 0


_OTHER_MAC = "7c:df:a1:00:00:02"


def test_another_board_is_refused_by_its_hello_though_it_runs_the_build(
    make_board: MakeBoard, build: BuildFolder
) -> None:
    board = make_board(flashed=build)
    with pytest.raises(
        flash_errors.WrongBoard, match=f"this is board {board.mac}, not {_OTHER_MAC}"
    ):
        ensure_flashed(board.url, build, _running(board), mac=_OTHER_MAC)
    assert board.counters.downloads == 0  # its own word was enough
    assert not ensure_flashed(board.url, build, _running(board), mac=board.mac.upper()).flashed
    assert board.counters.downloads == 0


def test_another_board_whose_hello_has_no_mac_is_refused_by_its_loader(
    make_board: MakeBoard, build: BuildFolder
) -> None:
    board = make_board(flashed=build)
    ask = _running(board, "bench 3")
    with pytest.raises(
        flash_errors.WrongBoard, match=f"this is board {board.mac}, not {_OTHER_MAC}"
    ):
        ensure_flashed(board.url, build, ask, mac=_OTHER_MAC)
    assert (board.counters.downloads, board.counters.blocks) == (1, 0)
    assert board.wait_running()
    assert not ensure_flashed(board.url, build, ask, mac=board.mac).flashed
    assert board.counters.blocks == 0


def test_what_is_flashed_is_what_the_files_hold(
    make_board: MakeBoard, build: BuildFolder, tmp_path: Path
) -> None:
    board = make_board()
    flash(board.url, build)
    content = (tmp_path / "7cdfa1000001.bin").read_bytes()
    fill(tmp_path / "expected.bin", build)
    assert content == (tmp_path / "expected.bin").read_bytes()


def test_usb_jtag_boards_are_flashed_by_their_own_sequence(
    make_board: MakeBoard, build: BuildFolder
) -> None:
    board = make_board(wiring=Wiring.USB_JTAG)
    flash(board.url, build, wiring=Wiring.USB_JTAG)
    assert board.wait_running()
    assert board.counters.downloads == 1


def test_two_boards_at_once(
    make_board: MakeBoard, build: BuildFolder, make_build: Callable[[bytes], BuildFolder]
) -> None:
    builds = [build, make_build(b"firmware two")]
    boards = [make_board(mac=f"7c:df:a1:00:00:0{index}") for index in (1, 2)]
    reports: dict[int, FlashReport] = {}

    def run(index: int) -> None:
        reports[index] = flash(boards[index].url, builds[index])

    threads = [threading.Thread(target=run, args=(index,)) for index in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, board in enumerate(boards):
        assert reports[index].mac == board.mac
        assert str(builds[index].folder) in reports[index].log
        assert str(builds[1 - index].folder) not in reports[index].log
        assert _running(board)() == Running(builds[index].elf_hash, board.mac)


def test_read_mac_resets_the_board(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build)
    assert read_mac(board.url) == board.mac
    assert board.wait_running()


_INCOMPLETE = "and flash again; until then its firmware is incomplete"

# Fault: class, sentence after "URL: ", and whether the old application runs again after it
_FAILURES: dict[str, tuple[type[BenchError], str, bool]] = {
    "no-sync": (
        flash_errors.NoSync,
        "the board enters download mode but never answers: nothing we send reaches it, check its "
        "RX line and that no other device drives it",
        True,
    ),
    "silent": (
        flash_errors.BoardSilent,
        "nothing comes from the board: check that it has power, that this is its port, and that "
        "its TX line is connected",
        True,
    ),
    "wrong-chip": (
        flash_errors.WrongChip,
        "the chip there is an ESP32, not an ESP32-S3: correct the port, or take the build for that "
        "chip",
        True,
    ),
    "wrong-mac": (
        flash_errors.WrongBoard,
        "this is board 7c:df:a1:00:00:fe, not 7c:df:a1:00:00:01; nothing was written: correct the "
        "port or the MAC",
        True,
    ),
    "mute@4": (
        flash_errors.BoardMute,
        "the board stopped answering while it was written: check its power and cable, "
        f"{_INCOMPLETE}",
        False,
    ),
    "corrupt@4": (
        flash_errors.WriteCorrupt,
        "the flash holds other data than was written: try a lower baud rate; if it stays, the "
        "flash is worn out, replace the board",
        False,
    ),
    "gone@4": (
        flash_errors.LineLost,
        "the connection to the board was lost for good: check its cable, its power and its server, "
        f"{_INCOMPLETE}; it could not be reset either, power it off and on",
        False,
    ),
}


@dataclass
class _Outcome:
    """What became of one try to flash a faulty board."""

    board: VirtualS3
    result: FlashReport | BaseException
    free: bool
    counters: Counters
    runs: bool
    repaired: FlashReport | None


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory,
    application: Path,
    build: BuildFolder,
    make_build: Callable[[bytes], BuildFolder],
) -> Iterator[dict[str, _Outcome]]:
    """Try all faults at once: most of the time esptool waits for an answer."""
    old = make_build(b"what was there")
    boards = {}
    for fault in [*_FAILURES, "drop@4"]:
        flash_file = tmp_path_factory.mktemp("faulty") / "flash.bin"
        fill(flash_file, old)
        boards[fault] = VirtualS3(flash_file, runner=application, faults=[Fault.parse(fault)])
        boards[fault].start()

    def attempt(fault: str) -> _Outcome:
        board = boards[fault]
        assert board.wait_running()
        result: FlashReport | BaseException
        try:
            result = flash(board.url, build, mac="7C:DF:A1:00:00:01")
        except Exception as error:
            result = error
        if fault == "gone@4":
            return _Outcome(board, result, False, board.counters, False, None)
        free = is_free(board)
        runs = board.wait_running(0.5)
        counters = board.counters
        board.faults.clear()
        return _Outcome(board, result, free, counters, runs, flash(board.url, build))

    with ThreadPoolExecutor(len(boards)) as pool:
        found = dict(zip(boards, pool.map(attempt, boards), strict=True))
    yield found
    for board in boards.values():
        board.close()


@pytest.mark.parametrize("fault", _FAILURES)
def test_a_failure_says_what_it_is_and_what_to_do(
    outcomes: dict[str, _Outcome], fault: str
) -> None:
    kind, sentence, _ = _FAILURES[fault]
    outcome = outcomes[fault]
    assert type(outcome.result) is kind
    assert str(outcome.result) == f"{outcome.board.url}: {sentence}"


@pytest.mark.parametrize("fault", [fault for fault in _FAILURES if fault != "gone@4"])
def test_a_failure_leaves_port_and_board_usable(outcomes: dict[str, _Outcome], fault: str) -> None:
    runs = _FAILURES[fault][2]
    outcome = outcomes[fault]
    assert outcome.free
    assert outcome.runs == runs  # not left in the loader; a half-written application does not run
    assert (outcome.counters.blocks == 0) == runs
    assert outcome.counters.boots == 1 + runs
    assert outcome.repaired is not None
    assert outcome.repaired.flashed


def test_a_line_lost_once_is_reported(outcomes: dict[str, _Outcome], build: BuildFolder) -> None:
    result = outcomes["drop@4"].result
    assert isinstance(result, FlashReport)
    assert result.retries == ("the connection was lost while writing; connected again and rewrote",)
    board = outcomes["drop@4"].board
    assert _running(board)() == Running(build.elf_hash, board.mac)


def test_a_block_sent_twice_is_reported(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board("noise@3*2")
    report = flash(board.url, build)
    assert report.retries == ("a block was not acknowledged and was sent again",) * 2
    assert _running(board)() == Running(build.elf_hash, board.mac)


@pytest.mark.parametrize("fault", [None, "corrupt"])
def test_esptool_prints_nothing(
    make_board: MakeBoard, build: BuildFolder, fault: str | None, capfd: pytest.CaptureFixture[str]
) -> None:
    board = make_board(*([fault] if fault else []))
    with contextlib.suppress(BenchError):
        flash(board.url, build)
    assert capfd.readouterr() == ("", "")
    assert board.counters.downloads == 1


def test_a_missing_server(build: BuildFolder, make_board: MakeBoard) -> None:
    board = make_board()
    board.close()
    with pytest.raises(PortUnavailable) as caught:
        flash(board.url, build)
    assert str(caught.value) == (
        f"nothing listens at {board.url}: start the board's server, or correct the port"
    )


def test_an_occupied_server(build: BuildFolder, make_board: MakeBoard) -> None:
    board = make_board()
    with open_serial(board.url), pytest.raises(ServerOccupied) as caught:
        flash(board.url, build)
    assert str(caught.value) == (
        f"the server at {board.url} does not serve us: another program uses this board, wait for "
        "it or close it"
    )
    assert is_free(board)
    assert board.counters.downloads == 0


def test_a_missing_device(build: BuildFolder) -> None:
    with pytest.raises(
        PortUnavailable, match=r"^no port /dev/ttyNONE: connect the board, or correct the port$"
    ):
        flash("/dev/ttyNONE", build)


@pytest.mark.parametrize(
    ("text", "kind", "sentence"),
    [
        (
            "Failed to connect to ESP32-S3: Wrong boot mode detected (0x8)! The chip needs to be "
            "in download mode.\nFor troubleshooting steps visit: https://docs",
            flash_errors.NoDownloadMode,
            "PORT: the board does not enter download mode: check that it is wired as this port "
            "assumes (uart or usb-jtag), or hold BOOT while you start again",
        ),
        (
            "Failed to connect to ESP32-S3: Invalid head of packet (0x45): Possible serial noise",
            flash_errors.NoDownloadMode,
            "PORT: the board does not enter download mode: check that it is wired as this port "
            "assumes (uart or usb-jtag), or hold BOOT while you start again",
        ),
        (
            "Could not open PORT, the port is busy or doesn't exist.\n([Errno 16] busy)\n",
            PortUnavailable,
            "PORT: cannot open the port: it is missing, or another program uses the board; "
            "connect it, or close that program",
        ),
        (
            "Failed to do a thing.\nFor troubleshooting steps visit: https://docs",
            flash_errors.FlashError,
            "PORT: esptool failed: Failed to do a thing.",
        ),
    ],
)
def test_other_texts_of_esptool(text: str, kind: type[BenchError], sentence: str) -> None:
    error = flash_errors.explain("PORT", FatalError(text))
    assert type(error) is kind
    assert str(error) == sentence


def test_a_board_that_does_not_run_what_was_written(
    make_board: MakeBoard, build: BuildFolder
) -> None:
    board = make_board()
    with pytest.raises(flash_errors.NotRunning, match="but the board does not answer: check its"):
        ensure_flashed(board.url, build, lambda: None)
    with pytest.raises(flash_errors.NotRunning, match="but the board says that it runs 0123"):
        ensure_flashed(board.url, build, lambda: Running("0123", board.mac))


def test_ctrl_c_leaves_the_board_reset(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build)

    def interrupt(done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        flash(board.url, build, progress=interrupt)
    assert board.counters.downloads == 1
    assert is_free(board)
    assert not answers_as_loader(board)
