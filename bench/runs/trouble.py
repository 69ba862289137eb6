"""What took a board down: it hung, it panicked, or it is not there any more."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from bench.link import DeviceRebooted, DeviceSilent, LinkError

TroubleKind = Literal["hung", "panicked", "lost"]

# What ESP-IDF prints before it restarts a chip, and the host runner before it dies.
_PANIC = re.compile(
    rb"^.*(?:Guru Meditation|\babort\(\) was|\bassert failed|\bassertion .* failed|\bpanic).*$",
    re.M,
)


@dataclass(frozen=True)
class Trouble:
    """One time that a board went down.

    Attributes:
        kind: How.
        text: What tells so: the panic's own line, how the process died, or the link's error.
    """

    kind: TroubleKind
    text: str


def panic_line(console: bytes) -> str | None:
    """Return the line in which a board's console says that it panicked, None if none does."""
    found = _PANIC.search(console)
    return found[0].decode(errors="replace").strip() if found else None


def diagnose(cause: LinkError, death: str | None, console: bytes) -> Trouble:
    """Tell how a board went down.

    Args:
        cause: What the link saw.
        death: How the board's process ended, if it has one and that did.
        console: What the board printed lately.
    """
    if death is not None:
        return Trouble("panicked", death)
    if said := panic_line(console):
        return Trouble("panicked", said)
    seen = (cause, cause.__cause__)
    if any(isinstance(error, DeviceSilent) for error in seen):
        return Trouble("hung", str(cause))
    # A chip that restarts unasked had a panic, a watchdog or a brown-out, even if it did not say.
    rebooted = any(isinstance(error, DeviceRebooted) for error in seen)
    return Trouble("panicked" if rebooted else "lost", str(cause))
