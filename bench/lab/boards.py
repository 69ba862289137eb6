"""Board types: what boards/*.toml say of each target."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from bench.errors import BenchError
from bench.paths import project_root

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class BoardType:
    """A kind of machine that runs the firmware.

    Attributes:
        target: Its name, as ``--target`` takes it.
        description: One line for people.
        virtual: Not hardware: a latency measured on it is no board's latency.
        baudrate: Rate of its serial line in bits a second; without meaning on a virtual one.
    """

    target: str
    description: str
    virtual: bool
    baudrate: int = 921_600


def board_types() -> dict[str, BoardType]:
    """Read every board type, by target.

    Raises:
        BenchError: A file is not TOML or lacks a key.
    """
    types = {}
    for path in sorted((project_root() / "boards").glob("*.toml")):
        if path.name == "lab.toml":  # the lab's inventory, not a type
            continue
        try:
            entry = tomllib.loads(path.read_text(encoding="utf-8"))
            kind = BoardType(
                target=entry["target"],
                description=entry["description"],
                virtual=entry["virtual"],
                baudrate=entry.get("baudrate", BoardType.baudrate),
            )
        except (tomllib.TOMLDecodeError, KeyError) as error:
            raise BenchError(f"{path}: not a board type: {error}") from error
        types[kind.target] = kind
    return types


def board_type(target: str) -> BoardType:
    """Return the board type of a target.

    Raises:
        BenchError: There is none; names those there are.
    """
    types = board_types()
    if target not in types:
        raise BenchError(f"unknown target {target!r}: choose one of {', '.join(types)}")
    return types[target]
