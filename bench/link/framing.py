"""Frames on the wire, and the console text between them.

A frame is a zero, the mark, the COBS code of header, payload and CRC-32, and a zero. Everything
else is console text.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from cobs import cobs
from zlib_ng.zlib_ng import crc32

from bench.link.protocol import CRC_BYTES, HEADER, MARK, VERSION

_START = bytes([0, MARK])
_CRC = struct.Struct("<I")
# The CRC-32 of anything followed by its own CRC-32.
_CRC_OF_ALL = 0x2144DF1C
_SMALLEST = HEADER.size + CRC_BYTES
_LARGEST = HEADER.size + 0xFFFF + CRC_BYTES

# In the wreck of a frame, lines of text are text that the device wrote into it: a panic in
# mid-frame. The end of a line tells them from data, even from ramps through all byte values.
_CHARACTER = rb"(?:[\t\r\x1b\x20-\x7e]|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2})"
_SALVAGED = re.compile(_CHARACTER + rb"{12,}\n(?:" + _CHARACTER + rb"|\n)*")

_BEGUN = re.compile(_CHARACTER + rb"+\Z")
_LONGEST_LINE = 256


class Frame(NamedTuple):
    """A frame whose CRC is right."""

    version: int
    type: int
    attempt: int
    status: int
    session: int
    sequence: int
    payload: bytes


def encode(
    type_: int,
    session: int,
    sequence: int,
    payload: bytes,
    *,
    attempt: int = 0,
    status: int = 0,
    version: int = VERSION,
) -> bytes:
    """Return the wire bytes of a frame; ``payload`` has at most 65,535 bytes."""
    header = HEADER.pack(version, type_, attempt, status, session, sequence, len(payload))
    crc = _CRC.pack(crc32(payload, crc32(header)))
    return b"".join((_START, cobs.encode(b"".join((header, payload, crc))), b"\0"))


def wire_size(payload: int) -> int:
    """Return the most wire bytes that a frame of ``payload`` bytes takes."""
    body = _SMALLEST + payload
    return len(_START) + body + body // 254 + 1 + 1


@dataclass
class FramingCounters:
    """What a decoder has seen so far."""

    frames: int = 0
    bad_frames: int = 0
    text_bytes: int = 0


class Decoder:
    """Splits a line's bytes into frames and console text, each handed on as soon as it is known.

    Text goes to ``text`` in order and unchanged. All that is held back is a zero at the end of
    the bytes seen so far (the next byte tells whether it starts a frame) and a frame under way.
    """

    def __init__(self, text: Callable[[bytes], None]) -> None:
        """Start outside a frame."""
        self.counters = FramingCounters()
        self._text = text
        self._held: list[bytes] = []
        self._in_frame = False
        self._after_frame = False
        self._limit = wire_size(_LARGEST)

    def limit(self, payload: int) -> None:
        """Say the largest payload there is: a longer "frame" is known to be damaged at once."""
        self._limit = wire_size(payload)

    @property
    def pending(self) -> bool:
        """Whether bytes are held back."""
        return self._in_frame or bool(self._held)

    def feed(self, data: bytes) -> list[Frame]:
        """Take the line's next bytes; return the frames they complete."""
        frames: list[Frame] = []
        if self._held and not self._in_frame:
            data = self._release() + data
        position = 0
        while True:
            if self._in_frame:
                end = data.find(b"\0", position)
                if end < 0:
                    self._held.append(data[position:])
                    if sum(map(len, self._held)) <= self._limit:
                        return frames  # the frame goes on
                    data = self._release()
                    position = self._give_up_overlong(data)
                    continue
                # Pieces of a frame are joined once, when it is whole.
                self._held.append(data[position:end])
                frame = self._decode(self._release())
                if frame is not None:
                    frames.append(frame)
                position = end + 1
                self._in_frame = False
                self._after_frame = True
            if self._after_frame:
                # The closing zero may be the next frame's first: that one's was lost, or this
                # frame's end was and the next one's start ended it.
                if position == len(data):
                    return frames
                self._after_frame = False
                if data[position] == MARK:
                    self._in_frame = True
                    position += 1
                    continue
            start = data.find(_START, position)
            if start < 0:
                end = len(data) - data.endswith(b"\0")
                self._emit(data[position:end])
                if end < len(data):
                    self._held.append(b"\0")
                return frames
            self._emit(data[position:start])
            position = start + len(_START)
            self._in_frame = True

    def give_up(self) -> None:
        """Stop waiting for the rest of what is held back: the line has been quiet for long.

        A zero is text after all; a frame under way is damaged, and text in it is saved.
        """
        held = self._release()
        if self._in_frame:
            self._wreck(held)
            self._in_frame = False
        else:
            self._emit(held)

    def _release(self) -> bytes:
        held = b"".join(self._held)
        self._held.clear()
        return held

    def _give_up_overlong(self, code: bytes) -> int:
        """Leave a "frame" that is too long; return where text goes on."""
        # A line of text that has only begun would not be found in the wreck.
        tail = _BEGUN.search(code, max(0, len(code) - _LONGEST_LINE))
        end = tail.start() if tail else len(code)
        self._wreck(code[:end])
        self._in_frame = False
        return end

    def _decode(self, code: bytes) -> Frame | None:
        try:
            body = cobs.decode(code) if len(code) <= self._limit else b""
        except cobs.DecodeError:
            body = b""
        if len(body) >= _SMALLEST and crc32(body) == _CRC_OF_ALL:
            version, type_, attempt, status, session, sequence, length = HEADER.unpack_from(body)
            if length == len(body) - _SMALLEST:
                self.counters.frames += 1
                return Frame(
                    version,
                    type_,
                    attempt,
                    status,
                    session,
                    sequence,
                    body[HEADER.size : -CRC_BYTES],
                )
        self._wreck(code)
        return None

    def _wreck(self, code: bytes) -> None:
        self.counters.bad_frames += 1
        for text in _SALVAGED.findall(code):
            self._emit(text)

    def _emit(self, text: bytes) -> None:
        if text:
            self.counters.text_bytes += len(text)
            self._text(text)
