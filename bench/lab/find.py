"""From a target and perhaps a port to a board."""

from __future__ import annotations

import os
from collections.abc import Callable

from bench.errors import BenchError
from bench.lab.board import Board
from bench.lab.boards import BoardType, board_type
from bench.lab.build import HostBuild
from bench.lab.host import HostBoard
from bench.lab.ports import find_ports, looked_for
from bench.lab.serial_board import SerialBoard


def find_board(target: str, port: str | None, build: Callable[[], HostBuild]) -> Board:
    """Return a board of ``target``; it is not started yet.

    Args:
        target: Name of a board type.
        port: Serial URL where such a board answers, or None: a virtual board is made, a real one
            is looked for (see ``find_port``).
        build: Builds the host runner, if the board is made of it.

    Raises:
        BenchError: The target is unknown, or no board of it is there.
    """
    kind = board_type(target)
    if kind.virtual and port is None:
        return HostBoard(build().runner)
    return SerialBoard(kind, find_port(kind, port))


def find_port(kind: BoardType, port: str | None) -> str:
    """Return the serial URL of a board of this type.

    Args:
        kind: The board's type.
        port: The URL if the user gave one; else the environment variable ESPPORT, else the one
            USB serial port that looks like such a board.

    Raises:
        BenchError: There is none, or more than one; says what was looked for.
    """
    if given := port or os.environ.get("ESPPORT"):
        return given
    found = [p.device for p in find_ports()]
    if len(found) == 1:
        return found[0]
    if found:
        raise BenchError(
            f"{len(found)} ports may be a {kind.target} ({', '.join(found)}): "
            "choose one with --port"
        )
    raise BenchError(
        f"no {kind.target} board: {looked_for()}; connect one or give its URL with --port or in "
        "the environment variable ESPPORT"
    )
