"""What can go wrong while flashing: one class a cause, each with one line and what to do.

esptool tells causes apart by their text alone; the texts here are those of esptool 5.
"""

from __future__ import annotations

import re

from bench.errors import BenchError
from bench.lab.serial_port import PortUnavailable


class FlashError(BenchError):
    """Flashing failed; the message names the port, the cause and the remedy."""


class NoSync(FlashError):
    """The board enters download mode but never answers."""


class NoDownloadMode(FlashError):
    """The board restarts but does not enter download mode."""


class BoardSilent(FlashError):
    """Nothing comes from the board."""


class WrongChip(FlashError):
    """The chip is of another kind."""


class WrongBoard(FlashError):
    """The chip is of the right kind, but it is another board."""


class LineLost(FlashError):
    """The connection to the board went away and did not come back."""


class BoardMute(FlashError):
    """The board stopped answering while it was written."""


class WriteCorrupt(FlashError):
    """What was written reads back differently."""


class NotRunning(FlashError):
    """Everything was written, but the board does not run it."""


def explain(url: str, error: Exception) -> BenchError:
    """Return the cause behind one of esptool's or pyserial's exceptions.

    It is a ``FlashError``, or ``PortUnavailable`` if not even the port could be opened.
    """
    text = " ".join(str(error).split())
    for pattern, kind, sentence in _TABLE:
        if match := re.search(pattern, text):
            return kind(f"{url}: {sentence.format(*match.groups())}")
    if isinstance(error, OSError):
        return LineLost(
            f"{url}: the connection to the board was lost for good: check its cable, its power and "
            "its server, and flash again; until then its firmware is incomplete"
        )
    return FlashError(f"{url}: esptool failed: {text.split(' For troubleshooting')[0]}")


# (text, class, sentence) in the order in which they are tried.
_TABLE: tuple[tuple[str, type[BenchError], str], ...] = (
    (
        "Download mode successfully detected, but getting no sync reply",
        NoSync,
        "the board enters download mode but never answers: nothing we send reaches it, check its "
        "RX line and that no other device drives it",
    ),
    (
        "Wrong boot mode detected|Failed to connect.*(?:Invalid head|stopped|Guru Meditation)",
        NoDownloadMode,
        "the board does not enter download mode: check that it is wired as this port assumes (uart "
        "or usb-jtag), or hold BOOT while you start again",
    ),
    (
        r"Failed to connect.*No serial data received",
        BoardSilent,
        "nothing comes from the board: check that it has power, that this is its port, and that "
        "its TX line is connected",
    ),
    (
        r"This chip is (\S+), not (\S+)\. Wrong chip",
        WrongChip,
        "the chip there is an {0}, not an {1}: correct the port, or take the build for that chip",
    ),
    (
        "No more data to read|No serial data received|stream stopped|transfer stopped",
        BoardMute,
        "the board stopped answering while it was written: check its power and cable, and flash "
        "again; until then its firmware is incomplete",
    ),
    (
        "MD5 of file does not match data in flash|the written flash region is empty",
        WriteCorrupt,
        "the flash holds other data than was written: try a lower baud rate; if it stays, the "
        "flash is worn out, replace the board",
    ),
    (
        "the port is busy or doesn't exist|does not seem to support RFC2217",
        PortUnavailable,
        "cannot open the port: it is missing, or another program uses the board; connect it, or "
        "close that program",
    ),
)
