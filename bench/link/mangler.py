"""One direction of a faulty line: which bytes come out, and when."""

from __future__ import annotations

import heapq
import math
import random

from bench.link.fault_spec import FaultSpec
from bench.link.waiting import line_seconds

_LONGEST_CUT = 256
_STALL_RATE = 1 / 2000
_LONGEST_REPLAY = 0.2
# Paced bytes come in slices of this many seconds, as from an adapter that is polled.
_SLICE = 0.002

# What a board may write at any moment: plain, coloured, UTF-8, with a zero, a panic.
CONSOLE_LINES = (
    b"I (1234) main: still alive\r\n",
    b"\x1b[0;31mE (99) wifi: no such thing\x1b[0m\r\n",
    "température: 21 °C ✓\r\n".encode(),
    b"binary \x00\x01\x02 in text\r\n",
    b"Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.\r\n",
)


class Mangler:
    """Applies a spec to the bytes of one direction, whatever the pieces they come in."""

    def __init__(self, spec: FaultSpec, direction: str, *, board_side: bool) -> None:
        """Start at the stream's first byte; only the board's side injects text."""
        self.injected = bytearray()
        self.faults = 0
        self._spec = spec
        self._position = 0
        self._cut_until = 0
        rates = {
            "drop": spec.drop,
            "flip": spec.flip,
            "dup": spec.dup,
            "cut": spec.cut,
            "text": spec.text if board_side else 0.0,
            "delay": _STALL_RATE if spec.delay else 0.0,
        }
        self._rates = {kind: rate for kind, rate in rates.items() if rate > 0}
        # One source of chance a kind: adding a kind does not move the others' faults.
        self._random = {
            kind: random.Random(f"{spec.seed}/{direction}/{kind}")
            for kind in (*self._rates, "replay")
        }
        self._due = [(self._gap(kind), kind) for kind in self._rates]
        heapq.heapify(self._due)
        self._frame = bytearray()
        self._line_free = 0.0

    def feed(self, data: bytes, now: float) -> list[tuple[float, bytes]]:
        """Return what comes out of ``data``: pieces, each with the time it is due."""
        pieces: list[tuple[float, bytes]] = []
        out = bytearray()
        start, done = self._position, 0
        while self._due and self._due[0][0] < start + len(data):
            position, kind = heapq.heappop(self._due)
            at = position - start
            if at >= done:
                self._copy(out, data, start, done, at)
                done = at + self._apply(kind, data[at], position, out)
                if kind == "delay":
                    pieces += self._pace(bytes(out), now)
                    out.clear()
                    stall = self._random["delay"].random() * self._spec.delay
                    self._line_free = max(self._line_free, now) + stall
            heapq.heappush(self._due, (position + 1 + self._gap(kind), kind))
        self._copy(out, data, start, done, len(data))
        self._position += len(data)
        pieces += self._pace(bytes(out), now)
        if self._spec.replay:
            pieces += self._replays(data, now)
        return pieces

    def _gap(self, kind: str) -> int:
        """Draw how many bytes pass before the next fault of a kind."""
        rate = self._rates[kind]
        if rate >= 1:
            return 0
        return int(math.log1p(-self._random[kind].random()) / math.log1p(-rate))

    def _apply(self, kind: str, byte: int, position: int, out: bytearray) -> int:
        """Do one fault at a byte; return how many bytes of the input (0 or 1) it used up."""
        chance = self._random[kind]
        self.faults += 1
        if position < self._cut_until:
            return 0
        if kind == "drop":
            return 1
        if kind == "flip":
            out.append(byte ^ 1 << chance.randrange(8))
            return 1
        if kind == "dup":
            out.append(byte)
        elif kind == "cut":
            self._cut_until = position + chance.randint(1, _LONGEST_CUT)
        elif kind == "text":
            line = chance.choice(CONSOLE_LINES)
            self.injected += line
            out += line
        return 0

    def _copy(self, out: bytearray, data: bytes, start: int, begin: int, end: int) -> None:
        """Copy a range of the input, less what a burst cut out of it."""
        out += data[max(begin, min(self._cut_until - start, end)) : end]

    def _pace(self, data: bytes, now: float) -> list[tuple[float, bytes]]:
        if not data:
            return []
        self._line_free = max(self._line_free, now)
        if not self._spec.baud:
            return [(self._line_free + self._spec.latency, data)]
        size = max(1, int(_SLICE / line_seconds(1, self._spec.baud)))
        pieces = []
        for at in range(0, len(data), size):
            part = data[at : at + size]
            self._line_free += line_seconds(len(part), self._spec.baud)
            pieces.append((self._line_free + self._spec.latency, part))
        return pieces

    def _replays(self, data: bytes, now: float) -> list[tuple[float, bytes]]:
        pieces = []
        chance = self._random["replay"]
        *ended, rest = data.split(b"\0")
        for part in ended:
            frame = bytes(self._frame) + part
            self._frame.clear()
            if frame and chance.random() < self._spec.replay:
                self.faults += 1
                late = now + chance.random() * _LONGEST_REPLAY
                pieces.append((late, b"\0" + frame + b"\0"))
        self._frame += rest
        return pieces
