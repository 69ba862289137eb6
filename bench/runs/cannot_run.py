"""What a board cannot do, which is no fault of its own."""

from __future__ import annotations

from bench.errors import BenchError
from bench.link import Hello


class CannotRun(BenchError):
    """A case cannot be run on this board: its result is "not-run", and says why."""


def need_programs(hello: Hello) -> None:
    """Refuse a program on a board without a runtime for it.

    Raises:
        CannotRun: It has none.
    """
    if hello.programs is None:
        raise CannotRun("the firmware was built without ExecuTorch and runs no programs")
