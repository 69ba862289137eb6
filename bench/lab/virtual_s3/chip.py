"""The chip: what runs on it, and what a reset does."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from bench.lab import image
from bench.lab.virtual_s3 import texts
from bench.lab.virtual_s3.application import Application
from bench.lab.virtual_s3.faults import FaultKind, Faults
from bench.lab.virtual_s3.flash_memory import FlashMemory
from bench.lab.virtual_s3.lines import connect
from bench.lab.virtual_s3.loader import Loader
from bench.lab.virtual_s3.loop import Loop, Timer
from bench.lab.virtual_s3.registers import FORCE_DOWNLOAD_BOOT, Registers
from bench.lab.wiring import Wiring

# A chip that restarts on its own does not do so faster than a real one, in seconds.
_RESTART = 0.1


class Line(Protocol):
    """The chip's connection to the host."""

    def send(self, data: bytes) -> None:
        """Send bytes."""

    def backlog(self) -> int:
        """Return how many bytes the host did not take yet."""

    def lose(self, *, for_good: bool) -> None:
        """Break the connection."""

    def note(self, event: str) -> None:
        """Tell the user what happened."""


@dataclass
class Counters:
    """What happened to a board since it was made."""

    boots: int = 0  # into the application
    downloads: int = 0  # into the loader
    blocks: int = 0  # written to flash


class Chip:
    """An ESP32-S3 with its flash; all methods are called from the board's own thread."""

    def __init__(
        self,
        loop: Loop,
        line: Line,
        memory: FlashMemory,
        mac: bytes,
        wiring: Wiring,
        runner: Path | None,
        faults: Faults,
    ) -> None:
        """Wire the chip up; it starts with :meth:`power_on`."""
        self._loop = loop
        self._line = line
        self._memory = memory
        self._mac = mac
        self._runner = runner
        self._faults = faults
        self._registers = self._new_registers()
        self._loader: Loader | None = None
        self._application: Application | None = None
        self._elf_hash = ""
        self._pending: Timer | None = None
        self._undecided = False
        self._reason = texts.POWER_ON
        self._hung = False
        self._finished_blocks = 0
        self._boots = 0
        self._downloads = 0
        self._lines = connect(wiring, self)
        self._external_reset = texts.POWER_ON if wiring is Wiring.UART else texts.USB
        self.running = threading.Event()
        self.dtr = False
        self.rts = False

    @property
    def counters(self) -> Counters:
        """What happened so far."""
        blocks = self._finished_blocks + (self._loader.blocks if self._loader else 0)
        return Counters(self._boots, self._downloads, blocks)

    def backlog(self) -> int:
        """Return how many bytes the application did not take yet."""
        return len(self._application.stream.unsent) if self._application else 0

    def power_on(self) -> None:
        """Boot for the first time."""
        self.boot(download=False)

    def set_lines(self, dtr: bool, rts: bool) -> None:
        """Take the host's modem lines."""
        if (dtr, rts) != (self.dtr, self.rts):
            self.dtr, self.rts = dtr, rts
            self._lines.set(dtr, rts)

    def receive(self, data: bytes) -> None:
        """Take bytes from the host."""
        if self._faults.has(FaultKind.SILENT):
            return
        if self._loader is not None:
            self._loader.receive(data)
        elif self._application is not None and not self._hung:
            self._to_application(data, self._application)

    def stop(self) -> None:
        """Switch off."""
        self._halt()

    # What the wiring does

    def hold(self) -> None:
        """Stop everything."""
        self._reason = self._external_reset
        self._halt()

    def boot_after(self, delay: float) -> None:
        """Boot from flash after ``delay`` seconds, unless the lines say something else by then."""
        self._later(delay, lambda: self.boot(download=False))
        self._undecided = True

    @property
    def undecided(self) -> bool:
        """Whether :meth:`boot_after` is pending."""
        return self._undecided

    def boot(self, *, download: bool) -> None:
        """Start the ROM: into its loader, or from flash."""
        self._halt()
        self._registers = self._new_registers()
        reason = self._reason
        self._reason = texts.SOFTWARE
        self.send(texts.boot_log(reason, download=download))
        if download:
            self._downloads += 1
            self._loader = Loader(self, self._memory, self._registers, self._faults)
            self._line.note(f"reset ({reason[1]}): waiting for download")
        else:
            self._boot_from_flash(reason)

    # What the loader does

    def send(self, data: bytes) -> None:
        """Send bytes to the host."""
        if not self._faults.has(FaultKind.SILENT):
            self._line.send(data)

    def run_application(self) -> None:
        """Leave the loader by a software reset."""
        self.boot(download=False)

    def lose_line(self, *, for_good: bool) -> None:
        """Break the connection to the host."""
        self._line.lose(for_good=for_good)

    # The application

    def _application_sent(self, data: bytes) -> None:
        if not data:
            self._line.note("the application ended: restart")
            self._halt()
            self._later(_RESTART, self._restart)
        elif not self._hung:
            self.send(data)

    def _to_application(self, data: bytes, application: Application) -> None:
        application.received += len(data)
        if self._faults.strikes(FaultKind.PANIC, application.received):
            self._line.note("panic")
            self._halt()
            self.send(texts.panic(self._elf_hash))
            self._later(_RESTART, self._restart)
        elif self._faults.strikes(FaultKind.HANG, application.received):
            self._line.note("the application hangs")
            self._hung = True
        else:
            application.stream.send(data)

    def _restart(self) -> None:
        self.boot(download=self._lines.download_asked)

    def _boot_from_flash(self, reason: tuple[int, str]) -> None:
        defect = image.image_defect(self._memory.read(image.BOOTLOADER_OFFSET, 0x8000))
        if defect is not None:
            self._line.note(f"reset ({reason[1]}): no bootloader in flash ({defect})")
            self.send(texts.no_bootloader(defect))
            return
        self.send(texts.flash_boot())
        offset = image.app_offset(self._memory.read(image.PARTITION_TABLE_OFFSET, 0xC00))
        if offset is None:
            defect = "no partition table"
        else:
            content = self._memory.read(offset, self._memory.SIZE - offset)
            defect = image.image_defect(content)
            self._elf_hash = image.elf_hash(content) or ""
        if defect is not None:
            self._line.note(f"reset ({reason[1]}): no application in flash ({defect})")
            self.send(texts.no_application(defect))
            return
        self._boots += 1
        self._line.note(f"reset ({reason[1]}): application {self._elf_hash[:12]} starts")
        if self._runner is not None:
            self._application = Application(
                *(self._loop, self._runner, self._elf_hash, self._mac.hex(":")),
                self._application_sent,
            )
            self._application.stream.sink = self._line.backlog
        self.running.set()

    def _watchdog_bites(self) -> None:
        forced = bool(self._registers.read(FORCE_DOWNLOAD_BOOT) & 1)
        self._reason = texts.WATCHDOG
        self.boot(download=forced or self._lines.download_asked)

    def _new_registers(self) -> Registers:
        mac = self._mac
        if self._faults.has(FaultKind.WRONG_MAC):
            mac = mac[:-1] + bytes([mac[-1] ^ 0xFF])
        return Registers(mac, self._arm_watchdog, esp32=self._faults.has(FaultKind.WRONG_CHIP))

    def _arm_watchdog(self) -> None:
        self._later(_RESTART, self._watchdog_bites)

    def _halt(self) -> None:
        self._cancel()
        self.running.clear()
        self._hung = False
        if self._loader is not None:
            self._finished_blocks += self._loader.blocks
            self._loader = None
        if self._application is not None:
            self._application.stop()
            self._application = None

    def _later(self, delay: float, what: Callable[[], None]) -> None:
        self._cancel()
        self._pending = self._loop.call_later(delay, what)

    def _cancel(self) -> None:
        self._undecided = False
        if self._pending is not None:
            self._pending.cancel()
            self._pending = None
