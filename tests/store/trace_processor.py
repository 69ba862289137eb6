"""Perfetto's trace processor: from PyPI's `perfetto`, or the library Chromium's tests use.

The package fetches the program from Perfetto's own server when it is first used. Where that cannot
be reached, Debian's `chromium-shell` has the same engine as a shared library. Its C++ interface is
three calls, so it is called here by the Itanium ABI: `this` and the place of the result are plain
arguments, and libc++'s strings and vectors are three words.
"""

from __future__ import annotations

import ctypes
import shutil
import struct
import subprocess
from pathlib import Path

from needs import lacks

LIBRARY = Path("/usr/lib/chromium/libtest_trace_processor.so")
_CLASS = "N4base4test22TestTraceProcessorImpl"
_STRING = "NSt3__112basic_stringIcNS2_11char_traitsIcEENS2_9allocatorIcEEEE"
_VECTOR = struct.Struct("<QQQ")  # begin, end, end of the storage
_STATUS_OK = 1  # an absl::Status without a payload holds its code in place, marked by a bit

Rows = list[dict[str, str]]


def query_trace(trace: Path, *statements: str) -> list[Rows]:
    """Load a trace and return each statement's rows, values as text."""
    try:
        return _by_package(trace, statements)
    except (OSError, subprocess.CalledProcessError):
        if not LIBRARY.exists():
            lacks(
                "perfetto cannot fetch its trace processor here, and Chromium's is missing: on "
                "Debian 'apt-get install chromium-shell'"
            )
        return _by_library(trace, statements)


def _by_package(trace: Path, statements: tuple[str, ...]) -> list[Rows]:
    from perfetto.trace_processor import TraceProcessor, TraceProcessorConfig

    config = TraceProcessorConfig(bin_path=shutil.which("trace_processor_shell"))
    with TraceProcessor(trace=str(trace), config=config) as processor:
        return [
            [{name: str(value) for name, value in vars(row).items()} for row in processor.query(s)]
            for s in statements
        ]


def _by_library(trace: Path, statements: tuple[str, ...]) -> list[Rows]:
    library = ctypes.CDLL(str(LIBRARY))

    def call(symbol: str, *arguments: ctypes.Array[ctypes.c_char]) -> None:
        function = getattr(library, symbol)
        function.restype = ctypes.c_void_p
        function(*(ctypes.c_void_p(ctypes.addressof(a)) for a in arguments))

    processor = ctypes.create_string_buffer(512)
    call(f"_Z{_CLASS}C1Ev", processor)
    data = trace.read_bytes()
    held = ctypes.create_string_buffer(data, len(data))
    start = ctypes.addressof(held)
    vector = ctypes.create_string_buffer(
        _VECTOR.pack(start, start + len(data), start + len(data)), _VECTOR.size
    )
    status = ctypes.create_string_buffer(8)
    call(
        f"_Z{_CLASS}10ParseTraceERKNSt3__16vectorIcNS2_9allocatorIcEEEE", status, processor, vector
    )
    assert struct.unpack("<Q", status.raw)[0] == _STATUS_OK, "the trace processor refuses the trace"
    found = []
    for statement in statements:
        text = ctypes.create_string_buffer(statement.encode())
        # A long string: capacity with the lowest bit set, size, pointer. The capacity is even.
        size = len(statement.encode())
        string = ctypes.create_string_buffer(
            _VECTOR.pack(size + size % 2 + 2 | 1, size, ctypes.addressof(text)), _VECTOR.size
        )
        result = ctypes.create_string_buffer(256)
        call(f"_ZNK{_CLASS[1:]}12ExecuteQueryERK{_STRING}", result, processor, string)
        names, *rows = [
            [_text(cell) for cell in _items(row)] for row in _items(ctypes.addressof(result))
        ] or [[]]
        assert names, f"the trace processor refuses {statement!r}"
        found.append([dict(zip(names, row, strict=True)) for row in rows])
    return found


def _items(vector: int) -> range:
    """Return the addresses of a vector's items, which are vectors or strings themselves."""
    begin, end, _ = _VECTOR.unpack(ctypes.string_at(vector, _VECTOR.size))
    return range(begin, end, _VECTOR.size)


def _text(string: int) -> str:
    raw = ctypes.string_at(string, _VECTOR.size)
    if raw[0] & 1:
        _, size, start = _VECTOR.unpack(raw)
        return ctypes.string_at(start, size).decode()
    return raw[1 : 1 + (raw[0] >> 1)].decode()
