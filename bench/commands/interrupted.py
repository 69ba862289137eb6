"""Ctrl-C in a run says where its results are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def kept_in(store: Path) -> Iterator[None]:
    """Give an interrupt of the block the words that its results are in ``store``."""
    try:
        yield
    except KeyboardInterrupt as error:
        raise KeyboardInterrupt(f"what was finished is kept in {store}") from error
