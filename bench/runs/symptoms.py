"""Names what a wrong output looks like, as far as its place and alignment tell."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import numpy as np

from bench.cases.kernel import KernelCase
from bench.numerics.multiply import Int8Array

# What vector code of the kernels at hand works in: elements of a block, alignment of its loads.
_BLOCK = 8
_ALIGNMENT = 16


class Symptom(Enum):
    """Where a kernel goes wrong."""

    WRITTEN_TOO_LOW = "output written too low"
    TAIL = "tail"
    UNALIGNED_INPUT = "unaligned input"
    ANYWHERE = "wrong anywhere"
    GUARD_ONLY = "writes outside its output"


@dataclass(frozen=True)
class Finding:
    """A symptom and, for people, what it was read from."""

    symptom: Symptom
    text: str


def find_symptom(
    case: KernelCase, expected: Int8Array, got: Int8Array, before: bytes, after: bytes, filler: int
) -> Finding | None:
    """Name what is wrong with an output; None if nothing is.

    Args:
        case: What was run.
        expected: The right output, of shape (n,).
        got: The output, of shape (n,).
        before: The guard bytes that end where the output starts.
        after: The guard bytes that start where the output ends.
        filler: What every guard byte held before the run.
    """
    wrong = np.flatnonzero(expected != got)
    guards_hit = [byte != filler for byte in before + after]
    if wrong.size == 0 and not any(guards_hit):
        return None
    low = _bytes_too_low(expected, got, before, filler)
    if low is not None:
        hit = sum(byte != filler for byte in before)
        return Finding(
            Symptom.WRITTEN_TOO_LOW,
            f"{Symptom.WRITTEN_TOO_LOW.value}: by {low} bytes, {hit} guard bytes hit"
            f" (output {_past(case, 2, _BLOCK)})",
        )
    if wrong.size == 0:
        return Finding(Symptom.GUARD_ONLY, Symptom.GUARD_ONLY.value)
    rounding = _rounding(case, expected, got, wrong)
    tail = case.size % _BLOCK
    unaligned = [i for i in (0, 1) if _offset(case, i) % _ALIGNMENT]
    if wrong[0] >= case.size - tail and not (unaligned and case.size >= _BLOCK):
        where = (
            f"only the last {tail} elements, after whole blocks of {_BLOCK}"
            if case.size >= _BLOCK
            else f"fewer elements than a block of {_BLOCK}"
        )
        return Finding(Symptom.TAIL, f"{Symptom.TAIL.value}: {where}{rounding}")
    if unaligned:
        which = ", ".join(f"{'xy'[i]} {_past(case, i, _ALIGNMENT)}" for i in unaligned)
        return Finding(
            Symptom.UNALIGNED_INPUT, f"{Symptom.UNALIGNED_INPUT.value}: {which}{rounding}"
        )
    return Finding(Symptom.ANYWHERE, f"{Symptom.ANYWHERE.value}: inputs aligned{rounding}")


def _offset(case: KernelCase, position: int) -> int:
    """Return the offset of the first input, the second or the output from a 64-byte boundary."""
    if position == 2 and case.in_place is not None:
        position = "xy".index(case.in_place)
    return case.align[position]


def _past(case: KernelCase, position: int, alignment: int) -> str:
    return f"{_offset(case, position) % alignment} bytes past a multiple of {alignment}"


def _bytes_too_low(expected: Int8Array, got: Int8Array, before: bytes, filler: int) -> int | None:
    """Return by how much the first block of the output lies too low, None if it does not."""
    block = expected[:_BLOCK]
    if block.size < _BLOCK:
        return None
    for low in range(1, _ALIGNMENT):
        below = np.frombuffer(before[-low:], np.int8)
        untouched = before[: len(before) - low]
        if np.array_equal(np.concatenate([below, got])[:_BLOCK], block) and all(
            byte == filler for byte in untouched
        ):
            return low
    return None


def _rounding(
    case: KernelCase,
    expected: Int8Array,
    got: Int8Array,
    wrong: np.ndarray[tuple[int], np.dtype[np.intp]],
) -> str:
    """Say whether the errors look like rounding: all by one, all on products of one sign."""
    difference = got[wrong].astype(int) - expected[wrong]
    if np.abs(difference).max() > 1:
        return ""
    way = {(1,): "too high", (-1,): "too low"}.get(tuple(set(difference.tolist())), "off")
    x, y = (a[wrong].astype(int) for a in case.inputs())
    products = np.sign(x - case.parameters.x.zero_point) * np.sign(y - case.parameters.y.zero_point)
    signs = set(products.tolist())
    which = {(-1,): ", negative products only", (1,): ", positive products only"}.get(
        tuple(signs), ""
    )
    return f"; each one {way}{which}"
