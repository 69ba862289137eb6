"""Every kernel case on the board of ``--target``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.cases.kernel import KernelCase, standard_kernel_cases
from bench.pytest_plugin import placements_of
from bench.runs.jobs import Job, KernelJob
from bench.store import CaseResult


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    cases = standard_kernel_cases(placements_of(metafunc.config))
    metafunc.parametrize("case", cases, ids=lambda case: case.name)


def test_kernel(bench_check: Callable[[Job[CaseResult]], None], case: KernelCase) -> None:
    bench_check(KernelJob(case))
