"""The protocol's one definition: numbers, headers and message layouts.

``python -m bench.link.header`` writes firmware/runner/protocol.h from it; PROTOCOL.md tells it in
words. All integers are little-endian, all layouts packed.
"""

from __future__ import annotations

import struct
from enum import IntEnum

VERSION = 1

MARK = 0xC1
"""Second byte of a frame. It occurs in no UTF-8 text, so text is told from frames at once."""

FRAME_OVERHEAD = 3
"""Wire bytes of a frame around its COBS part: zero, mark, and the closing zero."""

CRC_BYTES = 4
"""CRC-32 (zlib) of header and payload, at the end of every frame."""

SEQUENCE_WINDOW = 64
"""Requests older than the newest one by this many are stale: the device drops them unseen."""

MAX_WINDOW = 32
"""Most requests in flight; at most half the sequence window, so none in flight can be stale."""

NO_MEMORY = 0xFF
"""Memory index of an unused place."""

DESCRIPTION = 0xFE
"""Memory index, for READ and CRC32 only, of the device's description of itself: JSON text."""


class Type(IntEnum):
    """What a frame asks; the answer carries the same type with ``REPLY`` added."""

    HELLO = 1
    OPEN = 2
    WRITE = 3
    READ = 4
    FILL = 5
    CRC32 = 6
    RUN_KERNEL = 7
    LOAD_PROGRAM = 8
    EXECUTE = 9
    COUNTERS = 10
    RESET = 11
    TRACE = 12


REPLY = 0x80


class Status(IntEnum):
    """How a request ended. All but OK and WORKING carry the device's words as payload."""

    OK = 0
    WORKING = 1
    BAD_REQUEST = 2
    UNKNOWN_TYPE = 3
    UNKNOWN_SESSION = 4
    WRONG_VERSION = 5
    NO_SUCH_MEMORY = 6
    OUT_OF_BOUNDS = 7
    MISALIGNED = 8
    NO_SUCH_KERNEL = 9
    NO_SUCH_VARIANT = 10
    BAD_PARAMETERS = 11
    NO_PROGRAMS = 12
    NO_PROGRAM_LOADED = 13
    PROGRAM_FAILED = 14
    READ_ONLY = 15


POISON = 0xA5
"""What the device fills an output with before the last timed call, so that a kernel or program
that computed only in an earlier call shows."""


class Kernel(IntEnum):
    """Kernels that RUN_KERNEL can run."""

    MUL_INT8 = 0


_CODES = {
    "u8": "B",
    "u16": "H",
    "u32": "I",
    "u64": "Q",
    "i32": "i",
    "f64": "d",
}


class Layout:
    """A packed little-endian record, written ``field:kind field:kind ...``."""

    def __init__(self, name: str, fields: str) -> None:
        """Parse the fields; kinds are u8, u16, u32, u64, i32 and f64."""
        self.name = name
        self.fields = [tuple(field.split(":")) for field in fields.split()]
        self._struct = struct.Struct("<" + "".join(_CODES[kind] for _, kind in self.fields))
        self.size = self._struct.size
        # Bound once: these two run for every frame.
        self.pack = self._struct.pack
        self.unpack_from = self._struct.unpack_from

    def unpack(self, data: bytes) -> dict[str, int | float]:
        """Return the record at the start of ``data`` by field name.

        Raises:
            struct.error: ``data`` is too short.
        """
        return dict(zip((name for name, _ in self.fields), self.unpack_from(data), strict=True))


HEADER = Layout(
    "Header", "version:u8 type:u8 attempt:u8 status:u8 session:u32 sequence:u32 length:u16"
)
"""Starts every frame. ``attempt`` counts the sends of one request and comes back in the reply, so
that the host knows which copy was answered; ``length`` is the payload's."""

# Small, so that it gets through on any line; the description is read in chunks.
HELLO_REPLY = Layout(
    "HelloReply", "boot_id:u32 next_session:u32 chunk:u16 window:u8 description_bytes:u16"
)
OPEN_REPLY = Layout("OpenReply", "boot_id:u32")
# In place of the device's words for UNKNOWN_SESSION.
UNKNOWN_SESSION_REPLY = Layout("UnknownSessionReply", "boot_id:u32")
# Followed by the data.
WRITE_REQUEST = Layout("WriteRequest", "memory:u8 offset:u32")
READ_REQUEST = Layout("ReadRequest", "memory:u8 offset:u32 size:u16")
FILL_REQUEST = Layout("FillRequest", "memory:u8 offset:u32 size:u32 value:u8")
CRC32_REQUEST = Layout("Crc32Request", "memory:u8 offset:u32 size:u32")
CRC32_REPLY = Layout("Crc32Reply", "crc:u32")
RUN_KERNEL_REQUEST = Layout(
    "RunKernelRequest",
    "kernel:u8 variant:u8 x_memory:u8 x_offset:u32 y_memory:u8 y_offset:u32 "
    "out_memory:u8 out_offset:u32 elements:u32 "
    "zero_point1:i32 zero_point2:i32 zero_point_out:i32 multiplier:i32 shift:i32 "
    "activation_min:i32 activation_max:i32 scale1:f64 scale2:f64 scale_out:f64 "
    "warmup:u32 samples:u32 sample_memory:u8 sample_offset:u32 refill_memory:u8 refill_offset:u32",
)
RUN_KERNEL_REPLY = Layout(
    "RunKernelReply",
    "variant:u8 vector_elements:u32 scalar_elements:u32 first_ticks:u64 overhead_ticks:u32 "
    "all_ticks:u64",
)
# Followed by the method's name, without a closing zero.
LOAD_PROGRAM_REQUEST = Layout("LoadProgramRequest", "memory:u8 offset:u32 size:u32 traced:u8")
# Followed by a TENSOR with its sizes (rank times u32) for each input, then each output.
LOAD_PROGRAM_REPLY = Layout(
    "LoadProgramReply", "inputs:u8 outputs:u8 planned_bytes:u32 method_bytes:u32"
)
TENSOR = Layout("Tensor", "dtype:u8 rank:u8 bytes:u32")
# Followed by a PLACE for each input, then each output.
EXECUTE_REQUEST = Layout(
    "ExecuteRequest",
    "inputs:u8 outputs:u8 warmup:u32 samples:u32 sample_memory:u8 sample_offset:u32",
)
PLACE = Layout("Place", "memory:u8 offset:u32")
EXECUTE_REPLY = Layout(
    "ExecuteReply",
    "first_ticks:u64 overhead_ticks:u32 native_calls:u32 delegate_calls:u32 "
    "vector_elements:u32 scalar_elements:u32 all_ticks:u64",
)
TRACE_REQUEST = Layout("TraceRequest", "memory:u8 offset:u32 size:u32")
TRACE_REPLY = Layout("TraceReply", "size:u32")
COUNTERS_REPLY = Layout(
    "CountersReply",
    "frames:u32 bad_frames:u32 overruns:u32 duplicates:u32 resends:u32 stale:u32 refused:u32 "
    "text_bytes:u32",
)

LAYOUTS = [value for value in list(globals().values()) if isinstance(value, Layout)]
