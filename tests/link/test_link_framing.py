from __future__ import annotations

import json
import random
import zlib
from pathlib import Path

from cobs import cobs
from device_filter import Device, ask, hexed
from hypothesis import given
from hypothesis import strategies as st
from link_board import HERE

from bench.link import header
from bench.link.framing import Decoder, Frame, encode, wire_size
from bench.link.protocol import HEADER, LAYOUTS, MAX_WINDOW, SEQUENCE_WINDOW

VECTORS = json.loads((HERE / "vectors.json").read_text())


def reference_wire(vector: dict[str, object]) -> bytes:
    """The frame from first principles: the textbook's COBS, byte by byte."""
    payload = bytes.fromhex(str(vector["payload"]))
    numbers = [("version", 1), ("type", 1), ("attempt", 1), ("status", 1), ("session", 4),
               ("sequence", 4)]  # fmt: skip
    body = b"".join(int(str(vector[name])).to_bytes(size, "little") for name, size in numbers)
    body += len(payload).to_bytes(2, "little") + payload
    body += zlib.crc32(body).to_bytes(4, "little")
    code, block = b"", b""
    for i, byte in enumerate(body):
        if byte:
            block += bytes([byte])
        if byte == 0 or (len(block) == 254 and i + 1 < len(body)):
            code += bytes([len(block) + 1]) + block
            block = b""
    return b"\0\xc1" + code + bytes([len(block) + 1]) + block + b"\0"


def fields(frame: Frame) -> dict[str, object]:
    return {**frame._asdict(), "payload": frame.payload.hex()}


def decode(wire: bytes) -> tuple[list[Frame], bytes, int]:
    text: list[bytes] = []
    decoder = Decoder(text.append)
    frames = decoder.feed(wire)
    return frames, b"".join(text), decoder.counters.bad_frames


def test_vectors_are_right() -> None:
    for vector in VECTORS:
        assert reference_wire(vector).hex() == vector["wire"], vector["name"]


def test_host_speaks_the_vectors() -> None:
    for vector in VECTORS:
        wire = bytes.fromhex(vector["wire"])
        made = encode(
            vector["type"], vector["session"], vector["sequence"],
            bytes.fromhex(vector["payload"]), attempt=vector["attempt"],
            status=vector["status"], version=vector["version"],
        )  # fmt: skip
        assert made == wire, vector["name"]
        frames, text, bad = decode(wire)
        assert [fields(frame) for frame in frames] == [
            {key: vector[key] for key in Frame._fields}
        ], vector["name"]
        assert (text, bad) == (b"", 0)


def test_device_speaks_the_vectors(device: Path) -> None:
    keys = ("version", "type", "attempt", "status", "session", "sequence")
    plain = [" ".join(str(vector[key]) for key in keys) for vector in VECTORS]
    payloads = [vector["payload"] or "-" for vector in VECTORS]
    made = ask(device, (f"encode {p} {data}" for p, data in zip(plain, payloads, strict=True)))
    assert made == [vector["wire"] for vector in VECTORS]
    read = ask(device, (f"decode {vector['wire']}" for vector in VECTORS))
    assert read == [f"{p} {data} . 1 0" for p, data in zip(plain, payloads, strict=True)]


def test_both_sides_agree_on_random_frames(device: Path) -> None:
    chance = random.Random(3)
    commands, wires = [], []
    for size in [*range(0, 40), *range(225, 265), *range(480, 520), 2048, 4000, 65535]:
        # Few zeros, many zeros, none.
        payload = bytes(chance.choice((chance.randrange(256), 0, 7)) for _ in range(size))
        payload = payload if size % 3 else payload.replace(b"\0", b"\1")
        numbers = (1, chance.randrange(256), chance.randrange(256), chance.randrange(256),
                   chance.getrandbits(32), chance.getrandbits(32))  # fmt: skip
        commands.append(f"encode {' '.join(map(str, numbers))} {hexed(payload)}")
        version, type_, attempt, status, session, sequence = numbers
        wires.append(
            encode(type_, session, sequence, payload, attempt=attempt, status=status,
                   version=version)
        )  # fmt: skip
        assert len(wires[-1]) <= wire_size(size)
    assert ask(device, commands) == [wire.hex() for wire in wires]
    joined = b"".join(wires)
    answer = ask(device, [f"decode {joined.hex()}"])[0]
    assert answer.endswith(f". {len(wires)} 0")


def test_device_computes_zlibs_crc(device: Path) -> None:
    pieces = [random.Random(n).randbytes(n) for n in (0, 1, 2, 3, 4, 5, 7, 8, 1000)]
    answers = ask(device, (f"crc {hexed(piece)}" for piece in pieces))
    assert [int(answer) for answer in answers] == [zlib.crc32(piece) for piece in pieces]


def test_device_and_host_reject_the_same_damage(device: Path) -> None:
    good = encode(3, 7, 9, bytes(range(256)))
    damaged = [good[:i] + bytes([good[i] ^ 1 << bit]) + good[i + 1 :]
               for i in range(2, len(good) - 1) for bit in range(0, 8, 3)]  # fmt: skip
    damaged += [good[:i] + good[i + 1 :] for i in range(2, len(good) - 1)]
    answers = ask(device, (f"decode {(wire + good).hex()}" for wire in damaged))
    for wire, answer in zip(damaged, answers, strict=True):
        frames, _, bad = decode(wire + good)
        assert len(frames) == 1 and bad == 1
        assert answer.endswith(". 1 1")


def test_device_drops_what_is_longer_than_its_buffer(device: Path) -> None:
    runner = Device(device)
    # The test runner's chunk is 1,024; a HELLO after an overlong frame is still answered.
    for payload in (bytes(5000), b"\1" * 5000, b"\1\0" * 2500):
        replies = runner.take(encode(1, 0, 1, payload) + encode(1, 0, 2, b""))
        assert [reply.sequence for reply in replies] == [2]
    runner.close()


def test_frames_may_share_a_zero(device: Path) -> None:
    good = encode(3, 7, 9, bytes(range(256)))
    for wire, bad in (
        (good + good[1:], 0),  # the second's first zero is lost
        (good + good[1:] + good[1:], 0),
        (good[:-1] + good, 0),  # the first's last zero is lost: the second's first one ends it
        (good[:-2] + good, 1),
        (b"text" + good + b"text\0" + good, 0),
        (b"\0\0" + good + b"\0" + good, 0),
    ):
        frames, _, damaged = decode(wire)
        assert (len(frames), damaged) == (wire.count(good[1:-1]), bad)
        assert ask(device, [f"decode {wire.hex()}"])[0].endswith(f". {len(frames)} {bad}")


def test_header_is_up_to_date() -> None:
    assert header.header_path().read_text() == header.header_text(), (
        "run python -m bench.link.header"
    )


def test_no_request_in_flight_can_be_stale() -> None:
    assert MAX_WINDOW * 2 <= SEQUENCE_WINDOW


def test_layouts_have_no_padding() -> None:
    sizes = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i32": 4, "f64": 8}
    for layout in LAYOUTS:
        assert layout.size == sum(sizes[kind] for _, kind in layout.fields)
    assert HEADER.size == 14


@given(st.binary(max_size=600))
def test_cobs_of_the_package_is_what_the_device_expects(data: bytes) -> None:
    assert cobs.decode(cobs.encode(data)) == data
    assert 0 not in cobs.encode(data)
