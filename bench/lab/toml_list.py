"""Files that are a TOML list of tables: the lab's inventory, its cases known to fail."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.errors import BenchError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True)
class TomlList:
    """A kind of such a file.

    Attributes:
        what: What the file is, for people.
        key: Name of the list, as ``[[key]]`` stands above each table.
        one: A table, for people, with its article.
        keys: All that a table may have, each a text.
        needed: What it must have.
        example: How to write one, for people.
    """

    what: str
    key: str
    one: str
    keys: Sequence[str]
    needed: Sequence[str]
    example: str

    def read(self, path: Path) -> list[dict[str, Any]]:
        """Return the tables of a file, in its order; they are not checked yet.

        Raises:
            BenchError: It cannot be read, or is no such list; one line.
        """
        try:
            document = tomllib.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise BenchError(f"cannot read {self.what} {path}: {error.strerror}") from error
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise BenchError(f"{path}: not TOML: {error}; {self.example}") from error
        if unknown := ", ".join(name for name in document if name != self.key):
            raise BenchError(f"{path}: unknown: {unknown}; {self.example}")
        tables = document.get(self.key, [])
        if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
            each = self.one.split()[-1]
            raise BenchError(
                f"{path}: [{self.key}] must be a list: write [[{self.key}]] above each {each}"
            )
        return tables

    def check(self, table: dict[str, Any], where: str) -> None:
        """Refuse a table that has what it must not, or lacks what it must have.

        Args:
            table: The table.
            where: Which one it is, for people.

        Raises:
            BenchError: One line that says what.
        """
        if unknown := [key for key in table if key not in self.keys]:
            raise BenchError(
                f"{where}: unknown {', '.join(map(repr, unknown))}; "
                f"{self.one} has {', '.join(self.keys)}"
            )
        for key in self.needed:
            if key not in table:
                raise BenchError(f"{where}: no {key!r}; {self.example}")
        for key, value in table.items():
            if not isinstance(value, str) or not value.strip():
                raise BenchError(f"{where}: {key} = {value!r} must be a text in quotes")
