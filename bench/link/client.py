"""The link to one board: its memories, kernels and programs, over any pyserial URL."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from types import TracebackType
from typing import Any

from zlib_ng.zlib_ng import crc32

from bench.link.errors import LinkError, ProtocolMismatch
from bench.link.exchange import Exchange, Request
from bench.link.messages import (
    Counters,
    DeviceCounters,
    ExecuteReply,
    ExecuteRequest,
    Hello,
    KernelReply,
    KernelRequest,
    Memory,
    Place,
    ProgramInfo,
    TensorInfo,
)
from bench.link.protocol import (
    COUNTERS_REPLY,
    CRC32_REPLY,
    CRC32_REQUEST,
    DESCRIPTION,
    EXECUTE_REPLY,
    EXECUTE_REQUEST,
    FILL_REQUEST,
    LOAD_PROGRAM_REPLY,
    LOAD_PROGRAM_REQUEST,
    NO_MEMORY,
    PLACE,
    READ_REQUEST,
    RUN_KERNEL_REPLY,
    RUN_KERNEL_REQUEST,
    TENSOR,
    TRACE_REPLY,
    TRACE_REQUEST,
    WRITE_REQUEST,
    Kernel,
    Type,
)
from bench.link.transport import Transport, open_port
from bench.link.waiting import deadline_seconds

# A slow device's time for one byte of a FILL or CRC, and for one element of a kernel; the second
# is three times what soft-float code takes on a 240 MHz chip.
_SECONDS_A_BYTE = 1e-7
_SECONDS_AN_ELEMENT = 1e-5
# Transfers whose CRC differs in spite of the frames' own are repeated this often.
_TRANSFER_TRIES = 3
# Tag of the CRC request in a transfer; the others' tags are their offsets.
_CRC_TAG = -1
# Payload bytes of the largest reply to LOAD_PROGRAM.
_PROGRAM_INFO = 1024


class Link:
    """A session with a board. Use it as a context manager; requests may come from any thread.

    Attributes:
        hello: What the board says of itself.
        exchange: The requests underneath, for those who measure or test the line itself.
    """

    def __init__(
        self,
        transport: Transport,
        *,
        baudrate: int = 921_600,
        console: Callable[[bytes], None] | None = None,
        patience: float = 5.0,
    ) -> None:
        """Greet the device on an open transport; closes it if that fails.

        Args:
            transport: An open port, see ``bench.link.transport``.
            baudrate: The line's rate, for deadlines.
            console: Gets the device's console text at once, from a thread of the link's or the
                caller's; it must not call the link.
            patience: Seconds to wait for the device's first answer.
        """
        self._baudrate = baudrate
        self._patience = patience
        self.exchange = Exchange(transport, baudrate, console or (lambda text: None))
        try:
            self.hello = self.reconnect()
        except BaseException:
            self.close()
            raise

    @classmethod
    def open(
        cls,
        url: str,
        *,
        baudrate: int = 921_600,
        console: Callable[[bytes], None] | None = None,
        patience: float = 5.0,
    ) -> Link:
        """Open a pyserial URL and greet the device there.

        Raises:
            PortBusy: Another program has the port.
            DeviceSilent: Nothing that speaks the protocol answers within ``patience`` seconds.
            ProtocolMismatch: It speaks another version.
            LinkError: The port cannot be opened.
        """
        transport = open_port(url, baudrate)
        return cls(transport, baudrate=baudrate, console=console, patience=patience)

    def __enter__(self) -> Link:
        """Return the link itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the link."""
        self.close()

    @property
    def url(self) -> str:
        """The port's name."""
        return self.exchange.name

    def close(self) -> None:
        """Close the port; the device keeps its memory but this session is over."""
        self.exchange.close()

    def reconnect(self) -> Hello:
        """Say hello again and open a new session, as after ``DeviceRebooted``."""
        greeting = self.exchange.greet(self._patience)
        text = self._read_all(DESCRIPTION, 0, greeting.description_bytes, "hello")
        try:
            fields = json.loads(text)
            fields["memories"] = [Memory(**memory) for memory in fields["memories"]]
            self.hello = Hello(**fields)
        except (ValueError, KeyError, TypeError) as error:
            raise ProtocolMismatch(
                f"{self.url}: the device describes itself in no way this bench understands: {error}"
            ) from error
        return self.hello

    def ping(self) -> None:
        """Make an empty round trip."""
        self.exchange.ping()

    def write(self, memory: str, offset: int, data: bytes | bytearray | memoryview) -> None:
        """Write bytes and have the device confirm their CRC."""
        index = self._memory(memory, offset, len(data))
        what = f"WRITE of {len(data):,} bytes to {memory}+{offset}"
        view = memoryview(data).cast("B")
        for _ in range(_TRANSFER_TRIES):
            parts = self._transfer(
                self._write_requests(index, offset, view), index, offset, len(view), what
            )
            if self._confirm(parts, crc32(view), index, offset, len(view), what):
                return
        raise LinkError(f"{self.url}: {what}: the device holds other bytes (CRC-32 differs)")

    def read(self, memory: str, offset: int, size: int) -> bytes:
        """Read bytes and compare their CRC with the device's own."""
        index = self._memory(memory, offset, size)
        what = f"READ of {size:,} bytes from {memory}+{offset}"
        return self._read_all(index, offset, size, what)

    def fill(self, memory: str, offset: int, size: int, value: int = 0) -> None:
        """Set ``size`` bytes to ``value``."""
        payload = FILL_REQUEST.pack(self._memory(memory, offset, size), offset, size, value)
        work = size * _SECONDS_A_BYTE
        self.exchange.one(
            Request(Type.FILL, payload, work=work),
            f"FILL of {size:,} bytes at {memory}+{offset}", self._deadline(0, work),
        )  # fmt: skip

    def crc32(self, memory: str, offset: int, size: int) -> int:
        """Return the CRC-32 (zlib) of a range, computed by the device."""
        return self._crc32(
            self._memory(memory, offset, size), offset, size,
            f"CRC32 of {size:,} bytes at {memory}+{offset}",
        )  # fmt: skip

    def run_kernel(self, request: KernelRequest, *, seconds: float | None = None) -> KernelReply:
        """Run a kernel on buffers of the device.

        Args:
            request: What to run.
            seconds: How long the device may take; by default from the number of elements.
        """
        variants = self.hello.kernels.get(request.kernel)
        if variants is None or request.kernel.upper() not in Kernel.__members__:
            raise LinkError(f"{self.url}: no kernel {request.kernel!r} in this firmware")
        if request.variant not in variants:
            raise LinkError(
                f"{self.url}: {request.kernel} has no variant {request.variant!r} here; "
                f"it has {', '.join(variants)}"
            )
        params = request.params
        size = request.elements
        payload = RUN_KERNEL_REQUEST.pack(
            Kernel[request.kernel.upper()],
            variants.index(request.variant),
            *self._place(request.x, size),
            *self._place(request.y, size),
            *self._place(request.out, size),
            size,
            params.zero_point1,
            params.zero_point2,
            params.zero_point_out,
            params.multiplier,
            params.shift,
            params.activation_min,
            params.activation_max,
            params.scale1,
            params.scale2,
            params.scale_out,
            request.warmup,
            request.samples,
            *self._samples(request.sample_place, request.samples),
            *(self._place(request.refill, size) if request.refill else (NO_MEMORY, 0)),
        )
        calls = 1 + request.warmup + request.samples
        work = calls * size * _SECONDS_AN_ELEMENT if seconds is None else seconds
        answer = self.exchange.one(
            Request(Type.RUN_KERNEL, payload, answer=RUN_KERNEL_REPLY.size),
            f"RUN_KERNEL {request.kernel}/{request.variant}, {size:,} elements, {calls} calls",
            self._deadline(0, work),
        )
        fields: dict[str, Any] = RUN_KERNEL_REPLY.unpack(answer)
        index = fields.pop("variant")
        ran = variants[index] if index < len(variants) else f"#{index}"
        return KernelReply(variant=ran, **fields)

    def load_program(
        self,
        memory: str,
        offset: int,
        size: int,
        method: str = "forward",
        *,
        traced: bool = False,
        seconds: float = 10.0,
    ) -> ProgramInfo:
        """Load a program (.pte) that was written to a memory; it must stay there.

        Args:
            memory: Where it was written.
            offset: Its first byte there.
            size: Its bytes.
            method: The method to load.
            traced: Record every execution, for `trace`; only where hello says that it can.
            seconds: How long loading may take.
        """
        index = self._memory(memory, offset, size)
        payload = LOAD_PROGRAM_REQUEST.pack(index, offset, size, traced) + method.encode()
        answer = self.exchange.one(
            Request(Type.LOAD_PROGRAM, payload, answer=_PROGRAM_INFO),
            f"LOAD_PROGRAM of {size:,} bytes", self._deadline(0, seconds),
        )  # fmt: skip
        head = LOAD_PROGRAM_REPLY.unpack(answer)
        tensors, at = [], LOAD_PROGRAM_REPLY.size
        for _ in range(int(head["inputs"]) + int(head["outputs"])):
            dtype, rank, size = TENSOR.unpack_from(answer, at)
            at += TENSOR.size
            end = at + 4 * rank
            sizes = tuple(int.from_bytes(answer[i : i + 4], "little") for i in range(at, end, 4))
            tensors.append(TensorInfo(dtype, sizes, size))
            at = end
        inputs = int(head["inputs"])
        return ProgramInfo(
            tuple(tensors[:inputs]), tuple(tensors[inputs:]),
            int(head["planned_bytes"]), int(head["method_bytes"]),
        )  # fmt: skip

    def execute(self, request: ExecuteRequest, *, seconds: float = 30.0) -> ExecuteReply:
        """Run the loaded program on buffers of the device; it may take ``seconds``."""
        places = [self._place(place, 0) for place in (*request.inputs, *request.outputs)]
        payload = EXECUTE_REQUEST.pack(
            len(request.inputs),
            len(request.outputs),
            request.warmup,
            request.samples,
            *self._samples(request.sample_place, request.samples),
        ) + b"".join(PLACE.pack(*place) for place in places)
        answer = self.exchange.one(
            Request(Type.EXECUTE, payload, answer=EXECUTE_REPLY.size),
            f"EXECUTE, {1 + request.warmup + request.samples} times", self._deadline(0, seconds),
        )  # fmt: skip
        fields: dict[str, Any] = EXECUTE_REPLY.unpack(answer)
        return ExecuteReply(**fields)

    def trace(self, memory: str, offset: int, size: int, *, seconds: float = 10.0) -> int:
        """Unload the traced program and have its ETDump written to a memory.

        Args:
            memory: Where it is to be written.
            offset: First byte there.
            size: Room there.
            seconds: How long that may take.

        Returns:
            The trace's bytes; 0 if the program was not traced or the room was too small.
        """
        answer = self.exchange.one(
            Request(
                Type.TRACE,
                TRACE_REQUEST.pack(self._memory(memory, offset, size), offset, size),
                answer=TRACE_REPLY.size,
            ),
            "TRACE", self._deadline(0, seconds),
        )  # fmt: skip
        return int(TRACE_REPLY.unpack(answer)["size"])

    def counters(self) -> Counters:
        """Return both ends' counters."""
        answer = self.exchange.one(
            Request(Type.COUNTERS, b"", answer=COUNTERS_REPLY.size), "COUNTERS"
        )
        fields: dict[str, Any] = COUNTERS_REPLY.unpack(answer)
        return Counters(DeviceCounters(**fields), self.exchange.counters)

    def reset(self) -> Hello:
        """Restart the device by command and greet it again.

        Raises:
            LinkError: It says it did not restart.
        """
        before = self.hello.boot_id
        self.exchange.one(Request(Type.RESET, b""), "RESET")
        hello = self.reconnect()
        if hello.boot_id == before:
            raise LinkError(f"{self.url}: the device did not restart on RESET")
        return hello

    def _read_all(self, index: int, offset: int, size: int, what: str) -> bytes:
        for _ in range(_TRANSFER_TRIES):
            parts = self._transfer(
                self._read_requests(index, offset, size), index, offset, size, what
            )
            data = b"".join(parts[at] for at in sorted(parts) if at >= 0)
            if len(data) == size and self._confirm(parts, crc32(data), index, offset, size, what):
                return data
        raise LinkError(f"{self.url}: {what}: other bytes came than the device holds (CRC-32)")

    def _transfer(
        self, requests: Iterator[Request], index: int, offset: int, size: int, what: str
    ) -> dict[int, bytes]:
        """Run the requests and, in the same stream, ask for the CRC; return replies by offset."""
        parts: dict[int, bytes] = {}
        self.exchange.run(
            chain(requests, [self._crc_request(index, offset, size)]), what,
            seconds=self._deadline(size), reply=parts.__setitem__,
        )  # fmt: skip
        return parts

    def _confirm(
        self, parts: dict[int, bytes], crc: int, index: int, offset: int, size: int, what: str
    ) -> bool:
        """Whether the device has that CRC: as it said in the stream or, if not, when asked again.

        In the stream it may have been asked before a resend came.
        """
        streamed = CRC32_REPLY.unpack(parts[_CRC_TAG])["crc"]
        return streamed == crc or self._crc32(index, offset, size, what) == crc

    def _crc_request(self, index: int, offset: int, size: int) -> Request:
        payload = CRC32_REQUEST.pack(index, offset, size)
        work = size * _SECONDS_A_BYTE
        return Request(Type.CRC32, payload, answer=CRC32_REPLY.size, work=work, tag=_CRC_TAG)

    def _crc32(self, index: int, offset: int, size: int, what: str) -> int:
        request = self._crc_request(index, offset, size)
        answer = self.exchange.one(request, what, self._deadline(0, request.work))
        return int(CRC32_REPLY.unpack(answer)["crc"])

    def _write_requests(self, index: int, offset: int, view: memoryview) -> Iterator[Request]:
        while view:
            part = view[: self.exchange.chunk]
            yield Request(
                Type.WRITE, WRITE_REQUEST.pack(index, offset) + part,
                tag=offset, data=len(part),
                split=partial(self._write_requests, index, offset, part),
            )  # fmt: skip
            offset += len(part)
            view = view[len(part) :]

    def _read_requests(self, index: int, offset: int, size: int) -> Iterator[Request]:
        while size:
            part = min(self.exchange.chunk, size)
            yield Request(
                Type.READ, READ_REQUEST.pack(index, offset, part),
                answer=part, tag=offset, data=part,
                split=partial(self._read_requests, index, offset, part),
            )  # fmt: skip
            offset += part
            size -= part

    def _memory(self, name: str, offset: int, size: int) -> int:
        for index, memory in enumerate(self.hello.memories):
            if memory.name == name:
                if offset < 0 or size < 0 or offset + size > memory.size:
                    raise LinkError(
                        f"{self.url}: {size:,} bytes at {name}+{offset} are outside its "
                        f"{memory.size:,} bytes"
                    )
                return index
        names = ", ".join(memory.name for memory in self.hello.memories)
        raise LinkError(f"{self.url}: no memory {name!r} on this board; it has {names}")

    def _place(self, place: Place, size: int) -> tuple[int, int]:
        return self._memory(place.memory, place.offset, size), place.offset

    def _samples(self, place: Place | None, samples: int) -> tuple[int, int]:
        if not samples:
            return NO_MEMORY, 0
        if place is None:
            raise LinkError(f"{self.url}: {samples} samples need a place to be stored at")
        return self._place(place, 4 * samples)

    def _deadline(self, size: int, expected: float = 0.0) -> float:
        return deadline_seconds(size, self._baudrate, expected)
