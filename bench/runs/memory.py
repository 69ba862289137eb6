"""Where a kernel case's tensors lie in a board's memory."""

from __future__ import annotations

from dataclasses import dataclass

from bench.cases.kernel import KernelCase
from bench.errors import BenchError

GUARD = 64
"""Bytes before and after the output that a kernel must leave alone."""

_BOUNDARY = 64


def align_up(offset: int) -> int:
    """Return the next 64-byte boundary at or after ``offset``."""
    return -(-offset // _BOUNDARY) * _BOUNDARY


@dataclass(frozen=True)
class Layout:
    """Byte offsets of the tensors of one block within a memory."""

    x: int
    y: int
    out: int
    samples: int
    block: int
    """Elements a block holds: all of the case's if the memory is large enough."""


def lay_out(case: KernelCase, memory_size: int, sample_bytes: int = 0) -> Layout:
    """Place both inputs, the output between its guards and the timing samples.

    A case that does not fit is run in blocks; each block has the case's alignments.

    Raises:
        BenchError: The memory does not even hold a block of a few elements.
    """
    # Each tensor may need a boundary's worth of padding, its offset and its guards.
    overhead = 3 * (2 * _BOUNDARY + 2 * GUARD) + sample_bytes + _BOUNDARY
    room = (memory_size - overhead) // 3
    block = min(case.size, room if room >= case.size else room // _BOUNDARY * _BOUNDARY)
    if block < min(case.size, _BOUNDARY):
        raise BenchError(f"{case.name}: {memory_size} bytes of board memory hold no block of it")

    def after(end: int, align: int) -> int:
        return align_up(end + GUARD) + align

    x = after(0, case.align[0])
    y = after(x + block, case.align[1])
    out = {"x": x, "y": y, None: after(y + block, case.align[2])}[case.in_place]
    samples = after(max(y, out) + block + GUARD, 0)
    return Layout(x, y, out, samples, block)
