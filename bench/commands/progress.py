"""Shows on standard error how far a run is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")


def tracked(verb: str, names: Sequence[str], items: Sequence[Item]) -> Iterator[Item]:
    """Yield the items, with a line that counts them and names the one at work.

    Args:
        verb: What is done with them, for people.
        names: A name for each.
        items: What is yielded.
    """
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    progress = Progress(
        TextColumn(verb),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
        console=Console(stderr=True),
        transient=True,
    )
    with progress:
        task = progress.add_task("", total=len(items))
        for name, item in zip(names, items, strict=True):
            progress.update(task, description=name)
            yield item
            progress.advance(task)
