"""How long to wait for what: line time, round trips, deadlines."""

from __future__ import annotations

import math

# A UART byte is ten bits: start, eight, stop.
_BITS = 10
_SHORTEST_TIMEOUT = 0.03
# Stalls and late copies must not make the link sleepy.
_LONGEST_TIMEOUT = 0.5
_FIRST_TIMEOUT = 0.1
# Covers the resends of a small request on a bad line.
_GRACE = 5.0
# Frame, header, CRC and fields around a chunk, and the other direction's answer to it.
_OVERHEAD = 50
_SMALLEST_CHUNK = 64
# At 4 KiB, frames cost less than 1 % of the line.
_SLOW_CHUNK = 4096
_CHUNK_SECONDS = 0.04
_FEWEST_LOSSES = 3


def line_seconds(size: int, baudrate: int) -> float:
    """Return how long ``size`` bytes are under way at ``baudrate`` bits a second (8N1)."""
    return size * _BITS / baudrate


def deadline_seconds(size: int, baudrate: int, expected: float = 0.0) -> float:
    """Return within how many seconds a transfer must be done: line time four times over.

    Args:
        size: Bytes both ways.
        baudrate: Bits a second.
        expected: Seconds the device itself may take.
    """
    return _GRACE + 4 * line_seconds(size, baudrate) + expected


class RoundTrip:
    """Adaptive resend timer: smoothed mean and deviation of the time beyond the line's own.

    The smoothing is TCP's (RFC 6298).
    """

    def __init__(self) -> None:
        """Start without a sample."""
        self._mean = -1.0
        self._deviation = 0.0

    def sample(self, seconds: float) -> None:
        """Take the latency of one answered request."""
        seconds = max(0.0, seconds)
        if self._mean < 0:
            self._mean, self._deviation = seconds, seconds / 2
        else:
            self._deviation += (abs(seconds - self._mean) - self._deviation) / 4
            self._mean += (seconds - self._mean) / 8

    @property
    def timeout(self) -> float:
        """Seconds beyond the line's time after which a request is taken for lost."""
        if self._mean < 0:
            return _FIRST_TIMEOUT
        return min(max(_SHORTEST_TIMEOUT, self._mean + 4 * self._deviation), _LONGEST_TIMEOUT)

    def retry(self, attempt: int, line: float) -> float:
        """Seconds to wait for an answer to the copy number ``attempt`` of a request.

        Losses on a serial line are noise, not congestion: the timer grows late and little. But a
        copy too many takes the line's time from others, so a slow line gets some slack.

        Args:
            attempt: 0 for the first copy.
            line: Seconds that the line and the device's work take by calculation.
        """
        return 1.25 * line + self.timeout * (2 if attempt > 2 else 1)


class LossRate:
    """How likely a byte of this line is to be lost or damaged, from frames and resends."""

    # Older bytes count half each time that many went by.
    _MEMORY = 1 << 17

    def __init__(self) -> None:
        """Start with a good line."""
        self._bytes = 0.0
        self._losses = 0.0
        self._cap = float(1 << 16)

    def arrived(self, size: int) -> None:
        """Count a chunk of ``size`` bytes that arrived: a larger one may, too."""
        self._cap += size / 8

    def failed(self, size: int) -> None:
        """Count a chunk of ``size`` bytes that does not arrive.

        Where nothing of that size arrives, the losses counted are far fewer than the line's.
        """
        self._cap = min(self._cap, size / 4)

    def sent(self, size: int, *, lost: bool) -> None:
        """Count ``size`` wire bytes, and whether a frame was lost before them."""
        if self._bytes > self._MEMORY:
            self._bytes /= 2
            self._losses /= 2
        self._bytes += size
        self._losses += lost

    def best_chunk(self, largest: int) -> int:
        """Return the payload size that costs the fewest bytes for each that arrives.

        A frame of n bytes arrives with probability (1 - p)^n; with an overhead of h bytes,
        n = sqrt(h / p) is the best for small p.
        """
        if self._losses < _FEWEST_LOSSES:
            return largest
        best = min(self._cap, math.sqrt(_OVERHEAD * self._bytes / self._losses))
        return max(min(_SMALLEST_CHUNK, largest), min(largest, int(best)))


class LineRate:
    """How fast data really moves, which a baud rate says of real lines only."""

    def __init__(self) -> None:
        """Start with a slow line."""
        self._rate = 0.0

    def moved(self, size: int, seconds: float) -> None:
        """Take that ``size`` bytes of data moved, and were confirmed, in ``seconds``."""
        if size >= _SLOW_CHUNK:
            self._rate = size / max(seconds, 1e-6)

    def best_chunk(self, largest: int) -> int:
        """Return the payload size that keeps the line busy for a blink.

        Longer frames cost less on a fast line; on a slow one they only make losses dear.
        """
        return min(largest, max(_SLOW_CHUNK, int(self._rate * _CHUNK_SECONDS)))
