"""Ways to restart a board, one class each."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from typing import Protocol

import serial

from bench.errors import BenchError
from bench.lab.chatter import captured
from bench.lab.ports import follow, usb_serial_number
from bench.lab.serial_port import open_serial
from bench.lab.wiring import Wiring

# EN is held low for so long, in seconds; a bridge's transistors and capacitor need a few ms.
_HOLD = 0.1
# A server of esptool's takes DTR for the start of a reset of its own, which lasts so long.
_SETTLE = 0.2


class ResetFailed(BenchError):
    """The board could not be restarted in this way."""


class ResetStrategy(Protocol):
    """A way to restart whatever runs on a board.

    That the board really restarted is for the caller to see: its hello then has another boot id.
    """

    def reset(self, url: str) -> str:
        """Restart the board at ``url`` and return where it is then; nobody else has the port open.

        Raises:
            BenchError: The port cannot be used, or the board cannot be restarted in this way.
        """


class RtsDtr:
    """For UART bridges: RTS pulls EN low, DTR keeps IO0 high so that the application boots."""

    def reset(self, url: str) -> str:
        """Open the port and pulse EN."""
        with open_serial(url) as port:
            self.pulse(port)
        return url

    def pulse(self, port: serial.Serial) -> None:
        """Pulse EN on an open port."""
        _pulse(port)


class UsbJtag:
    """For the chip's own USB port: the same lines, which its USB peripheral understands.

    A wish for download mode that is noted there is taken back first. The port may vanish and come
    back under another name: the board is followed by its USB serial number.
    """

    def reset(self, url: str) -> str:
        """Open the port, pulse, and wait for the board if its port vanishes."""
        number = usb_serial_number(url)
        # The port may vanish in the middle of it, which is what was wanted.
        vanishing = contextlib.suppress(OSError) if number else contextlib.nullcontext()
        with open_serial(url) as port, vanishing:
            self.pulse(port)
        return url if number is None else follow(number)

    def pulse(self, port: serial.Serial) -> None:
        """Reset on an open port."""
        _pulse(port)


class Watchdog:
    """For boards without reset lines that sit in the loader: its RTC watchdog restarts the chip."""

    def reset(self, url: str) -> str:
        """Reach the loader that is running and arm its watchdog."""
        from esptool.targets import CHIP_DEFS
        from esptool.util import FatalError

        with captured(), open_serial(url) as port:
            try:
                esp = CHIP_DEFS["esp32s3"](port)
                esp.connect("no-reset", 2)
                esp.watchdog_reset()
            except (FatalError, OSError) as error:
                raise ResetFailed(
                    f"no loader answers at {url}: the watchdog restarts a board only from its "
                    "loader; press its reset button"
                ) from error
        return url


class Command:
    """For boards whose firmware answers: it restarts itself."""

    def __init__(self, command: Callable[[], None]) -> None:
        """Use ``command``, such as ``link.reset``."""
        self._command = command

    def reset(self, url: str) -> str:
        """Send the command."""
        self._command()
        return url


def line_reset(wiring: Wiring) -> RtsDtr | UsbJtag:
    """Return the strategy that uses a wiring's modem lines."""
    return RtsDtr() if wiring is Wiring.UART else UsbJtag()


def ask_for_loader(port: serial.Serial) -> None:
    """Assert the lines as opening a port does, for esptool to connect on a port that stayed open.

    An RFC 2217 server does not tell how its board is wired, and esptool then resets it as behind a
    UART bridge. The chip's own USB enters its loader in that sequence only if the wish for it was
    noted before, as it is by opening; a board behind a bridge takes no notice.
    """
    port.rts = False
    port.dtr = True
    port.rts = True
    time.sleep(_SETTLE)


def _pulse(port: serial.Serial) -> None:
    try:
        # In this order no step asks for download mode and resets at once.
        port.rts = False
        port.dtr = False
        port.rts = True
        time.sleep(_HOLD)
        port.rts = False
    except serial.SerialException:
        raise
    except OSError as error:
        raise ResetFailed(
            f"{port.name} has no modem lines to reset with ({error.strerror}): press the board's "
            "reset button"
        ) from error
