from __future__ import annotations

import itertools
import random

from hypothesis import given
from hypothesis import strategies as st

from bench.link.framing import Decoder, encode

PANIC = (
    b"Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.\r\n\r\n"
    b"Core  0 register dump:\r\nPC      : 0x4201c9fa  PS      : 0x00060430\r\n"
    b"Backtrace: 0x4201c9f7:0x3fc99860 |<-CORRUPTED\r\n\r\nRebooting...\r\n"
)
# What consoles carry: text in UTF-8, zeros, colours. The mark, 0xC1, occurs in no UTF-8.
TEXT = st.one_of(
    st.text(max_size=40).map(str.encode),
    st.sampled_from([b"\0", b"\0\0", b"\x1b[0;31m", "ü✓€".encode(), b"\r\n", PANIC]),
)
FRAME = st.builds(
    encode, st.integers(0, 255), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1),
    st.binary(max_size=80),
)  # fmt: skip
LINE = st.lists(st.tuples(st.sampled_from("tf"), TEXT, FRAME), max_size=12)


def feed_in_pieces(decoder: Decoder, wire: bytes, cuts: list[int]) -> list[bytes]:
    edges = sorted({0, len(wire), *(cut % (len(wire) + 1) for cut in cuts)})
    frames = []
    for begin, end in itertools.pairwise(edges):
        frames += decoder.feed(wire[begin:end])
    return [frame.payload for frame in frames]


@given(LINE, st.lists(st.integers(0, 10_000), max_size=30))
def test_text_and_frames_come_out_as_they_were(
    parts: list[tuple[str, bytes, bytes]], cuts: list[int]
) -> None:
    wire = b"".join(frame if kind == "f" else text for kind, text, frame in parts)
    texts = b"".join(text for kind, text, _ in parts if kind == "t")
    frames = [frame for kind, _, frame in parts if kind == "f"]
    seen: list[bytes] = []
    decoder = Decoder(seen.append)
    payloads = feed_in_pieces(decoder, wire, cuts)
    decoder.give_up()
    assert b"".join(seen) == texts
    assert len(payloads) == len(frames)
    assert decoder.counters.bad_frames == 0
    assert decoder.counters.text_bytes == len(texts)


@given(TEXT, st.binary(max_size=80), st.integers(0, 1000), st.integers(1, 255))
def test_a_damaged_frame_costs_no_other(
    text: bytes, payload: bytes, at: int, difference: int
) -> None:
    broken = bytearray(encode(3, 1, 2, payload))
    at = 2 + at % (len(broken) - 3)  # after the mark, before the closing zero
    broken[at] ^= difference
    seen: list[bytes] = []
    decoder = Decoder(seen.append)
    good = encode(3, 1, 3, payload)
    frames = decoder.feed(text + bytes(broken) + good + good)
    assert [frame.sequence for frame in frames if frame.sequence == 3] == [3, 3]
    assert all(frame.sequence == 3 for frame in frames)
    assert decoder.counters.bad_frames >= 1
    assert b"".join(seen).startswith(text)


def test_text_is_not_held_back() -> None:
    seen: list[bytes] = []
    decoder = Decoder(seen.append)
    for i in range(len(PANIC)):
        decoder.feed(PANIC[i : i + 1])
        assert b"".join(seen) == PANIC[: i + 1]


def test_a_zero_is_held_for_one_byte_only() -> None:
    seen: list[bytes] = []
    decoder = Decoder(seen.append)
    decoder.feed(b"a\0")
    assert (b"".join(seen), decoder.pending) == (b"a", True)
    decoder.feed(b"b")
    assert (b"".join(seen), decoder.pending) == (b"a\0b", False)


def test_text_after_a_frame_comes_at_once() -> None:
    seen: list[bytes] = []
    decoder = Decoder(seen.append)
    assert len(decoder.feed(encode(1, 0, 1, b"") + b"x")) == 1
    assert b"".join(seen) == b"x"


def test_a_panic_in_mid_frame_is_saved() -> None:
    frame = encode(4 | 0x80, 1, 2, bytes(range(256)) * 4)
    for cut in (3, 5, 20, 300, len(frame) - 2):
        seen: list[bytes] = []
        decoder = Decoder(seen.append)
        # The device dies within a frame, prints, restarts and answers hello.
        frames = decoder.feed(frame[:cut] + PANIC + encode(0x81, 0, 9, b"hello"))
        assert [f.payload for f in frames] == [b"hello"]
        assert b"Guru Meditation Error: Core  0 panic'ed" in b"".join(seen)
        assert b"".join(seen).endswith(PANIC[-40:])
        assert decoder.counters.bad_frames == 1


def test_a_panic_in_mid_frame_is_saved_when_nothing_follows() -> None:
    seen: list[bytes] = []
    decoder = Decoder(seen.append)
    decoder.limit(2048)
    decoder.feed(encode(4 | 0x80, 1, 2, bytes(1000))[:500] + PANIC)
    assert decoder.pending
    decoder.give_up()
    assert b"".join(seen).endswith(PANIC[-40:])


def test_an_overlong_frame_is_given_up_at_once() -> None:
    seen: list[bytes] = []
    decoder = Decoder(seen.append)
    decoder.limit(100)
    decoder.feed(b"\0\xc1" + b"\x02" * 300)
    assert decoder.counters.bad_frames == 1
    decoder.feed(b"text again")
    assert b"".join(seen) == b"text again"


def test_text_across_the_end_of_an_overlong_frame_is_whole() -> None:
    for begun in range(1, 60):
        seen: list[bytes] = []
        decoder = Decoder(seen.append)
        decoder.limit(100)
        decoder.feed(b"\0\xc1" + b"\x02" * (140 - begun) + PANIC[:begun])
        decoder.feed(PANIC[begun:])
        decoder.feed(b"\0\xc1")  # only now, if at all, the rest of the line is known
        decoder.give_up()
        assert b"".join(seen).count(PANIC) == 1


def test_damaged_data_is_no_console_text() -> None:
    seen: list[bytes] = []
    decoder = Decoder(seen.append)
    for n in range(200):
        ramp = bytes((i * n + 7 * i) % 256 for i in range(1024))
        data = ramp if n % 2 else random.Random(n).randbytes(1024)
        wire = bytearray(encode(4 | 0x80, 1, n, data))
        wire[500] ^= 1 if wire[500] != 1 else 2  # no zero: that would end the frame
        decoder.feed(bytes(wire))
    assert decoder.counters.bad_frames >= 200
    assert b"".join(seen) == b""
