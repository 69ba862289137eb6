"""The virtual board: what it boots, how its lines act, how its loader answers, how it fails."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest
from esptool import cmds
from esptool.targets import CHIP_DEFS
from virtual_boards import banner, fill, is_free, read_until

from bench.errors import BenchError
from bench.lab.chatter import captured
from bench.lab.image import BuildFolder
from bench.lab.reset import RtsDtr, line_reset
from bench.lab.serial_port import open_serial
from bench.lab.virtual_s3 import Fault, FaultKind, VirtualS3, slip
from bench.lab.virtual_s3.flash_memory import FlashMemory
from bench.lab.virtual_s3.lines import UartLines, UsbJtagLines
from bench.lab.wiring import Wiring

MakeBoard = Callable[..., VirtualS3]


# What it boots


@pytest.mark.parametrize("wiring", list(Wiring))
def test_a_whole_image_runs_after_a_reset(
    make_board: MakeBoard, build: BuildFolder, wiring: Wiring
) -> None:
    board = make_board(flashed=build, wiring=wiring)
    with open_serial(board.url) as port:
        line_reset(wiring).pulse(port)
        text = read_until(port, banner(board, build))
    assert b"boot:0x8 (SPI_FAST_FLASH_BOOT)\r\n" in text
    assert board.counters.downloads == 0


@pytest.mark.parametrize("offset", [0x0, 0x8000, 0x10000], ids=["bootloader", "table", "app"])
def test_a_damaged_image_does_not_run(
    make_board: MakeBoard, build: BuildFolder, tmp_path: Path, offset: int
) -> None:
    flash_file = tmp_path / "7cdfa1000001.bin"
    fill(flash_file, build)
    content = bytearray(flash_file.read_bytes())
    content[offset + (0 if offset == 0x8000 else 0x200)] ^= 0x01
    flash_file.write_bytes(content)
    board = make_board()
    with open_serial(board.url) as port:
        RtsDtr().pulse(port)
        read_until(port, b"Checksum failed" if offset != 0x8000 else b"no partition table")
    assert board.counters.boots == 0


def test_an_empty_flash_says_so(make_board: MakeBoard) -> None:
    board = make_board()
    with open_serial(board.url) as port:
        RtsDtr().pulse(port)
        read_until(port, b"invalid header: 0xffffffff")


def test_every_byte_value_passes_both_ways(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board(flashed=build)
    data = bytes(range(256)) * 40 + random.Random(1).randbytes(20_000)
    with open_serial(board.url) as port:
        RtsDtr().pulse(port)
        read_until(port, banner(board, build))
        port.write(data)
        assert port.read(len(data)) == data


def test_an_application_that_ends_is_started_again(
    make_board: MakeBoard, build: BuildFolder
) -> None:
    board = make_board(flashed=build)
    with open_serial(board.url) as port:
        RtsDtr().pulse(port)
        read_until(port, banner(board, build))
        port.write(b"\x04")
        assert b"RTC_SW_CPU_RST" in read_until(port, banner(board, build))


def test_a_reset_ends_an_application_that_ignores_its_line(
    make_board: MakeBoard, build: BuildFolder, tmp_path: Path
) -> None:
    stubborn = tmp_path / "stubborn"
    stubborn.write_text("#!/bin/sh\necho pid $$ is stubborn\nexec sleep 100\n")
    stubborn.chmod(0o755)
    board = make_board(flashed=build, runner=stubborn)
    pids = []
    with open_serial(board.url) as port:
        for _ in range(2):
            RtsDtr().pulse(port)
            pids.append(read_until(port, b" is stubborn").split()[-3].decode())
    assert pids[0] != pids[1]
    assert not Path(f"/proc/{pids[0]}").exists()
    board.close()
    assert not Path(f"/proc/{pids[1]}").exists()


# Its lines


class _Chip:
    """Writes down what lines make of it."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.undecided = False

    def hold(self) -> None:
        self.done.append("hold")

    def boot_after(self, delay: float) -> None:
        self.done.append("wait")
        self.undecided = True

    def boot(self, *, download: bool) -> None:
        self.done.append("download" if download else "application")
        self.undecided = False


_UP, _DTR, _RTS, _BOTH = (False, False), (True, False), (False, True), (True, True)


@pytest.mark.parametrize(
    ("steps", "done"),
    [
        # esptool's sequence with one line after the other, and with both at once
        ([_RTS, _BOTH, _DTR, _UP], ["hold", "wait", "download"]),
        ([_UP, _BOTH, _RTS, _DTR, _UP], ["hold", "download"]),
        # a reset into the application, also from both lines asserted, as an opened port has them
        ([_RTS, _UP], ["hold", "application"]),
        ([_BOTH, _DTR, _UP, _RTS, _UP], ["hold", "application"]),
        # opening a port does nothing
        ([_DTR, _BOTH], []),
        # a step towards download mode that is not finished
        ([_RTS, _BOTH, _RTS, _UP], ["hold", "wait", "hold", "application"]),
    ],
)
def test_uart_lines(steps: list[tuple[bool, bool]], done: list[str]) -> None:
    chip = _Chip()
    lines = UartLines(chip)
    for step in steps:
        lines.set(*step)
    assert chip.done == done


@pytest.mark.parametrize(
    ("steps", "done"),
    [
        # esptool's sequence for it
        ([_UP, _DTR, _BOTH, _RTS, _UP], ["hold", "download"]),
        # a reset into the application; the wish for download is gone with both lines up
        ([_UP, _RTS, _UP], ["hold", "application"]),
        ([_DTR, _UP, _RTS, _UP], ["hold", "application"]),
        # opening a port does nothing
        ([_DTR, _BOTH], []),
        # the sequence for UARTs does not reach the loader
        ([_RTS, _BOTH, _DTR, _UP], ["hold", "application"]),
    ],
)
def test_usb_jtag_lines(steps: list[tuple[bool, bool]], done: list[str]) -> None:
    chip = _Chip()
    lines = UsbJtagLines(chip)
    for step in steps:
        lines.set(*step)
    assert chip.done == done


# Its loader, asked by esptool


@pytest.mark.parametrize("stub", [False, True], ids=["rom", "stub"])
def test_esptool_writes_verifies_reads_and_erases(
    make_board: MakeBoard, build: BuildFolder, stub: bool
) -> None:
    board = make_board(flashed=build)
    data = build.files[0][1].read_bytes()
    with captured() as chatter, open_serial(board.url) as port:
        esp = CHIP_DEFS["esp32s3"](port)
        esp.connect()
        assert bytes(esp.read_mac()).hex(":") == board.mac
        assert esp.get_chip_description() == "ESP32-S3 (QFN56) (revision v0.2)"
        if stub:
            esp = esp.run_stub()
        cmds.attach_flash(esp)
        assert cmds.detect_flash_size(esp) == "4MB"
        for at, compress in ((0x200000, True), (0x300000, False)):
            cmds.write_flash(
                esp, [(at, data + bytes(5000))], compress=compress, no_compress=not compress
            )
            cmds.verify_flash(esp, [(at, data)])
            assert esp.read_flash(at, 0x1100) == data[:0x1100]
        if stub:
            esp.erase_region(0x200000, 0x1000)
            assert esp.read_flash(0x200000, 0x1010) == b"\xff" * 0x1000 + data[0x1000:0x1010]
            esp.erase_flash()
            assert esp.flash_md5sum(0, 4) == "a54f0041a9e15b050f25c463f1db7449"  # of four 0xFF
            esp.soft_reset(True)  # back to the ROM loader
            CHIP_DEFS["esp32s3"](port).connect("no-reset")
        else:
            cmds.run(esp)  # leaves the loader
            assert board.wait_running()
    assert chatter.text.count("Hash of data verified.") == 2


@pytest.mark.parametrize(
    ("command", "data", "status"),
    [
        (0x03, bytes(16), 0x06),  # a block before "begin"
        (0x07, b"\x04" + bytes(15) + b"abcd", 0x07),  # a wrong checksum
        (0x07, b"\x05" + bytes(15) + b"abcd", 0x05),  # a wrong length
        (0x0A, b"", 0x05),
        (0x77, b"", 0x05),  # no such command
    ],
)
def test_the_loader_refuses_nonsense(
    make_board: MakeBoard, command: int, data: bytes, status: int
) -> None:
    board = make_board()
    with captured(), open_serial(board.url) as port:
        esp = CHIP_DEFS["esp32s3"](port)
        esp.connect()
        _, answer = esp.command(command, data, chk=0xEF)
        assert answer[:2] == bytes([1, status])
        assert esp.read_mac()  # and goes on


@pytest.mark.parametrize("cut", [1, 2, 7, 100])
def test_slip_frames_survive_any_cut(cut: int) -> None:
    packets = [b"\xc0\xdb\xdc\xdd", b"plain", b"\xdb\xdd\xc0" * 5]
    stream = b"noise" + b"".join(slip.encode(packet) for packet in packets)
    decoder = slip.Decoder()
    found = [p for at in range(0, len(stream), cut) for p in decoder.feed(stream[at : at + cut])]
    assert found == packets


# Its flash


def test_flash_outlives_the_board_and_only_erasing_sets_bits(tmp_path: Path) -> None:
    memory = FlashMemory(tmp_path / "flash.bin")
    assert memory.write(0x1FFE, b"\x0f\xf0\x55")
    assert memory.write(0x1FFE, b"\xfc\xff\xff")
    memory.close()
    memory = FlashMemory(tmp_path / "flash.bin")
    assert memory.read(0x1FFD, 5) == b"\xff\x0c\xf0\x55\xff"
    memory.erase(0x2000, 1)
    assert memory.read(0x1FFD, 5) == b"\xff\x0c\xf0\xff\xff"
    assert not memory.write(memory.SIZE - 1, b"ab")
    memory.close()


def test_a_flash_belongs_to_one_board(make_board: MakeBoard, tmp_path: Path) -> None:
    make_board()
    with pytest.raises(BenchError, match=r"7cdfa1000001.bin is the flash of another running"):
        VirtualS3(tmp_path / "7cdfa1000001.bin")


def test_a_file_of_another_size_is_no_flash(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"something of mine")
    with pytest.raises(BenchError, match="has 17 bytes, not the 4194304 of a flash: remove it"):
        VirtualS3(tmp_path / "file")
    assert (tmp_path / "file").read_bytes() == b"something of mine"


# How it fails


def test_a_panic_prints_its_text_and_reboots_once(
    make_board: MakeBoard, build: BuildFolder
) -> None:
    board = make_board("panic@10", flashed=build)
    with open_serial(board.url) as port:
        RtsDtr().pulse(port)
        read_until(port, banner(board, build))
        port.write(b"123456789")
        assert port.read(9) == b"123456789"
        port.write(b"0")
        text = read_until(port, banner(board, build))
        port.write(b"0123456789abc")
        assert port.read(13) == b"0123456789abc"
    assert text.startswith(b"Guru Meditation Error: Core  0 panic'ed (LoadProhibited).")
    assert f"ELF file SHA256: {build.elf_hash[:9]}\r\n\r\nRebooting...\r\n".encode() in text


def test_a_hang_lasts_until_the_reset(make_board: MakeBoard, build: BuildFolder) -> None:
    board = make_board("hang@3", flashed=build)
    with open_serial(board.url) as port:
        RtsDtr().pulse(port)
        read_until(port, banner(board, build))
        port.write(b"abc")
        port.timeout = 0.2
        assert port.read(1) == b""
        RtsDtr().pulse(port)
        read_until(port, banner(board, build))
        port.write(b"abc")
        assert port.read(3) == b"abc"


def test_faults_count(make_board: MakeBoard) -> None:
    fault = Fault.parse("hang@5*2")
    assert (fault.kind, fault.after, fault.times) == (FaultKind.HANG, 5, 2)
    assert Fault.parse("drop").times == 1
    assert Fault.parse("drop*always").times is None
    assert Fault.parse("corrupt").times is None


@pytest.mark.parametrize("spec", ["", "nothing", "drop@", "drop*", "DROP", "no-sync@3", "hang@x"])
def test_a_wrong_fault_is_refused(spec: str) -> None:
    with pytest.raises(BenchError, match="fault"):
        Fault.parse(spec)


def test_a_second_client_is_turned_away(make_board: MakeBoard) -> None:
    board = make_board()
    with open_serial(board.url):
        assert not is_free(board)
    assert is_free(board)


@pytest.mark.parametrize("mac", ["", "7c:df:a1:00:00", "7c-df-a1-00-00-01", "7c:df:a1:00:00:0g"])
def test_a_wrong_mac_is_refused(tmp_path: Path, mac: str) -> None:
    with pytest.raises(BenchError, match="is no MAC: write six bytes as aa:bb:cc:dd:ee:ff"):
        VirtualS3(tmp_path / "flash.bin", mac=mac)


def test_a_taken_port_is_named(make_board: MakeBoard, tmp_path: Path) -> None:
    board = make_board()
    with pytest.raises(BenchError, match=f"cannot listen on port {board.port}"):
        VirtualS3(tmp_path / "other.bin", port=board.port)
