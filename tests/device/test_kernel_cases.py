"""Every kernel case on the board of ``--target``."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bench.cases.kernel import KernelCase, standard_kernel_cases
from bench.runs.jobs import Job, KernelJob


@pytest.mark.parametrize("case", standard_kernel_cases(), ids=lambda case: case.name)
def test_kernel(bench_check: Callable[[Job], None], case: KernelCase) -> None:
    bench_check(KernelJob(case))
