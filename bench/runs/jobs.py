"""Cases as jobs: run once, run again if the board went down meanwhile, summed up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Protocol, TypeVar

from bench.cases.kernel import KernelCase
from bench.cases.program import ProgramCase
from bench.errors import BenchError
from bench.link import Counters, DeviceRefused, Link, LinkError
from bench.runs.cannot_run import CannotRun, need_programs
from bench.runs.kernels import VariantLost, run_kernel_case
from bench.runs.programs import run_program_case
from bench.runs.session import BoardLost, BoardSession
from bench.runs.symptoms import Symptom
from bench.store import CaseResult, LatencyResult
from bench.store.verdicts import overall

# A case that took the board down is tried once more; what it did both times is kept.
_ATTEMPTS = 2


Result = TypeVar("Result", CaseResult, LatencyResult)


class Job(Protocol[Result]):
    """One case, ready to run on any link, for its verdicts or for its timings."""

    @property
    def name(self) -> str:
        """The case's name."""
        ...

    def run(self, link: Link, attempt: int) -> list[Result]:
        """Run it.

        Raises:
            LinkError: The board went away or refused.
            CannotRun: This board cannot run it.
        """
        ...

    def failed(self, why: str, attempt: int) -> Result:
        """Return the result of an attempt that ended without outputs."""
        ...


@dataclass(frozen=True)
class KernelJob:
    """A kernel case with every variant the board has.

    Attributes:
        case: The case.
        shrunk: Symptoms for which a run has shown a smallest failing case already.
    """

    case: KernelCase
    shrunk: set[Symptom] = field(default_factory=set)

    @property
    def name(self) -> str:
        """The case's name."""
        return self.case.name

    def run(self, link: Link, attempt: int) -> list[CaseResult]:
        """Run it; a board without the memory it wants cannot."""
        return run_kernel_case(link, self.case, attempt, self.shrunk)

    def failed(self, why: str, attempt: int) -> CaseResult:
        """Return the result of an attempt that ended without outputs."""
        return CaseResult(
            name=self.name,
            level="kernel",
            group=self.case.group,
            reference="integer",
            verdict="error",
            detail=why,
            attempt=attempt,
        )


@dataclass(frozen=True)
class ProgramJob:
    """A model by one route, on each of its input sets."""

    case: ProgramCase

    @property
    def name(self) -> str:
        """The case's name."""
        return self.case.name

    def run(self, link: Link, attempt: int) -> list[CaseResult]:
        """Run it; a board without a runtime cannot."""
        need_programs(link.hello)
        return run_program_case(link, self.case, attempt)

    def failed(self, why: str, attempt: int) -> CaseResult:
        """Return the result of an attempt that ended without outputs."""
        complaint = self.case.complaint
        return CaseResult(
            name=self.case.model,
            level="program",
            group=self.case.model,
            model=self.case.model,
            route=self.case.route,
            reference="runtime",
            verdict="fail" if complaint else "error",
            detail=f"{complaint}; {why}" if complaint else why,
            attempt=attempt,
        )


@dataclass(frozen=True)
class BrokenModel:
    """A model that could not be exported: nothing to run, but not to be passed over either.

    Attributes:
        name: The model's name.
        why: What the exporter said.
    """

    name: str
    why: str

    def run(self, link: Link, attempt: int) -> list[CaseResult]:
        """Return that it could not be exported."""
        return [self.failed(self.why, attempt)]

    def failed(self, why: str, attempt: int) -> CaseResult:
        """Return the result."""
        return CaseResult(
            name=self.name,
            level="program",
            group=self.name,
            model=self.name,
            reference="runtime",
            verdict="error",
            detail=why,
            attempt=attempt,
        )


def run_job(session: BoardSession, job: Job[Result]) -> Iterator[Result]:
    """Run one case, again on a revived board if it took the board down.

    Yields every attempt's results, the failed attempts' too, each with what the line lost and
    repeated meanwhile.

    Raises:
        BoardLost: The board did not come back.
    """
    for attempt in range(1, _ATTEMPTS + 1):
        try:
            before = session.link.counters()
            try:
                results = job.run(session.link, attempt)
            except CannotRun as error:
                results = [replace(job.failed(str(error), attempt), verdict="not-run")]
            line = _line_counters(before, session.link.counters())
        except DeviceRefused as error:
            # The board is well and said why; asking again would change nothing.
            yield job.failed(str(error), attempt)
            return
        except LinkError as error:
            death = session.board.post_mortem()
            failed = job.failed(f"{error}; {death}" if death else str(error), attempt)
            if isinstance(error, VariantLost):
                failed = replace(failed, variant=error.variant)
            # A line may fail on its own, but firmware that dies twice of one case dies of it; and
            # where no line is that could fail, one that twice did not return hangs in it.
            hangs = session.has_no_line and isinstance(error, VariantLost)
            at_fault = attempt == _ATTEMPTS and (death is not None or hangs)
            yield replace(failed, verdict="fail") if at_fault else failed
            session.recover(error)
        except BoardLost:
            raise
        except BenchError as error:
            # Such as a program that the board's memory cannot hold: this case's trouble alone.
            yield job.failed(str(error), attempt)
            return
        else:
            yield from (replace(r, counters={**r.counters, "line": line}) for r in results)
            return


def _line_counters(before: Counters, after: Counters) -> dict[str, int]:
    """Return what both ends counted in between."""
    return {
        f"{end}_{name}": count - getattr(getattr(before, end), name)
        for end in ("device", "host")
        for name, count in asdict(getattr(after, end)).items()
    }


def verdict(*kinds: Sequence[CaseResult] | Sequence[LatencyResult]) -> str:
    """Sum a run up: "fail" if an output was wrong, "error" if one never came, else "pass".

    A failed attempt that a later attempt of the same case made good is kept but does not count.

    Args:
        kinds: Verdicts on outputs, and timings; what there is none of does not count.
    """
    sums = {_sum_up(results) for results in kinds if results}
    return next(
        (worst for worst in ("fail", "error") if worst in sums), "pass" if sums else "error"
    )


def _sum_up(results: Sequence[CaseResult] | Sequence[LatencyResult]) -> str:
    judged = {_execution(r) for r in results if r.verdict in ("pass", "fail")}
    return overall(r for r in results if r.verdict != "error" or _execution(r) not in judged)


def _execution(result: CaseResult | LatencyResult) -> tuple[str, str, str | None]:
    """Return what is run again as a whole: a kernel case, or a program with all its inputs."""
    return result.level, result.model or result.name, result.route
