"""Puts firmware on a board, by esptool's Python API, if the board does not run it yet."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import serial

from bench.errors import BenchError
from bench.lab.chatter import Chatter, captured
from bench.lab.flash_errors import NotRunning, WrongBoard, explain
from bench.lab.flash_retries import LOST, UNACKNOWLEDGED, lost_connection, repeats_block
from bench.lab.flashed import LastFlashed
from bench.lab.hello import Running
from bench.lab.image import BuildFolder
from bench.lab.reset import line_reset
from bench.lab.serial_port import open_serial
from bench.lab.wiring import Wiring

# What the board says of itself in its hello, or None if it does not answer.
Ask = Callable[[], "Running | None"]
Progress = Callable[[int, int], None]

_CONNECT_ATTEMPTS = 3
_MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}")
_BEFORE = {Wiring.UART: "default-reset", Wiring.USB_JTAG: "usb-reset"}


@dataclass(frozen=True)
class FlashReport:
    """What was done.

    Attributes:
        flashed: Whether anything was written; False if the board ran the firmware already.
        elf_hash: Identity of the firmware.
        mac: The board's MAC as read while flashing, None if nothing was flashed.
        written: Bytes written.
        seconds: Time it took.
        retries: What esptool did over again without failing, one sentence each.
        log: esptool's messages.
    """

    flashed: bool
    elf_hash: str
    mac: str | None = None
    written: int = 0
    seconds: float = 0.0
    retries: tuple[str, ...] = ()
    log: str = ""


def ensure_flashed(
    url: str,
    build: BuildFolder,
    running: Ask,
    *,
    mac: str | None = None,
    force: bool = False,
    wiring: Wiring = Wiring.UART,
    baudrate: int = 921_600,
    progress: Progress | None = None,
) -> FlashReport:
    """Flash the board unless it runs this build already.

    It does if it says itself that it runs this very application, and if this machine did not write
    another bootloader, partition table or image of that application to it last.

    Args:
        url: The board's port; must be closed now and when ``running`` returns.
        build: What should run.
        running: Asks the board what it runs; called before and, if flashed, once more after.
        mac: The board that is meant, None for whichever is there. Another one is refused, also if
            it runs ``build``: by the id in its hello if that is a MAC, else by its loader.
        force: Flash it whatever it runs.
        wiring: How the board is reset.
        baudrate: Rate while flashing, of a UART.
        progress: Called with (bytes written, bytes in all).

    Raises:
        FlashError: Of the kind that names the cause; the board was reset if that was possible.
        PortUnavailable: The port cannot be opened.
    """
    before = running()
    named = before.board_id.lower() if before else ""
    if mac is not None and _MAC.fullmatch(named):
        _refuse_other(url, named, mac)
    if before is not None and runs(before, build) and not force:
        if mac is not None and not _MAC.fullmatch(named):
            _refuse_other(url, read_mac(url, wiring), mac)
        return FlashReport(False, build.elf_hash)
    report = flash(url, build, mac=mac, wiring=wiring, baudrate=baudrate, progress=progress)
    expect_running(url, build, running())
    return report


def runs(running: Running, build: BuildFolder) -> bool:
    """Tell whether a board that said what it runs need not be flashed with ``build``."""
    return running.firmware == build.elf_hash and not LastFlashed(running.board_id).is_other(build)


def expect_running(url: str, build: BuildFolder, running: Running | None) -> None:
    """Raise :class:`NotRunning` unless the board at ``url`` says that it runs what was flashed."""
    if running is None or running.firmware != build.elf_hash:
        said = f"says that it runs {running.firmware[:12]}" if running else "does not answer"
        raise NotRunning(
            f"{url}: {build.elf_hash[:12]} was written and verified, but the board {said}: check "
            "its boot pin, reset it, and look at what it prints"
        )


def flash(
    url: str,
    build: BuildFolder,
    *,
    mac: str | None = None,
    wiring: Wiring = Wiring.UART,
    baudrate: int = 921_600,
    progress: Progress | None = None,
) -> FlashReport:
    """Flash the board, verify what was written, and reset it; see :func:`ensure_flashed`."""
    started = time.monotonic()
    sizes = [(offset, path.stat().st_size) for offset, path in build.files]
    with captured(_steps(sizes, progress)) as chatter, open_serial(url) as port:
        session = _Session(port, url, build, wiring, baudrate, chatter)
        found = session.run(mac)
    return FlashReport(
        flashed=True,
        elf_hash=build.elf_hash,
        mac=found,
        written=sum(size for _, size in sizes),
        seconds=time.monotonic() - started,
        retries=tuple(session.retries),
        log=chatter.text,
    )


def read_mac(url: str, wiring: Wiring = Wiring.UART) -> str:
    """Return the MAC of the ESP32-S3 at ``url`` as ``aa:bb:cc:dd:ee:ff``; the board is reset."""
    with captured() as chatter, open_serial(url) as port:
        return _Session(port, url, None, wiring, 0, chatter).run(None)


class _Session:
    """One visit to the board's loader, which always ends with a reset."""

    def __init__(
        self,
        port: serial.Serial,
        url: str,
        build: BuildFolder | None,
        wiring: Wiring,
        baudrate: int,
        chatter: Chatter,
    ) -> None:
        self._port = port
        self._url = url
        self._build = build
        self._wiring = wiring
        self._baudrate = baudrate
        self._chatter = chatter
        self.retries: list[str] = []

    def run(self, mac: str | None) -> str:
        """Check the board, write to it if there is a build, reset it, and return its MAC."""
        from esptool.util import FatalError

        try:
            found = self._visit(mac)
            line_reset(self._wiring).pulse(self._port)
            return found
        except (FatalError, OSError) as error:
            raise self._with_reset(explain(self._url, error)) from error
        except BenchError as error:
            raise self._with_reset(error) from error.__cause__
        except BaseException:  # Ctrl-C, too, must not leave the board in its loader
            self._try_reset()
            raise

    def _visit(self, mac: str | None) -> str:
        from esptool import cmds
        from esptool.targets import CHIP_DEFS

        esp = CHIP_DEFS[self._build.chip if self._build else "esp32s3"](self._port)
        esp.connect(_BEFORE[self._wiring], _CONNECT_ATTEMPTS)
        found = bytes(esp.read_mac()).hex(":")
        if mac is not None:
            _refuse_other(self._url, found, mac)
        if self._build is not None:
            esp = cmds.run_stub(esp)
            if self._wiring is Wiring.UART:
                esp.change_baud(self._baudrate)
            cmds.attach_flash(esp)
            note = LastFlashed(found)
            note.begin()
            self._write(esp, self._build)
            note.end(self._build)
        return found

    def _write(self, esp: Any, build: BuildFolder) -> None:
        from esptool import cmds

        # esptool mentions the repetition of a block in its trace only.
        esp.trace = self._trace
        cmds.write_flash(esp, [(offset, str(path)) for offset, path in build.files])
        if lost_connection(self._chatter.text):
            self.retries.append(LOST)

    def _trace(self, message: str, newline: bool = False) -> None:
        if repeats_block(message):
            self.retries.append(UNACKNOWLEDGED)

    def _with_reset(self, error: BenchError) -> BenchError:
        if self._try_reset():
            return error
        return type(error)(f"{error}; it could not be reset either, power it off and on")

    def _try_reset(self) -> bool:
        try:
            if not self._port.is_open:  # esptool closes it when connecting fails
                self._port.open()
            line_reset(self._wiring).pulse(self._port)
        except (OSError, BenchError):
            return False
        return True


def _refuse_other(url: str, found: str, mac: str) -> None:
    if found != mac.lower():
        raise WrongBoard(
            f"{url}: this is board {found}, not {mac.lower()}; nothing was written: correct the "
            "port or the MAC"
        )


def _steps(sizes: list[tuple[int, int]], progress: Progress | None) -> Callable[[str], None] | None:
    """Turn esptool's labels, "Writing at 0x00014000", into bytes written so far."""
    if progress is None:
        return None
    total = sum(size for _, size in sizes)

    def step(label: str) -> None:
        match = re.search(r"Writing at (0x[0-9a-f]+)", label)
        if match is None:
            return
        address = int(match[1], 16)
        done = sum(min(size, max(0, address - offset)) for offset, size in sizes)
        progress(done, total)

    return step
