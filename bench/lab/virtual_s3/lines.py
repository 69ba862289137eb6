"""How DTR and RTS reach the chip: through two transistors, or within the chip itself.

Both have the lines asserted mean "pull low", and both ignore the lines while they are equal.
"""

from __future__ import annotations

from typing import Protocol

from bench.lab.wiring import Wiring

# A reset that ends with both lines asserted is a host's step on the way to download mode: it pulls
# IO0 low next. On a board EN rises slowly enough for that; here the chip waits for it, in seconds,
# however slow the host's machine or network is.
_STEP = 1.0


class Chip(Protocol):
    """What the lines can do."""

    def hold(self) -> None:
        """Stop everything: EN is low."""

    def boot_after(self, delay: float) -> None:
        """Start what is in flash after ``delay`` seconds, unless something else is said by then."""

    def boot(self, *, download: bool) -> None:
        """Start at once."""

    @property
    def undecided(self) -> bool:
        """Whether a delayed start is pending."""


class Lines(Protocol):
    """Turns line changes into what happens to the chip."""

    def set(self, dtr: bool, rts: bool) -> None:
        """Take the new state of both lines."""

    @property
    def download_asked(self) -> bool:
        """Whether a chip that restarts on its own now would enter the loader."""


class UartLines:
    """A UART bridge: RTS alone pulls EN low, DTR alone pulls IO0 low."""

    def __init__(self, chip: Chip) -> None:
        """Both lines start released."""
        self._chip = chip
        self._in_reset = False
        self._boot_pin_low = False

    def set(self, dtr: bool, rts: bool) -> None:
        """Act on the edges of EN; when it rises, IO0 decides what is booted."""
        reset = rts and not dtr
        self._boot_pin_low = dtr and not rts
        if reset and not self._in_reset:
            self._chip.hold()
        elif dtr and rts and self._in_reset:
            self._chip.boot_after(_STEP)
        elif not reset and (self._in_reset or self._chip.undecided):
            self._chip.boot(download=self._boot_pin_low)
        self._in_reset = reset

    @property
    def download_asked(self) -> bool:
        """Whether IO0 is low."""
        return self._boot_pin_low


class UsbJtagLines:
    """The chip's own USB-Serial/JTAG: DTR alone notes a wish to download, RTS alone resets."""

    def __init__(self, chip: Chip) -> None:
        """Both lines start released."""
        self._chip = chip
        self._in_reset = False
        self._download = False

    def set(self, dtr: bool, rts: bool) -> None:
        """Act on the wish, and boot by it when the reset begins."""
        if dtr and not rts:
            self._download = True
        elif not dtr and not rts:
            self._download = False
        reset = rts and not dtr
        if reset and not self._in_reset:
            self._chip.hold()
            self._chip.boot(download=self._download)
        self._in_reset = reset

    @property
    def download_asked(self) -> bool:
        """Whether the wish is noted."""
        return self._download


def connect(wiring: Wiring, chip: Chip) -> Lines:
    """Wire a chip up."""
    return UartLines(chip) if wiring is Wiring.UART else UsbJtagLines(chip)
