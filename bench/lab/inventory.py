"""The lab's inventory: which boards a night runs on, from boards/lab.toml or the command line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import BenchError
from bench.lab.board import Board
from bench.lab.boards import board_type, board_types
from bench.lab.build import HostBuild
from bench.lab.host import HostBoard
from bench.lab.locks import BoardLock
from bench.lab.serial_board import SerialBoard
from bench.lab.toml_list import TomlList

EXAMPLE = 'write [[board]] with name = "s3-1", target = "esp32s3", port = "/dev/ttyACM0"'
"""How to write one, for messages."""

_INVENTORY = TomlList(
    what="the inventory",
    key="board",
    one="a board",
    keys=("name", "target", "port"),
    needed=("name", "target"),
    example=EXAMPLE,
)


@dataclass(frozen=True)
class LabBoard:
    """One board of the lab.

    Attributes:
        name: How reports, the store and the quarantine call it; unique in the lab.
        target: Name of a board type.
        port: Serial URL where it answers; None for a virtual board that the bench starts itself.
    """

    name: str
    target: str
    port: str | None = None

    def open(self, build: Callable[[], HostBuild]) -> Board:
        """Return the board, not started yet; ``build`` builds its runner if it is virtual.

        Raises:
            BenchError: The runner does not build.
        """
        if self.port is None:
            return HostBoard(build().runner, self.name)
        return SerialBoard(board_type(self.target), self.port, self.name)


def read_inventory(path: Path) -> list[LabBoard]:
    """Read the boards of an inventory file, in its order.

    Raises:
        BenchError: The file cannot be read, or an entry is not a board; one line that says which.
    """
    boards = _INVENTORY.read(path)
    if not boards:
        raise BenchError(f"{path}: no boards: {EXAMPLE}")
    found = [_board(entry, f"{path}: board {i}") for i, entry in enumerate(boards, 1)]
    _refuse_doubles(found, str(path))
    return found


def parse_boards(texts: Sequence[str], target: str) -> list[LabBoard]:
    """Read boards as ``--board`` gives them.

    Args:
        texts: Each ``NAME=URL``, or ``NAME=TARGET`` for a virtual board that the bench starts.
        target: Name of the board type of those with a URL.

    Raises:
        BenchError: One is no such thing.
    """
    virtual = [kind.target for kind in board_types().values() if kind.virtual]
    found = []
    for text in texts:
        name, _, where = text.partition("=")
        if not name.strip() or not where.strip():
            raise BenchError(
                f"--board {text}: write NAME=URL, or NAME={virtual[0]} for a virtual board"
            )
        if where in virtual:
            found.append(LabBoard(name, where))
        elif "/" in where:
            found.append(LabBoard(name, board_type(target).target, where))
        else:
            raise BenchError(
                f"--board {text}: {where!r} is neither the URL of a port, such as /dev/ttyACM0, "
                f"nor a virtual target ({', '.join(virtual)})"
            )
    _refuse_doubles(found, "--board")
    return found


def _board(entry: dict[str, Any], where: str) -> LabBoard:
    if isinstance(name := entry.get("name"), str):
        where = f"{where} ({name!r})"
    _INVENTORY.check(entry, where)
    try:
        kind = board_type(entry["target"])
    except BenchError as error:
        raise BenchError(f"{where}: {error}") from error
    if not kind.virtual and "port" not in entry:
        raise BenchError(
            f"{where}: no 'port': give its serial URL ('bench board list' shows ports)"
        )
    return LabBoard(entry["name"], kind.target, entry.get("port"))


def _refuse_doubles(boards: Iterable[LabBoard], where: str) -> None:
    names: set[str] = set()
    ports: dict[str, str] = {}
    for board in boards:
        if board.name in names:
            raise BenchError(f"{where}: two boards are called {board.name!r}: rename one")
        names.add(board.name)
        if board.port is None:
            continue
        port = BoardLock(board.port).identity
        if port in ports:
            raise BenchError(
                f"{where}: {ports[port]!r} and {board.name!r} have the same port {board.port}: "
                "correct one"
            )
        ports[port] = board.name
