"""Board types: what boards/*.toml say of each target."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass

from bench.errors import BenchError
from bench.paths import project_root

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


# Beside the types: the lab's inventory, and its list of cases known to fail.
_NOT_TYPES = ("lab.toml", "known-bad.toml")


_WRITABLE = {"read-write": True, "read-only": False}


@dataclass(frozen=True)
class BoardType:
    """A kind of machine that runs the firmware.

    Attributes:
        target: Its name, as ``--target`` takes it.
        description: One line for people.
        placements: Memories that kernels are run and timed in, by their names in hello; False for
            a read-only one, which only holds an input.
        virtual: Not hardware: a latency measured on it is no board's latency.
        baudrate: Rate of its serial line in bits a second; without meaning on a virtual one.
    """

    target: str
    description: str
    virtual: bool
    placements: Mapping[str, bool]
    baudrate: int = 921_600


def board_types() -> dict[str, BoardType]:
    """Read every board type, by target.

    Raises:
        BenchError: A file is not TOML or lacks a key.
    """
    types = {}
    for path in sorted((project_root() / "boards").glob("*.toml")):
        if path.name in _NOT_TYPES:
            continue
        try:
            entry = tomllib.loads(path.read_text(encoding="utf-8"))
            kind = BoardType(
                target=entry["target"],
                description=entry["description"],
                virtual=entry["virtual"],
                placements={
                    memory: _WRITABLE[access] for memory, access in entry["placements"].items()
                },
                baudrate=entry.get("baudrate", BoardType.baudrate),
            )
        except (tomllib.TOMLDecodeError, KeyError, AttributeError) as error:
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
