"""What a faulty line does wrong, as people write it: ``drop=1e-4,latency=16ms,seed=7``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

from bench.errors import BenchError


@dataclass(frozen=True)
class FaultSpec:
    """Faults of a line, the same both ways unless said otherwise.

    Rates are per byte; they hit the same bytes of the same stream for the same seed. Events
    happen once, after that many bytes from the host; 0 means never. Times are in seconds.

    Attributes:
        drop: Rate of bytes lost.
        flip: Rate of bytes with one bit turned.
        dup: Rate of bytes that come twice.
        cut: Rate of bursts of 1 to 256 bytes lost.
        text: Rate of console lines that the board writes between any two of its bytes.
        replay: Rate, per frame, of frames that come once more, up to 0.2 s later.
        delay: Longest of the stalls that happen every 2,000 bytes on average.
        baud: Bits a second (8N1) that the line passes; 0 is as fast as it goes.
        latency: Time every byte takes on top.
        hang: Event: nothing passes any more, until the board is reset.
        reset: Event: the board is reset.
        close: Event: the port closes.
        rename: Event: the port closes and comes back under another name.
        seed: Start of the random numbers.
    """

    drop: float = 0.0
    flip: float = 0.0
    dup: float = 0.0
    cut: float = 0.0
    text: float = 0.0
    replay: float = 0.0
    delay: float = 0.0
    baud: int = 0
    latency: float = 0.0
    hang: int = 0
    reset: int = 0
    close: int = 0
    rename: int = 0
    seed: int = 0

    @classmethod
    def parse(cls, text: str) -> FaultSpec:
        """Read ``key=value,key=value``; the empty text is a line without faults.

        Raises:
            BenchError: A key is unknown or given twice, or a value is not what it needs.
        """
        values: dict[str, float] = {}
        for item in filter(None, (part.strip() for part in text.split(","))):
            key, equals, value = (part.strip() for part in item.partition("="))
            if key not in _READERS:
                raise BenchError(
                    f"faults: unknown key {key!r} in {item!r}; known: {', '.join(_READERS)}"
                )
            if not equals or not value:
                raise BenchError(f"faults: {key!r} needs a value, as in {key}={_EXAMPLES[key]}")
            if key in values:
                raise BenchError(f"faults: {key!r} is given twice")
            try:
                values[key] = _READERS[key](value)
            except ValueError as error:
                raise BenchError(
                    f"faults: {item!r}: {error}, as in {key}={_EXAMPLES[key]}"
                ) from error
        return cls(**values)  # type: ignore[arg-type]

    def __str__(self) -> str:
        """Write what ``parse`` reads, for replaying."""
        parts = []
        for field in fields(self):
            value = getattr(self, field.name)
            if value != field.default or field.name == "seed":
                unit = "s" if _READERS[field.name] is _time else ""
                parts.append(f"{field.name}={value:g}{unit}" if unit else f"{field.name}={value}")
        return ",".join(parts)


def _rate(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError("not a number") from None
    if not 0 <= value <= 1:
        raise ValueError("a rate is between 0 and 1")
    return value


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        raise ValueError("not a whole number") from None
    if value < 0:
        raise ValueError("may not be negative")
    return value


def _time(text: str) -> float:
    number, factor = (text[:-2], 1e-3) if text.endswith("ms") else (text[:-1], 1.0)
    if not text.endswith("s"):
        raise ValueError("a time needs its unit, ms or s")
    try:
        value = float(number) * factor
    except ValueError:
        raise ValueError("not a time") from None
    if not 0 <= value <= 3600:
        raise ValueError("a time is between 0 and 3600 s")
    return value


_READERS: dict[str, Callable[[str], float]] = {
    **dict.fromkeys(("drop", "flip", "dup", "cut", "text", "replay"), _rate),
    "delay": _time,
    "baud": _count,
    "latency": _time,
    **dict.fromkeys(("hang", "reset", "close", "rename", "seed"), _count),
}
_EXAMPLES = {
    **dict.fromkeys(("drop", "flip", "dup", "cut", "text", "replay"), "1e-4"),
    "delay": "50ms",
    "baud": "921600",
    "latency": "16ms",
    **dict.fromkeys(("hang", "reset", "close", "rename"), "100000"),
    "seed": "7",
}
