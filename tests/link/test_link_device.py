"""The device's side alone: what it does with copies, late copies, and requests out of bounds."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from device_filter import Device

from bench.link.framing import Frame, encode
from bench.link.protocol import (
    COUNTERS_REPLY,
    FILL_REQUEST,
    HELLO_REPLY,
    LOAD_PROGRAM_REQUEST,
    NO_MEMORY,
    POISON,
    READ_REQUEST,
    REPLY,
    RUN_KERNEL_REQUEST,
    WRITE_REQUEST,
    Status,
    Type,
)

MEMORY = 4096


class Host:
    """Speaks to a device frame by frame."""

    def __init__(self, device: Device) -> None:
        self.device = device
        hello = self.ask(Type.HELLO, 77, session=0)
        self.boot_id, self.session, *_ = HELLO_REPLY.unpack_from(hello.payload)
        assert self.ask(Type.OPEN, 1).status == Status.OK

    def frame(self, type_: int, sequence: int, payload: bytes, session: int | None = None) -> bytes:
        return encode(type_, self.session if session is None else session, sequence, payload)

    def ask(
        self, type_: int, sequence: int, payload: bytes = b"", session: int | None = None
    ) -> Frame:
        replies = self.device.take(self.frame(type_, sequence, payload, session))
        assert replies, "no reply"
        assert replies[-1].type == type_ | REPLY and replies[-1].sequence == sequence
        return replies[-1]

    def read(self, sequence: int, offset: int, size: int) -> bytes:
        return self.ask(Type.READ, sequence, READ_REQUEST.pack(0, offset, size)).payload


@pytest.fixture
def host(device: Path) -> Iterator[Host]:
    filter_ = Device(device)
    yield Host(filter_)
    filter_.close()


def write(offset: int, data: bytes) -> bytes:
    return WRITE_REQUEST.pack(0, offset) + data


def add(
    elements: int = 4,
    *,
    out: tuple[int, int] = (0, 0),
    samples: int = 0,
    refill: tuple[int, int] = (NO_MEMORY, 0),
) -> bytes:
    """Ask for the fake kernel: x at 0, y at 100, out by default in place of x."""
    sample_place = (0, 200) if samples else (NO_MEMORY, 0)
    return RUN_KERNEL_REQUEST.pack(
        0, 0, 0, 0, 0, 100, *out, elements, 0, 0, 0, 0, 0, -128, 127, 1.0, 1.0, 1.0,
        3 if samples else 0, samples, *sample_place, *refill,
    )  # fmt: skip


def add_in_place(elements: int = 4) -> bytes:
    """The fake kernel adds y to x: running it twice shows."""
    return add(elements)


def test_a_copy_of_a_write_is_not_acted_on(host: Host) -> None:
    first = host.frame(Type.WRITE, 1, write(0, b"old"))
    assert host.device.take(first)[0].status == Status.OK
    host.ask(Type.WRITE, 2, write(0, b"new"))
    again = host.device.take(first)
    assert [(reply.sequence, reply.status) for reply in again] == [(1, Status.OK)]
    assert host.read(3, 0, 3) == b"new"


def test_a_late_copy_is_stale(host: Host) -> None:
    late = host.frame(Type.WRITE, 1, write(0, b"old"))
    host.ask(Type.WRITE, 65, write(0, b"new"))
    assert host.device.take(late) == []
    assert host.read(66, 0, 3) == b"new"
    assert COUNTERS_REPLY.unpack(host.ask(Type.COUNTERS, 67).payload)["stale"] == 1


def test_a_request_within_the_window_may_come_late(host: Host) -> None:
    host.ask(Type.WRITE, 64, write(4, b"new"))
    assert host.ask(Type.WRITE, 1, write(0, b"old")).status == Status.OK
    assert host.read(65, 0, 8) == b"old\0new\0"


def test_a_kernel_runs_once_for_all_copies(host: Host) -> None:
    host.ask(Type.WRITE, 1, write(0, bytes([1, 2, 3, 4])))
    host.ask(Type.WRITE, 2, write(100, bytes([1, 1, 1, 1])))
    request = host.frame(Type.RUN_KERNEL, 3, add_in_place())
    working, done = host.device.take(request)
    assert (working.status, done.status) == (Status.WORKING, Status.OK)
    for _ in range(3):
        assert host.device.take(request) == [done]
    assert host.device.kernel_runs == 1
    assert host.read(4, 0, 4) == bytes([2, 3, 4, 5])


def test_a_kernel_s_kept_reply_goes_with_its_sequence_only(host: Host) -> None:
    first = host.frame(Type.RUN_KERNEL, 1, add_in_place())
    host.device.take(first)
    host.ask(Type.RUN_KERNEL, 2, add_in_place())
    assert host.device.take(first) == []  # answered long ago; never a wrong answer
    assert host.device.kernel_runs == 2


def test_reset_happens_once(host: Host) -> None:
    request = host.frame(Type.RESET, 1, b"")
    assert [reply.status for reply in host.device.take(request)] == [Status.OK]
    assert host.device.reboots == 1


def test_a_late_open_opens_nothing(host: Host) -> None:
    old_session = host.session
    late = host.frame(Type.OPEN, 1, b"")
    hello = host.ask(Type.HELLO, 78, session=0)
    host.session = HELLO_REPLY.unpack_from(hello.payload)[1]
    assert host.session != old_session
    host.ask(Type.OPEN, 1)
    host.ask(Type.WRITE, 1, write(0, b"new"))
    (reply,) = host.device.take(late)
    assert reply.status == Status.UNKNOWN_SESSION
    (reply,) = host.device.take(host.frame(Type.WRITE, 2, write(0, b"old"), session=old_session))
    assert reply.status == Status.UNKNOWN_SESSION
    assert host.read(2, 0, 3) == b"new"


def test_a_copy_of_open_does_not_forget_what_was_done(host: Host) -> None:
    request = host.frame(Type.WRITE, 1, write(0, b"old"))
    host.device.take(request)
    host.ask(Type.WRITE, 2, write(0, b"new"))
    assert host.ask(Type.OPEN, 1).status == Status.OK
    host.device.take(request)
    assert host.read(3, 0, 3) == b"new"


@pytest.mark.parametrize(
    ("type_", "payload", "status"),
    [
        (Type.WRITE, write(MEMORY, b"x"), Status.OUT_OF_BOUNDS),
        (Type.WRITE, write(MEMORY - 1, b"xy"), Status.OUT_OF_BOUNDS),
        (Type.WRITE, write(0xFFFFFFFF, b"xy"), Status.OUT_OF_BOUNDS),
        (Type.WRITE, b"\0\0\0\0", Status.BAD_REQUEST),
        (Type.WRITE, WRITE_REQUEST.pack(2, 0) + b"x", Status.NO_SUCH_MEMORY),
        (Type.WRITE, WRITE_REQUEST.pack(1, 0) + b"x", Status.READ_ONLY),
        (Type.FILL, FILL_REQUEST.pack(1, 0, 4, 0), Status.READ_ONLY),
        (Type.RUN_KERNEL, add(out=(1, 0)), Status.READ_ONLY),
        (Type.RUN_KERNEL, add(5, samples=1, refill=(1, 0)), Status.OUT_OF_BOUNDS),
        (Type.WRITE, WRITE_REQUEST.pack(0xFE, 0) + b"x", Status.NO_SUCH_MEMORY),
        (Type.READ, READ_REQUEST.pack(0, MEMORY, 1), Status.OUT_OF_BOUNDS),
        (Type.READ, READ_REQUEST.pack(0, 0, 1025), Status.BAD_REQUEST),
        (Type.READ, READ_REQUEST.pack(0xFE, 1000, 1000), Status.OUT_OF_BOUNDS),
        (Type.READ, READ_REQUEST.pack(0, 0, 1) + b"x", Status.BAD_REQUEST),
        (Type.RUN_KERNEL, add_in_place(MEMORY), Status.OUT_OF_BOUNDS),
        (Type.RUN_KERNEL, b"\1" + add_in_place()[1:], Status.NO_SUCH_KERNEL),
        (Type.RUN_KERNEL, b"\0\1" + add_in_place()[2:], Status.NO_SUCH_VARIANT),
        (Type.LOAD_PROGRAM, LOAD_PROGRAM_REQUEST.pack(0, 0, 16, 0), Status.NO_PROGRAMS),
        (Type.EXECUTE, b"", Status.BAD_REQUEST),
        (Type.EXECUTE, bytes(15), Status.NO_PROGRAM_LOADED),
        (99, b"", Status.UNKNOWN_TYPE),
    ],
)
def test_refusals(host: Host, type_: int, payload: bytes, status: Status) -> None:
    reply = host.ask(type_, 1, payload)
    assert reply.status == status
    assert reply.payload.decode().isprintable() and reply.payload
    assert host.device.kernel_runs == 0
    counters = COUNTERS_REPLY.unpack(host.ask(Type.COUNTERS, 2).payload)
    assert counters["refused"] == 1


def test_the_output_of_a_timed_run_is_that_of_its_last_call(host: Host) -> None:
    """In place each call adds once more, but the last one starts from the refill again."""
    host.ask(Type.WRITE, 1, write(100, bytes([10, 20, 30, 40])))
    assert host.ask(Type.RUN_KERNEL, 2, add(samples=5, refill=(1, 0))).status == Status.OK
    assert host.read(3, 0, 4) == bytes([11, 22, 33, 44])
    assert host.device.kernel_runs == 1 + 3 + 5


def test_what_the_last_timed_call_leaves_out_is_poisoned(host: Host) -> None:
    """The kernel is to read x from where its output was poisoned: what it read shows."""
    host.ask(Type.WRITE, 1, write(100, bytes([10, 20, 30, 40])))
    host.ask(Type.RUN_KERNEL, 2, add(samples=1))
    assert host.read(3, 0, 4) == bytes((POISON + y) % 256 for y in (10, 20, 30, 40))


def test_a_read_only_memory_is_read(host: Host) -> None:
    reply = host.ask(Type.READ, 1, READ_REQUEST.pack(1, 0, 4))
    assert reply.payload == bytes([1, 2, 3, 4])


def test_bounds_are_exact(host: Host) -> None:
    assert host.ask(Type.WRITE, 1, write(MEMORY - 2, b"xy")).status == Status.OK
    assert host.ask(Type.WRITE, 2, write(MEMORY, b"")).status == Status.OK
    assert host.read(3, MEMORY - 2, 2) == b"xy"
    assert host.read(4, MEMORY, 0) == b""


def test_another_version_is_told(host: Host) -> None:
    (reply,) = host.device.take(encode(Type.HELLO, 0, 5, b"", version=2))
    assert (reply.version, reply.status) == (1, Status.WRONG_VERSION)


def test_replies_in_order_and_together(host: Host) -> None:
    wire = b"".join(host.frame(Type.WRITE, n, write(n, bytes([n]))) for n in range(1, 20))
    assert [reply.sequence for reply in host.device.take(wire)] == list(range(1, 20))
    assert host.read(20, 1, 19) == bytes(range(1, 20))
