"""Where a kernel case's tensors lie in a board's memories."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from bench.cases.kernel import KernelCase
from bench.link import Memory, Place
from bench.runs.cannot_run import CannotRun

GUARD = 64
"""Bytes before and after the output that a kernel must leave alone."""

_BOUNDARY = 64


class DoesNotFit(CannotRun):
    """A case needs memory that this board does not have."""


def align_up(offset: int) -> int:
    """Return the next 64-byte boundary at or after ``offset``."""
    return -(-offset // _BOUNDARY) * _BOUNDARY


@dataclass(frozen=True)
class Layout:
    """Where the tensors of one block start.

    Attributes:
        x: First input.
        y: Second input.
        out: Output, which may be one of them.
        spare: A range of a block's size that belongs to no tensor if the case is in place.
        y_is_constant: Whether ``y`` lies in a read-only memory, whose bytes are then the input.
        block: Elements a block holds: all of the case's if the memory is large enough.
        end: First byte in the output's memory that belongs to none of them.
    """

    x: Place
    y: Place
    out: Place
    spare: Place
    y_is_constant: bool
    block: int
    end: int


def lay_out(case: KernelCase, memories: Sequence[Memory]) -> Layout:
    """Place both inputs and the output between its guards.

    All lie in the memory the case names, by default the first. If that one is read-only the second
    input does, and the others lie in the first. A case that does not fit is run in blocks; each
    block has the case's alignments.

    Raises:
        DoesNotFit: The board has no such memory, or not even a block of a few elements fits.
    """
    placement = _find(case, memories)
    memory = memories[0] if placement.read_only else placement
    # Each tensor may need a boundary's worth of padding, its offset and its guards.
    room = (memory.size - 3 * (2 * _BOUNDARY + 2 * GUARD)) // 3
    block = min(case.size, room if room >= case.size else room // _BOUNDARY * _BOUNDARY)
    if block < min(case.size, _BOUNDARY):
        raise DoesNotFit(f"{case.name}: {memory.size} bytes of board memory hold no block of it")
    if placement.read_only and case.align[1] + case.size > placement.size:
        raise DoesNotFit(f"{case.name}: {placement.name} holds only {placement.size} bytes")

    def after(end: int, align: int) -> int:
        return align_up(end + GUARD) + align

    x = after(0, case.align[0])
    y = x if case.square else after(x + block, case.align[1])
    last = after(y + block, case.align[2])
    out = {"x": x, "y": y, None: last}[case.in_place]
    return Layout(
        x=Place(memory.name, x),
        y=Place(placement.name, case.align[1]) if placement.read_only else Place(memory.name, y),
        out=Place(memory.name, out),
        spare=Place(memory.name, last),
        y_is_constant=placement.read_only,
        block=block,
        end=last + block + GUARD,
    )


def _find(case: KernelCase, memories: Sequence[Memory]) -> Memory:
    if case.placement is None:
        return memories[0]
    for memory in memories:
        if memory.name == case.placement:
            return memory
    raise DoesNotFit(
        f"this board has no memory {case.placement!r}, only {', '.join(m.name for m in memories)}"
    )
