"""The exporter's named multiply cases on the board of ``--target``."""

from __future__ import annotations

import pytest

from bench.runs.on_board import program_runner
from bench.runs.run import Run


@pytest.mark.timeout(900)
def test_multiply_cases(bench_run: Run) -> None:
    # Here and not above: torch takes seconds, and kernel cases alone need none of it.
    from bench.espressif import EspTester
    from bench.espressif.testing import CASES

    link = bench_run.session.link
    if link.hello.programs is None:
        pytest.skip("the firmware was built without ExecuTorch and runs no programs")

    wrong = {}
    run = [case for case in CASES if case.runs]
    for case in run:
        tester = EspTester.of_case(case, program_runner(link))
        try:
            tester.test_implementation(qtol=max(case.qtol, 1))
        except AssertionError as error:
            wrong[case.name] = str(error)
        reasons = tuple(multiply.reason for multiply in tester.report.portable)
        if (len(tester.report.lowered), reasons) != (case.lowered, case.reasons):
            wrong[case.name] = f"{len(tester.report.lowered)} lowered, {reasons}"
    assert len(run) > 20
    assert not wrong
