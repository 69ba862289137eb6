"""Every model by every route on the board of ``--target``."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from bench.cases.models import list_models, program_cases
from bench.cases.program import ROUTES
from bench.cases.runtime import Runtime
from bench.runs.jobs import Job, ProgramJob
from bench.runs.run import Run
from bench.store import CaseResult


@pytest.fixture(scope="module")
def runtime(bench_run: Run) -> Iterator[Runtime]:
    with Runtime(bench_run.build.library) as runtime:
        yield runtime


@pytest.mark.parametrize("model", list_models())
def test_program(
    runtime: Runtime, bench_check: Callable[[Job[CaseResult]], None], model: str
) -> None:
    for case in program_cases(model, ROUTES, runtime):
        bench_check(ProgramJob(case))
