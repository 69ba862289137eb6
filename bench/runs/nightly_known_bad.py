"""The list of cases known to fail: they do not fail the night, but it fails when they pass."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from bench.lab.toml_list import TomlList
from bench.store import CaseResult, LatencyResult

_LIST = TomlList(
    what="the known-bad list",
    key="known-bad",
    one="an entry",
    keys=("board", "case", "variant", "reason"),
    needed=("case", "reason"),
    example='write [[known-bad]] with case = "align/out+*", variant = "espnn-raw", '
    'reason = "why", and board = "s3-1" if it is one board\'s alone',
)


@dataclass(frozen=True)
class KnownBad:
    """One entry of the list.

    Attributes:
        case: Glob of case names, as ``--case`` takes them.
        reason: Why it fails; for people.
        board: Glob of board names.
        variant: Glob of kernel variants or routes.
    """

    case: str
    reason: str
    board: str = "*"
    variant: str = "*"

    def fits(self, case: CaseKey) -> bool:
        """Tell whether a case of a board is meant."""
        return (
            fnmatchcase(case.board, self.board)
            and fnmatchcase(case.case, self.case)
            and fnmatchcase(case.variant, self.variant)
        )

    def __str__(self) -> str:
        """Say which cases are meant."""
        on = "" if self.board == "*" else f" on {self.board}"
        return f"{self.case} [{self.variant}]{on}"


@dataclass(frozen=True, order=True)
class CaseKey:
    """What passes or fails as one: a case by one variant or route on one board.

    Attributes:
        board: The board's name.
        case: The case's name, as ``--case`` takes it.
        variant: The variant or route; "" if that was never learnt.
    """

    board: str
    case: str
    variant: str

    @classmethod
    def of(cls, board: str, result: CaseResult | LatencyResult) -> CaseKey:
        """Return the key of a result."""
        if result.level == "program":
            return cls(board, f"{result.model or result.name}/{result.route}", result.route or "")
        return cls(board, result.name, result.variant or "")

    @property
    def label(self) -> str:
        """Case and variant, for people; a program's case names its route already."""
        bare = not self.variant or self.case.endswith(f"/{self.variant}")
        return self.case if bare else f"{self.case} [{self.variant}]"


@dataclass
class Matches:
    """What a list says of a night.

    Attributes:
        bad: Cases that fail as the list says, with the reason.
        again: Cases that are listed and pass, with the reason.
        unused: Entries that no case of the night fits.
    """

    bad: dict[CaseKey, str] = field(default_factory=dict)
    again: dict[CaseKey, str] = field(default_factory=dict)
    unused: list[KnownBad] = field(default_factory=list)


def read_known_bad(path: Path) -> list[KnownBad]:
    """Read a list.

    Raises:
        BenchError: The file cannot be read, or an entry is wrong; one line that says which.
    """
    return [_entry(entry, f"{path}: entry {i}") for i, entry in enumerate(_LIST.read(path), 1)]


def match(
    entries: Sequence[KnownBad], results: Iterable[tuple[str, CaseResult | LatencyResult]]
) -> Matches:
    """Hold a night's results against a list.

    Strict, as pytest's xfail can be: each case that an entry fits must fail. A case fails if any
    of its comparisons or its timing does; cases that did not run are left out.

    Args:
        entries: The list.
        results: The last attempts' results, each with its board's name.
    """
    fails: dict[CaseKey, bool] = {}
    for board, result in results:
        if result.verdict != "not-run":
            key = CaseKey.of(board, result)
            fails[key] = fails.get(key, False) or result.verdict != "pass"
    found = Matches()
    used = set()
    for key, failed in fails.items():
        for entry in entries:
            if entry.fits(key):
                used.add(entry)
                (found.bad if failed else found.again).setdefault(key, entry.reason)
    found.unused = [entry for entry in entries if entry not in used]
    return found


def _entry(entry: dict[str, Any], where: str) -> KnownBad:
    _LIST.check(entry, where)
    return KnownBad(**entry)
