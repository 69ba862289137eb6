"""The one exception that people are meant to see."""

from __future__ import annotations


class BenchError(Exception):
    """A usage or environment error, told in one line: what is wrong and what to do.

    The command prints it as ``bench: error: <message>`` and exits with 2; it never means that a
    kernel is wrong.
    """
