"""Verdicts from stored numbers: one a comparison, one a run, under any rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TypeVar

from bench.errors import BenchError
from bench.store.gate import Rule
from bench.store.records import CaseResult, LatencyResult, Verdict
from bench.store.results import Stored

# Beyond any number of nights, samples or LSB that means something.
_MOST = 1_000_000

Row = TypeVar("Row")

REFERENCES = ("integer", "float32", "portable", "runtime", "eager")


@dataclass(frozen=True)
class Rejudge:
    """A rule to compute verdicts again under.

    Attributes:
        allowed: Reference to the largest difference in LSB that is still right; references that
            are missing keep the verdict they were given.
        gate: Rule for timings.
    """

    allowed: Mapping[str, int] = field(default_factory=dict)
    gate: Rule = field(default_factory=Rule)

    @classmethod
    def parse(cls, text: str) -> Rejudge:
        """Parse ``portable=2,relative=0.05``: LSB by reference, and fields of the gate's rule.

        Raises:
            BenchError: An unknown name, or a value that is no such number.
        """
        kinds = {f.name: int if "int" in str(f.type) else float for f in fields(Rule)}
        allowed: dict[str, int] = {}
        gate: dict[str, float] = {}
        for part in filter(None, (p.strip() for p in text.split(","))):
            name, _, value = part.partition("=")
            try:
                if name in REFERENCES:
                    allowed[name] = int(value)
                elif name in kinds:
                    gate[name] = kinds[name](value)
                else:
                    raise BenchError(
                        f"rule '{part}': no such name; choose from "
                        f"{', '.join((*REFERENCES, *kinds))}"
                    )
            except ValueError as error:
                raise BenchError(f"rule '{part}': '{value}' is not a number") from error
            if not float(value) >= 0:
                raise BenchError(f"rule '{part}': must not be negative")
            if float(value) > _MOST:
                raise BenchError(f"rule '{part}': must be at most {_MOST}")
        return cls(allowed, replace(Rule(), **gate))  # type: ignore[arg-type]

    def apply(self, stored: Stored) -> Stored:
        """Judge a stored result again; one that never ran stays as it is."""
        result = stored.result
        if result.reference not in self.allowed or result.verdict not in ("pass", "fail"):
            return stored
        limit = self.allowed[result.reference]
        violations = sum(n for lsb, n in result.histogram.items() if abs(lsb) > limit)
        # A failure without a violation was no matter of numbers, even if nobody said what of.
        faulty = bool(result.fault) or (result.verdict == "fail" and not result.violations)
        verdict: Verdict = "fail" if violations or faulty or not result.elements else "pass"
        first = None if not violations else result.first_bad_index
        return replace(
            stored,
            result=replace(result, violations=violations, verdict=verdict, first_bad_index=first),
        )


def settled(stored: Iterable[Stored]) -> list[Stored]:
    """Return one result a comparison, of all its attempts.

    A wrong output in any attempt is a failure. An attempt that ended in an error (a reset, a lost
    line) does not count once a later attempt was judged; it is still in the store.
    """
    return _settled(list(stored), lambda row: row.board.id, lambda row: row.result)


def settled_results(results: Iterable[CaseResult]) -> list[CaseResult]:
    """Return one result a comparison of one board, as :func:`settled`."""
    return _settled(list(results), lambda _: None, lambda result: result)


def _settled(
    rows: list[Row], board_of: Callable[[Row], object], result_of: Callable[[Row], CaseResult]
) -> list[Row]:
    judged: dict[tuple[object, ...], int] = {}
    for row in rows:
        result = result_of(row)
        if result.verdict in ("pass", "fail"):
            key = (board_of(row), *_execution(result))
            judged[key] = max(judged.get(key, 0), result.attempt)
    best: dict[tuple[object, ...], Row] = {}
    for row in rows:
        result = result_of(row)
        later = judged.get((board_of(row), *_execution(result)), 0)
        if result.verdict == "error" and later > result.attempt:
            continue
        key = (board_of(row), *_identity(result))
        if key not in best or result_of(best[key]).verdict != "fail":
            best[key] = row
    return list(best.values())


def _execution(result: CaseResult) -> tuple[object, ...]:
    """Return what is run again as a whole: a kernel case, or a program with all its inputs."""
    return (result.level, result.model or result.name, result.route)


def _identity(result: CaseResult) -> tuple[object, ...]:
    return (
        result.level,
        result.name,
        result.group,
        result.variant,
        result.route,
        result.model,
        result.reference,
        repr(sorted(result.params.items())),
    )


def overall(results: Iterable[CaseResult | LatencyResult]) -> str:
    """Return "fail" if an output was wrong, "error" if one never came, else "pass".

    What a board cannot run does not count, but a run that compared nothing has shown nothing.
    """
    verdicts = {result.verdict for result in results}
    if "fail" in verdicts:
        return "fail"
    return "pass" if "pass" in verdicts and "error" not in verdicts else "error"
