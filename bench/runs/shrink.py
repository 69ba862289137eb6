"""Makes a failing kernel case as small as it can be while it still fails in the same way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, replace
from typing import TypeVar

from bench.cases.kernel import KernelCase
from bench.numerics.multiply import Int8Array

# Beyond a few vector blocks sizes are tried in powers of two.
_SMALL = 24

Failure = TypeVar("Failure")


@dataclass(frozen=True)
class Excerpt(KernelCase):
    """A case on a part of another case's inputs.

    Attributes:
        whole: The other case.
        start: First of its elements.
    """

    whole: KernelCase | None = None
    start: int = 0

    def inputs(self) -> tuple[Int8Array, Int8Array]:
        """Return ``size`` elements of the other case's inputs, from ``start`` on."""
        assert self.whole is not None
        x, y = self.whole.inputs()
        part = slice(self.start, self.start + self.size)
        return x[part], y[part]


def shrink(
    case: KernelCase, first_bad: int, fails: Callable[[KernelCase], Failure | None]
) -> KernelCase | None:
    """Return the smallest excerpt of ``case`` that fails as it does, with the least alignments.

    First the fewest elements, then for each pointer the smallest offset from a 64-byte boundary.

    Args:
        case: A case that fails.
        first_bad: Index of an element that came out wrong, or 0.
        fails: Runs a case and returns how it fails, such as its symptom; None if it passes.

    Returns:
        None if ``case`` does not fail when it is run again.
    """
    failure = fails(case)
    if failure is None:
        return None
    smallest = next(
        (part for part in _parts(case, first_bad) if fails(part) == failure),
        _part(case, 0, case.size),
    )
    for position in range(3):
        for offset in range(smallest.align[position]):
            align = list(smallest.align)
            align[position] = offset
            candidate = _named(replace(smallest, align=(align[0], align[1], align[2])))
            if fails(candidate) == failure:
                smallest = candidate
                break
    return smallest


def _parts(case: KernelCase, first_bad: int) -> Iterator[Excerpt]:
    """Yield excerpts around an element, the smallest first."""
    size = 1
    while size < case.size:
        # The element as the last of the excerpt, as one of a tail is, as the first, and from the
        # front, as a shifted output shows.
        starts = (first_bad - size + 1, first_bad, 0)
        for start in dict.fromkeys(max(0, min(s, case.size - size)) for s in starts):
            yield _part(case, start, size)
        size = size + 1 if size < _SMALL else 2 * size


def _part(case: KernelCase, start: int, size: int) -> Excerpt:
    return _named(
        Excerpt(
            **{f.name: getattr(case, f.name) for f in fields(KernelCase)} | {"size": size},
            whole=case,
            start=start,
        )
    )


def _named(part: Excerpt) -> Excerpt:
    assert part.whole is not None
    x, y, out = part.align
    return replace(
        part, name=f"{part.whole.name}[{part.start}:{part.start + part.size}] at {x},{y},{out}"
    )
