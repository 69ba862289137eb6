"""Runs a single program on a board: what ``EspTester`` needs, and nothing of a run's records."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from bench.cases.program import Array
from bench.errors import BenchError
from bench.lab.build import build_host
from bench.lab.find import find_board
from bench.link import Link
from bench.runs.programs import LoadedProgram
from bench.runs.session import BoardSession

# ExecuTorch's ScalarType in numpy's words.
_TYPES = {0: "u1", 1: "i1", 2: "i2", 3: "i4", 4: "i8", 6: "f4", 7: "f8", 11: "?"}

RunProgram = Callable[[bytes, list[Array]], tuple[list[Array], int]]
"""From a .pte's bytes and its inputs to its outputs, and how often the native kernel ran."""


def program_runner(link: Link) -> RunProgram:
    """Return what runs a .pte on the board behind an open link."""

    def run(pte: bytes, inputs: list[Array]) -> tuple[list[Array], int]:
        program = LoadedProgram(link, pte)
        raw, reply, _ = program.run(inputs)
        outputs = [
            np.frombuffer(data, _TYPES[info.dtype]).reshape(info.sizes)
            for data, info in zip(raw, program.info.outputs, strict=True)
        ]
        return outputs, reply.native_calls

    return run


@contextmanager
def started_board(target: str = "host", port: str | None = None) -> Iterator[RunProgram]:
    """Start a board and yield what runs a .pte on it.

    Args:
        target: Name of a board type.
        port: Serial URL of a board that runs the firmware; by default the virtual board is
            started, and a real one looked for.

    Raises:
        BenchError: The target is unknown, no board of it is there, or it runs no programs.
    """
    with BoardSession(find_board(target, port, build_host)) as session:
        if session.link.hello.programs is None:
            raise BenchError(
                f"board {session.board.name}: its firmware was built without ExecuTorch and runs "
                "no programs"
            )
        yield program_runner(session.link)
