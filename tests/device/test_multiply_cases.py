"""The exporter's named multiply cases on the board of ``--target``."""

from __future__ import annotations

import numpy as np
import pytest

from bench.cases.program import Array
from bench.runs.programs import LoadedProgram
from bench.runs.run import Run

# ExecuTorch's ScalarType in numpy's words.
_TYPES = {0: "u1", 1: "i1", 2: "i2", 3: "i4", 4: "i8", 6: "f4", 7: "f8", 11: "?"}


@pytest.mark.timeout(900)
def test_multiply_cases(bench_run: Run) -> None:
    # Here and not above: torch takes seconds, and kernel cases alone need none of it.
    from bench.espressif import EspTester
    from bench.espressif.testing import CASES

    link = bench_run.session.link
    if link.hello.programs is None:
        pytest.skip("the firmware was built without ExecuTorch and runs no programs")

    def run_on_board(pte: bytes, inputs: list[Array]) -> list[Array]:
        program = LoadedProgram(link, pte)
        outputs, _, _ = program.run(inputs)
        return [
            np.frombuffer(raw, _TYPES[info.dtype]).reshape(info.sizes)
            for raw, info in zip(outputs, program.info.outputs, strict=True)
        ]

    wrong = {}
    run = [case for case in CASES if case.runs]
    for case in run:
        try:
            EspTester.of_case(case, run_on_board).test_implementation()
        except AssertionError as error:
            wrong[case.name] = str(error)
    assert len(run) > 20
    assert not wrong
