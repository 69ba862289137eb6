"""Loading model files, right and wrong ones."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.espressif.models import list_models, load_model

GOOD = """
import torch
EXPECT = {"lowered": 1, "portable": 0}
class Model(torch.nn.Module):
    def forward(self, x):
        return x * x
def build():
    return Model()
def example_inputs():
    return (torch.ones(3),)
def calibration():
    return [(torch.ones(3),), (torch.zeros(3),)]
"""


def write(folder: Path, text: str) -> Path:
    file = folder / "mine.py"
    file.write_text(text)
    return file


def test_a_file_of_ones_own(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, GOOD))
    assert (model.name, model.expect) == ("mine", {"lowered": 1, "portable": 0})
    assert len(model.calibration) == 2
    assert not model.module.training


def test_expectation_is_optional(tmp_path: Path) -> None:
    text = GOOD.replace('EXPECT = {"lowered": 1, "portable": 0}', "")
    assert load_model(str(write(tmp_path, text))).expect is None


def test_listing_does_not_import_torch() -> None:
    code = (
        "import sys; from bench.espressif.models import list_models; print(list_models());"
        "assert 'torch' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(list_models())
    assert {"plain_mul", "chained_mul", "glu", "se_net"} <= set(list_models())


def test_public_names_are_there_before_they_are_imported() -> None:
    code = (
        "import sys, bench.espressif as e; assert set(e.__all__) <= set(dir(e));"
        "assert 'torch' not in sys.modules; from bench.espressif import *;"
        "from bench.espressif import report; assert StrictError is report.StrictError"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("change, message", [
    (("import torch", "import nothing_like_it"), "ModuleNotFoundError: No module named"),
    (("return Model()", "1/0"), r"build\(\) failed: ZeroDivisionError: division by zero"),
    (("return Model()", "return 3"), r"build\(\) returned a int, not a torch.nn.Module"),
    (("def build", "def built"), r"has no function build\(\); see models/README.md"),
    (("def calibration", "def calibrated"), r"has no function calibration\(\)"),
    (("return (torch.ones(3),)", "return torch.ones(3)"), "must be a tuple of tensors"),
    (("return (torch.ones(3),)", "return ()"), "is empty"),
    (("return (torch.ones(3),)", "return (3,)"), "must be a tuple of tensors"),
    (("[(torch.ones(3),), (torch.zeros(3),)]", "[]"), "at least one tuple"),
    (("(torch.zeros(3),)", "(torch.zeros(4),)"), r"calibration\(\)\[1\] is .*\[4\]"),
    (("(torch.zeros(3),)", "(torch.zeros(3).double(),)"), r"calibration\(\)\[1\] is .*float64"),
    (("x * x", "x @ torch.ones(2, 2)"), "does not run on its example inputs: RuntimeError"),
    (('{"lowered": 1, "portable": 0}', '{"lowered": 1}'), "EXPECT must be"),
    (("import torch", "import torch\nraise SystemError('no\\nway')"), "SystemError: no$"),
    (("import torch", "import ("), "SyntaxError"),
])  # fmt: skip
def test_wrong_files_say_what_is_wrong(tmp_path: Path, change, message: str) -> None:
    assert change[0] in GOOD
    file = write(tmp_path, GOOD.replace(*change))
    with pytest.raises(BenchError, match=message) as error:
        load_model(file)
    assert str(file) in str(error.value)
    assert "\n" not in str(error.value)


def test_unknown_names_list_the_choices() -> None:
    with pytest.raises(BenchError, match=r"no model 'nope': choose from .*plain_mul"):
        load_model("nope")
    with pytest.raises(BenchError, match="no model file"):
        load_model("somewhere/nope.py")
