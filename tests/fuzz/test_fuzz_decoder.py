"""The host's parser on arbitrary bytes; BENCH_FUZZ_EXAMPLES sets how many (default: a few)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bench.link.framing import Decoder, encode

# Bytes that mean something to the parser, frames, damaged frames, text.
PIECE = st.one_of(
    st.binary(max_size=60),
    st.sampled_from([b"\0", b"\xc1", b"\0\xc1", b"\0\xc1\0", b"\0\0\xc1\x01\0", b"text\r\n"]),
    st.builds(encode, st.integers(0, 255), st.integers(0, 9), st.integers(0, 9),
              st.binary(max_size=40)),
    st.builds(lambda wire, at: wire[: at % (len(wire) + 1)],
              st.builds(encode, st.just(4), st.just(1), st.just(2), st.binary(max_size=40)),
              st.integers(0, 100)),
)  # fmt: skip


@settings(
    max_examples=int(os.environ.get("BENCH_FUZZ_EXAMPLES", "500")),
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(st.lists(PIECE, max_size=8), st.integers(1, 40), st.integers(20, 200))
def test_decoder(pieces: list[bytes], step: int, limit: int) -> None:
    wire = b"".join(pieces)
    whole, split = [], []
    text_whole: list[bytes] = []
    text_split: list[bytes] = []

    decoder = Decoder(text_whole.append)
    decoder.limit(limit)
    whole += decoder.feed(wire)
    decoder.give_up()
    counters = decoder.counters
    assert not decoder.pending

    # However the bytes come, the same frames come out; without damage also the same text.
    other = Decoder(text_split.append)
    other.limit(limit)
    for at in range(0, len(wire), step):
        split += other.feed(wire[at : at + step])
    other.give_up()
    assert split == whole
    if not counters.bad_frames:
        assert b"".join(text_split) == b"".join(text_whole)
    # Nothing is invented, and the parser goes on after it.
    assert counters.text_bytes == len(b"".join(text_whole)) <= len(wire)
    assert decoder.feed(encode(1, 2, 3, b"after"))[-1].payload == b"after"
