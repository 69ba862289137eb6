"""The one exception that people are meant to see, and how it tells of others."""

from __future__ import annotations


class BenchError(Exception):
    """A usage or environment error, told in one line: what is wrong and what to do.

    The command prints it as ``bench: error: <message>`` and exits with 2; it never means that a
    kernel is wrong.
    """


def first_line(error: BaseException) -> str:
    """Return an exception's type and the first line of its text, for a BenchError about it."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
