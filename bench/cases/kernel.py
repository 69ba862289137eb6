"""Kernel cases: one multiply of given parameters, size, alignment and aliasing."""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from bench.cases.parameter_sets import EXHAUSTIVE_SETS, ROUNDING_SETS, ParameterSet
from bench.numerics.multiply import Int8Array

EXHAUSTIVE_SIZE = 65_536

# Below, at and beyond the widths of vector loops; the last is the size of a published benchmark.
_SIZES = (*range(1, 18), 1615)
# Long enough for whole vector blocks and a tail at each alignment.
_ALIGNED_SIZE = 41

GRID = "grid"
"""Group of the cases that latency is measured on."""

# Powers of two and their neighbours with tails, up to all int8 pairs.
_GRID_SIZES = (
    *(1, 2, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 64, 100, 255, 256, 1000, 1024, 1615, 4096, 4099),
    *(16_384, 65_535, EXHAUSTIVE_SIZE),
)
_GRID_ALIGNED_SIZE = 1615
_GRID_IN_PLACE_SIZES = (16, 1615, EXHAUSTIVE_SIZE)


@dataclass(frozen=True)
class KernelCase:
    """One run of each variant of ``mul_int8``.

    Attributes:
        name: Unique; what the reports and ``pytest -k`` call it.
        group: The family it is shown under.
        parameters: Quantization of inputs and output.
        size: Elements.
        align: Offset of first input, second input and output from a 64-byte boundary, in bytes.
        in_place: None, or which input the output overwrites: "x" or "y".
        square: Whether the second input is the first one, at the same address.
        placement: Memory of the board the tensors lie in (the second input only, if that memory is
            read-only, whose bytes it then is); None for the board's first.
    """

    name: str
    group: str
    parameters: ParameterSet
    size: int
    align: tuple[int, int, int] = (0, 0, 0)
    in_place: str | None = None
    square: bool = False
    placement: str | None = None

    def inputs(self) -> tuple[Int8Array, Int8Array]:
        """Return both inputs: every int8 pair if they fit, else seeded by the case's name."""
        x, y = self._two_inputs()
        return (x, x) if self.square else (x, y)

    def _two_inputs(self) -> tuple[Int8Array, Int8Array]:
        if self.size == EXHAUSTIVE_SIZE:
            values = np.arange(-128, 128, dtype=np.int8)
            return np.repeat(values, 256), np.tile(values, 256)
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        x = rng.integers(-128, 128, self.size, dtype=np.int8)
        y = rng.integers(-128, 128, self.size, dtype=np.int8)
        # Three products in four negative: rounding of negative values is where kernels differ.
        flip = (np.sign(x.astype(int)) * np.sign(y.astype(int)) > 0) & (rng.random(self.size) < 0.5)
        return np.where(flip, np.maximum(x, -127) * -1, x).astype(np.int8), y


def standard_kernel_cases(placements: Mapping[str, bool] | None = None) -> list[KernelCase]:
    """Return the cases that every board runs, quickest to interpret first.

    Args:
        placements: Memories of the board, and whether kernels may write there; each adds the grid
            of sizes, alignments and aliasing there that latency is measured on.
    """
    cases = list(_standard())
    for memory, writable in (placements or {}).items():
        cases += _grid(memory, writable)
    names = [case.name for case in cases]
    assert len(set(names)) == len(names), "two cases share a name"
    return cases


def _standard() -> Iterator[KernelCase]:
    for p in EXHAUSTIVE_SETS:
        yield KernelCase(f"all-pairs/{p.name}", "all-pairs", p, EXHAUSTIVE_SIZE)
    for p in ROUNDING_SETS:
        for size in _SIZES:
            yield KernelCase(f"size/{size}/{p.name}", "size", p, size)
    rounding = ROUNDING_SETS[1]
    for position, pointer in enumerate(("x", "y", "out")):
        for offset in range(1, 16):
            align = [0, 0, 0]
            align[position] = offset
            yield KernelCase(
                f"align/{pointer}+{offset}",
                "align",
                rounding,
                _ALIGNED_SIZE,
                (align[0], align[1], align[2]),
            )
    for in_place in ("x", "y"):
        for size in (7, 16, 1615):
            for offset in (0, 3):
                x, y = (offset, 0) if in_place == "x" else (0, offset)
                yield KernelCase(
                    f"in-place/{in_place}/{size}+{offset}",
                    "in-place",
                    rounding,
                    size,
                    (x, y, 0),
                    in_place,
                )
    for size in (7, 16, 256, 1615):
        for offset in (0, 3):
            for aliased in (None, "x"):
                yield KernelCase(
                    f"square/{size}+{offset}" + ("/in-place" if aliased else ""),
                    "square",
                    rounding,
                    size,
                    (offset, offset, 0),
                    aliased,
                    square=True,
                )


def _grid(memory: str, writable: bool) -> Iterator[KernelCase]:
    """Yield sizes, then each pointer's alignments, then in place, all with typical parameters.

    Of a read-only memory only the second input is there, so the others' places are not varied.
    """
    typical = EXHAUSTIVE_SETS[0]
    for size in _GRID_SIZES:
        yield KernelCase(f"grid/{memory}/{size}", GRID, typical, size, placement=memory)
    for pointer, name in enumerate(("x", "y", "out")):
        for offset in range(1, 16) if writable or name == "y" else ():
            align = [0, 0, 0]
            align[pointer] = offset
            yield KernelCase(
                f"grid/{memory}/{_GRID_ALIGNED_SIZE}/{name}+{offset}",
                GRID,
                typical,
                _GRID_ALIGNED_SIZE,
                (align[0], align[1], align[2]),
                placement=memory,
            )
    for in_place in ("x", "y") if writable else ():
        for size in _GRID_IN_PLACE_SIZES:
            yield KernelCase(
                f"grid/{memory}/{size}/in-place-{in_place}",
                GRID,
                typical,
                size,
                in_place=in_place,
                placement=memory,
            )
