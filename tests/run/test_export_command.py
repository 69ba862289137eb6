"""``bench export``: what it prints and what it writes."""

from __future__ import annotations

import json
from pathlib import Path

from bench_process import BenchCommand


def test_a_buffer_that_the_model_changes(bench_command: BenchCommand, tmp_path: Path) -> None:
    model = tmp_path / "counts.py"
    model.write_text(
        "import torch\n"
        "class Counts(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.register_buffer('seen', torch.ones(4))\n"
        "    def forward(self, x):\n"
        "        self.seen.add_(x)\n"
        "        return x * self.seen\n"
        "def build(): return Counts()\n"
        "def example_inputs(): return (torch.ones(4),)\n"
        "def calibration(): return [example_inputs()]\n"
    )
    outcome = bench_command("export", model, "--output", tmp_path / "counts.pte")
    assert outcome.status == 0, outcome.stderr
    notes = [line for line in outcome.stdout.splitlines() if line.startswith("note: ")]
    assert notes == ["note: the program changes seen when it runs, and starts it at zero"]
    assert json.loads((tmp_path / "counts.json").read_text())["changed_buffers"] == ["seen"]
    # A case must give the same each time.
    assert "changes its buffer seen" in bench_command("run", "--model", model).refusal()
