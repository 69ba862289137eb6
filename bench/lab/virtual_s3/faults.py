"""Faults of a virtual board, on demand: what goes wrong, when, and how often."""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass

from bench.errors import BenchError


class FaultKind(enum.Enum):
    """What can go wrong; each value is the word used on the command line."""

    NO_SYNC = "no-sync"  # the ROM announces download mode, but never answers
    SILENT = "silent"  # nothing is ever sent: no power, wrong wires
    WRONG_CHIP = "wrong-chip"  # answers as an ESP32
    WRONG_MAC = "wrong-mac"  # another board of the same kind is on this port
    DROP = "drop"  # the connection is lost while flashing, and can be made again
    GONE = "gone"  # the connection is lost while flashing, for good
    MUTE = "mute"  # stops answering while flashing
    NOISE = "noise"  # a block arrives damaged, which the loader notices
    CORRUPT = "corrupt"  # a flash cell keeps a wrong bit
    PANIC = "panic"  # the application crashes, prints its panic text and reboots
    HANG = "hang"  # the application stops, until the next reset


# What `after` counts: blocks written to flash, or bytes the application received.
_WHILE_FLASHING = {
    FaultKind.DROP,
    FaultKind.GONE,
    FaultKind.MUTE,
    FaultKind.NOISE,
    FaultKind.CORRUPT,
}
_IN_APPLICATION = {FaultKind.PANIC, FaultKind.HANG}
_ONCE = {FaultKind.DROP, FaultKind.NOISE, *_IN_APPLICATION}
_SPEC = re.compile(r"([a-z-]+)(?:@(\d+))?(?:\*(\d+|always))?")


@dataclass
class Fault:
    """One fault.

    Attributes:
        kind: What goes wrong.
        after: Flash blocks (bytes to the application for panic and hang) that still go well.
        times: How often it happens; None is always.
    """

    kind: FaultKind
    after: int = 1
    times: int | None = None

    @classmethod
    def parse(cls, spec: str) -> Fault:
        """Read ``KIND[@AFTER][*TIMES]``, for example ``drop``, ``mute@3`` or ``hang@100*always``.

        Raises:
            BenchError: The text is no such thing.
        """
        match = _SPEC.fullmatch(spec)
        known = {kind.value: kind for kind in FaultKind}
        if match is None or match[1] not in known:
            raise BenchError(
                f"unknown fault {spec!r}: write KIND[@AFTER][*TIMES] with KIND one of "
                f"{', '.join(known)}"
            )
        kind = known[match[1]]
        if match[2] and kind not in _WHILE_FLASHING | _IN_APPLICATION:
            raise BenchError(
                f"fault {spec!r}: {kind.value} happens at once, leave out '@{match[2]}'"
            )
        if match[3] and match[3].strip("0") == "":
            raise BenchError(f"fault {spec!r}: '*{match[3]}' is never: write at least *1")
        if match[3]:
            times = None if match[3] == "always" else int(match[3])
        else:
            times = 1 if kind in _ONCE else None
        return cls(kind, int(match[2]) if match[2] else 1, times)


class Faults:
    """The faults a board still has in it."""

    def __init__(self, faults: Iterable[Fault] = ()) -> None:
        """Start with ``faults``."""
        self._faults = list(faults)

    def add(self, fault: Fault) -> None:
        """Put in one more; takes effect at once."""
        self._faults.append(fault)

    def clear(self) -> None:
        """Repair the board."""
        self._faults.clear()

    def has(self, kind: FaultKind) -> bool:
        """Tell whether a lasting fault is there."""
        return any(fault.kind is kind for fault in self._faults)

    def strikes(self, kind: FaultKind, done: int) -> bool:
        """Tell whether the fault happens now that ``done`` blocks or bytes went well; count it."""
        for fault in self._faults:
            if fault.kind is kind and done >= fault.after:
                if fault.times is not None:
                    fault.times -= 1
                    if fault.times <= 0:
                        self._faults.remove(fault)
                return True
        return False
