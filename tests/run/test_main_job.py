"""``bench run`` as its users see it: on right firmware, on wrong firmware, and its store."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from bench_process import BenchCommand

MUTANTS = Path(__file__).parent.parent / "mutants"

# What each wrong kernel must be caught by: a family of cases, and nothing outside it if it is
# right there.
MUTANT_SYMPTOMS = {
    "no_clamp": "all-pairs/",
    "no_output_zero_point": "all-pairs/",
    "portable_as_native": "all-pairs/",
    "rounding_floor": "all-pairs/",
    "tail_off_by_one": "size/",
}


def test_every_mutant_has_a_symptom() -> None:
    assert {path.stem for path in MUTANTS.glob("*.cpp")} == set(MUTANT_SYMPTOMS)


@pytest.mark.parametrize("mutant", MUTANT_SYMPTOMS)
def test_a_wrong_kernel_is_caught(bench_command: BenchCommand, mutant: str) -> None:
    kernels_alone = [f"--case={group}/*" for group in ("all-pairs", "size", "align", "in-place")]
    outcome = bench_command("run", "--json", "--native", MUTANTS / f"{mutant}.cpp", *kernels_alone)
    assert outcome.status == 1, outcome.stderr
    report = outcome.report
    assert report["verdict"] == "fail"
    bad = [
        case
        for case in report["cases"]
        if case["verdict"] == "fail" and case["reference"] == "integer"
    ]
    assert bad and all(case["variant"] == "native" for case in bad)
    assert any(case["name"].startswith(MUTANT_SYMPTOMS[mutant]) for case in bad)
    for case in bad:
        index = case["first_bad_index"]
        assert 0 <= index < case["elements"]
        assert case["expected"] != case["got"]
        assert str(index) in case["detail"]
    if mutant == "tail_off_by_one":
        # Multiples of 8 have no tail; elsewhere the first bad index lies in it.
        for case in bad:
            assert case["elements"] % 8 and case["first_bad_index"] >= case["elements"] // 8 * 8
    portable = [case for case in report["cases"] if case["variant"] == "portable"]
    assert portable and all(case["verdict"] == "pass" for case in portable)


def test_a_wrong_kernel_is_caught_in_programs_and_named_in_the_table(
    bench_command: BenchCommand,
) -> None:
    outcome = bench_command(
        "run", "--native", MUTANTS / "no_output_zero_point.cpp", "--model", "plain_mul"
    )
    assert outcome.status == 1, outcome.stderr
    for route in ("operator-library", "delegate"):
        assert f"fail plain_mul/0 {route} against eager: input set 0: first bad index" in (
            outcome.stdout
        )
    assert "portable against" not in outcome.stdout


def test_right_firmware_passes_and_everything_is_kept(
    bench_command: BenchCommand, tmp_path: Path
) -> None:
    outcome = bench_command("run", "--json")
    report = outcome.report
    bad = [case for case in report["cases"] if case["verdict"] != "pass"]
    assert (outcome.status, report["verdict"], bad) == (0, "pass", [])
    kernels = [c for c in report["cases"] if c["level"] == "kernel"]
    exhaustive = {c["name"] for c in kernels if c["elements"] == 65_536}
    assert len(exhaustive) >= 20
    for name in exhaustive:
        judged = {(c["variant"], c["reference"]) for c in kernels if c["name"] == name}
        assert judged == {("native", "integer"), ("portable", "float32"), ("native", "portable")}
    programs = [c for c in report["cases"] if c["level"] == "program"]
    models = {c["model"] for c in programs}
    assert {"plain_mul", "chained_mul", "glu", "se_net"} <= models
    for model in models:
        for route in ("portable", "operator-library", "delegate"):
            mine = [c for c in programs if (c["model"], c["route"]) == (model, route)]
            assert {"runtime", "eager"} <= {c["reference"] for c in mine}
            assert len({c["name"] for c in mine}) > 1  # several inputs
    store = Path(report["store"])
    assert store.parent == tmp_path / "results"
    with sqlite3.connect(store) as database:
        (kept,) = database.execute("select count(*) from numerics").fetchone()
    assert kept == len(report["cases"])


def test_lowering_is_reported_and_proved_on_the_device(bench_command: BenchCommand) -> None:
    report = bench_command("run", "--json", "--model", "se_net").report
    by_route = {case["route"]: case["counters"] for case in report["cases"]}
    assert by_route["operator-library"]["native_calls"] == 2
    assert by_route["delegate"]["native_calls"] == 0
    assert by_route["delegate"]["delegate_calls"] > 0
    assert by_route["portable"]["native_calls"] == by_route["portable"]["delegate_calls"] == 0
    reasons = [m["reason"] for m in by_route["operator-library"]["report"]["multiplies"]]
    assert sorted(map(str, reasons)) == ["None", "None", "broadcast"]


def test_a_kernel_must_count_what_it_computed(bench_command: BenchCommand, tmp_path: Path) -> None:
    kernel = tmp_path / "counts_nothing.cpp"
    kernel.write_text(
        '#include "mul_int8.h"\n#include "requantize.h"\nnamespace bench {\n'
        "PathCount mul_int8_native(const int8_t* x, const int8_t* y, int8_t* out, size_t n,\n"
        "                          const MulInt8Params& p) {\n"
        "  const Requantizer requantize(p);\n"
        "  for (size_t i = 0; i < n; ++i) {\n"
        "    out[i] = requantize((x[i] - p.zero_point1) * (y[i] - p.zero_point2));\n"
        "  }\n  return {0, 0};\n}\n}\n"
    )
    outcome = bench_command("run", "--json", "--native", kernel, "--case", "size/5/*")
    assert outcome.status == 1, outcome.stderr
    bad = {c["detail"] for c in outcome.report["cases"] if c["verdict"] == "fail"}
    assert bad == {"the kernel says it computed 0 elements of 5"}


def test_a_model_that_prints_or_exits(bench_command: BenchCommand, tmp_path: Path) -> None:
    model = tmp_path / "chatty.py"
    model.write_text(
        "import torch\n"
        "class M(torch.nn.Module):\n    def forward(self, x):\n        print('hello')\n"
        "        return torch.exp(x * x), x.mean()\n"
        "def build(): return M()\n"
        "def example_inputs(): return calibration()[0]\n"
        "def calibration(): return [(torch.linspace(-1, 1, 12).reshape(3, 4),)]\n"
    )
    outcome = bench_command("run", "--json", "--model", model, "--case", "*/portable")
    assert (outcome.status, outcome.report["verdict"]) == (0, "pass")
    model.write_text("import sys\nsys.exit(0)\n")
    assert "chatty.py: SystemExit" in bench_command("run", "--model", model).refusal()


def test_multiplies_that_stay_are_counted_too(bench_command: BenchCommand, tmp_path: Path) -> None:
    model = tmp_path / "square.py"
    model.write_text(
        "import torch\n"
        "EXPECT = {'lowered': 1, 'portable': 1}\n"
        "class Square(torch.nn.Module):\n    def forward(self, x):\n        return x * x\n"
        "def build(): return Square()\n"
        "def example_inputs(): return (torch.linspace(-1, 1, 12),)\n"
        "def calibration(): return [example_inputs()]\n"
    )
    outcome = bench_command("run", "--model", model, "--case", "*/operator-library")
    assert outcome.status == 1, outcome.stderr
    assert "'portable': 0}, square.py expects {'lowered': 1, 'portable': 1}" in outcome.stdout
