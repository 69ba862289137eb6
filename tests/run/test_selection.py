"""Choosing cases: one bad model among all is a result, a bad one that was asked for is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.lab.build import build_host
from bench.runs import selection
from bench.runs.selection import Selection, select_cases

BROKEN = """
import torch

def build():
    raise RuntimeError("no weights")

def example_inputs():
    return (torch.zeros(1),)

def calibration():
    return [example_inputs()]
"""


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    path = tmp_path / "broken.py"
    path.write_text(BROKEN)
    monkeypatch.setattr(selection, "list_models", lambda: [str(path)])
    return str(path)


def select(*models: str) -> Selection:
    return select_cases(
        models, ("size/1/*", "broken/*"), {}, lambda: build_host().library, lambda line: None
    )


def test_one_bad_model_among_all(broken: str) -> None:
    chosen = select()
    assert {case.size for case in chosen.kernels} == {1}
    (model,) = chosen.broken
    assert model.name == broken and "no weights" in model.why
    jobs = chosen.jobs({})
    assert len(jobs) == len(chosen.kernels) + 1 and jobs[-1] is model


def test_a_bad_model_that_was_asked_for(broken: str) -> None:
    with pytest.raises(BenchError, match="no weights"):
        select(broken)
