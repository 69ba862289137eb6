"""Which cases a run consists of: chosen by name, exported once, run on any number of boards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from bench.cases.kernel import GRID, KernelCase, standard_kernel_cases
from bench.cases.models import list_models, program_cases
from bench.cases.program import ROUTES, ProgramCase
from bench.cases.runtime import Runtime
from bench.errors import BenchError
from bench.runs.jobs import BrokenModel, Job, KernelJob, ProgramJob
from bench.runs.latency import KernelLatency, Rival
from bench.runs.program_latency import ProgramLatency
from bench.runs.symptoms import Symptom
from bench.store import CaseResult, LatencyResult


@dataclass(frozen=True)
class Selection:
    """The chosen cases; programs are exported and have their references, or could not be."""

    kernels: Sequence[KernelCase]
    programs: Sequence[ProgramCase]
    broken: Sequence[BrokenModel]

    def jobs(self, placements: Mapping[str, bool]) -> list[Job[CaseResult]]:
        """Return jobs for one board; each board needs its own, for they note what was shown.

        Args:
            placements: Memories of the board's type, as its `placements`.
        """
        shrunk: set[Symptom] = set()
        here = [case for case in self.kernels if case.placement in (None, *placements)]
        return [
            *(KernelJob(case, shrunk) for case in here),
            *map(ProgramJob, self.programs),
            *self.broken,
        ]

    def latency_jobs(
        self, placements: Mapping[str, bool], rival: Rival | None = None
    ) -> list[Job[LatencyResult]]:
        """Return what is timed of them: the grid in these memories, and each model's routes.

        Args:
            placements: Memories of the board's type.
            rival: Another board whose native kernel is timed in turn with this one's.
        """
        models: dict[str, list[ProgramCase]] = {}
        for case in self.programs:
            models.setdefault(case.model, []).append(case)
        timed: list[Job[LatencyResult]] = []
        if models:
            # Before any board is started: these tools take seconds to import.
            from bench.cases.trace import operator_ticks

            timed = [ProgramLatency(cases, operator_ticks) for cases in models.values()]
        return [
            *(
                KernelLatency(case, rival=rival)
                for case in self.kernels
                if case.group == GRID and case.placement in placements
            ),
            *timed,
        ]


def select_cases(
    models: Sequence[str],
    patterns: Sequence[str],
    placements: Mapping[str, bool],
    library: Callable[[], Path],
    say: Callable[[str], None],
) -> Selection:
    """Choose cases as ``--model`` and ``--case`` do; programs are exported here.

    Args:
        models: Only the programs of these models (names or files); empty for everything.
        patterns: Only cases whose name fits one of these; empty for all.
        placements: Memories of the boards' types, as their `placements`.
        library: Gives the firmware's kernels for the host's runtime; asked only if there are
            programs.
        say: Takes a line for people about long work.

    Raises:
        BenchError: No case fits, or a model that was asked for by name cannot be exported.
    """

    def chosen(name: str) -> bool:
        return not patterns or any(fnmatchcase(name, pattern) for pattern in patterns)

    cases = [] if models else standard_kernel_cases(placements)
    kernels = [case for case in cases if chosen(case.name)]
    wanted = {
        model: [route for route in ROUTES if chosen(f"{Path(model).stem}/{route}")]
        for model in models or list_models()
    }
    programs: list[ProgramCase] = []
    broken: list[BrokenModel] = []
    if any(wanted.values()):
        with Runtime(library()) as runtime:
            for model, routes in wanted.items():
                if not routes:
                    continue
                say(f"exporting {model}: {', '.join(routes)}")
                try:
                    programs += program_cases(model, routes, runtime)
                except BenchError as error:
                    if models:
                        raise
                    # One bad file among all models is no reason to run none of the others.
                    broken.append(BrokenModel(model, str(error)))
    if not kernels and not programs and not broken:
        raise BenchError(
            f"no case is called {' or '.join(map(repr, patterns))}"
            + (f" among the programs of {', '.join(models)}" if models else "")
            + ": names look like 'all-pairs/symmetric', 'size/7/*', 'align/out+3', 'glu/portable'"
        )
    return Selection(kernels, programs, broken)
