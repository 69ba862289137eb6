"""Usage and environment errors: one line that names what is wrong, status 2, no traceback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from bench_process import BenchCommand

ONE_CASE = ("--case", "size/7/*")


def test_unknown_model(bench_command: BenchCommand) -> None:
    line = bench_command("run", "--model", "resnet9000").refusal()
    assert "resnet9000" in line and "plain_mul" in line


def test_unknown_target(bench_command: BenchCommand) -> None:
    line = bench_command("run", "--target", "esp8266").refusal()
    assert "esp8266" in line and "host" in line and "esp32s3" in line


def test_no_board(bench_command: BenchCommand) -> None:
    line = bench_command("run", "--target", "esp32s3", env={"ESPPORT": ""}).refusal()
    assert "USB-Serial/JTAG (303a:1001)" in line and "--port" in line


def test_unknown_case(bench_command: BenchCommand) -> None:
    assert "nothing/*" in bench_command("run", "--case", "nothing/*").refusal()


@pytest.mark.parametrize("command", [["export"], ["run", "--model"], ["latency", "--model"]])
@pytest.mark.parametrize("result", ["x[x > 0] * 2", "torch.nonzero(x).float() * 2"])
def test_output_whose_shape_depends_on_the_inputs(
    bench_command: BenchCommand, tmp_path: Path, command: list[str], result: str
) -> None:
    file = tmp_path / "picks.py"
    file.write_text(
        "import torch\n"
        "class Picks(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        f"        return {result}\n"
        "def build(): return Picks()\n"
        "def example_inputs(): return (torch.linspace(-2, 3, 24).reshape(4, 6),)\n"
        "def calibration(): return [example_inputs()]\n"
    )
    line = bench_command(*command, file).refusal()
    assert "depends on values of the inputs" in line or "not valid in the Edge dialect" in line


def test_operator_without_a_kernel(bench_command: BenchCommand, tmp_path: Path) -> None:
    file = tmp_path / "sorted.py"
    file.write_text(
        "import torch\n"
        "class Sorted(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        return torch.sort(x * x)[0]\n"
        "def build(): return Sorted()\n"
        "def example_inputs(): return (torch.linspace(-2, 3, 24),)\n"
        "def calibration(): return [example_inputs()]\n"
    )
    line = bench_command("run", "--model", file).refusal()
    assert "refuses the program: it has no kernel for aten::sort.values (" in line


def test_program_in_place_of_its_report(bench_command: BenchCommand, tmp_path: Path) -> None:
    output = tmp_path / "plain.json"
    line = bench_command("export", "plain_mul", "--output", output).refusal()
    assert "plain.json" in line and ".pte" in line
    assert not output.exists()


def test_missing_compiler(bench_command: BenchCommand, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    line = bench_command("run", *ONE_CASE, env={"PATH": str(empty), "CXX": ""}).refusal()
    assert "compiler" in line


def test_results_folder_not_writable(bench_command: BenchCommand, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    line = bench_command("run", *ONE_CASE, "--results", file / "results").refusal()
    assert str(file) in line


def test_kernel_that_does_not_compile(bench_command: BenchCommand, tmp_path: Path) -> None:
    kernel = tmp_path / "kernel.cpp"
    kernel.write_text("this is no kernel\n")
    line = bench_command("run", *ONE_CASE, "--native", kernel).refusal()
    assert "kernel.cpp" in line and "build.log" in line


def test_runner_that_dies_at_start(bench_command: BenchCommand, tmp_path: Path) -> None:
    kernel = tmp_path / "dies.cpp"
    kernel.write_text(
        '#include <cstdlib>\n#include "mul_int8.h"\n'
        "namespace { const int dead = (std::_Exit(3), 0); }\n"
        "namespace bench {\n"
        "PathCount mul_int8_native(const int8_t*, const int8_t*, int8_t*, size_t,"
        " const MulInt8Params&) { return {0, static_cast<uint32_t>(dead)}; }\n}\n"
    )
    line = bench_command("run", *ONE_CASE, "--native", kernel).refusal()
    assert "exited with status 3" in line


def test_board_that_answers_garbage(bench_command: BenchCommand) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def babble() -> None:
            connection, _ = server.accept()
            with connection:
                try:
                    while True:
                        connection.recv(4096)
                        connection.sendall(os.urandom(512))
                except OSError:
                    pass

        threading.Thread(target=babble, daemon=True).start()
        url = f"socket://127.0.0.1:{server.getsockname()[1]}"
        line = bench_command("run", *ONE_CASE, "--port", url).refusal()
    assert url in line


def test_port_that_does_not_exist(bench_command: BenchCommand) -> None:
    line = bench_command("run", *ONE_CASE, "--port", "/dev/ttyNOSUCH").refusal()
    assert "/dev/ttyNOSUCH" in line


def test_pytest_refuses_to_run_without_a_board() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "tests/device", "--target", "esp32s3", "-q"],
        capture_output=True,
        text=True,
        cwd=Path(__file__).parent.parent.parent,
        env={**os.environ, "ESPPORT": ""},
        timeout=120,
        check=False,
    )
    assert done.returncode == 4, done.stdout  # pytest's usage error
    assert "no esp32s3 board: looked for CH340" in done.stderr
    assert "skipped" not in done.stdout


def test_pytest_names_the_first_bad_element(tmp_path: Path) -> None:
    root = Path(__file__).parent.parent.parent
    mutant = root / "tests" / "mutants" / "rounding_floor.cpp"
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "tests/device", "-q"),
            *("--native", mutant, "-k", "all-pairs/symmetric", "--results", tmp_path),
        ],
        capture_output=True,
        text=True,
        cwd=root,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1, done.stdout
    assert "native against integer): fail: first bad index" in done.stdout
    assert "expected" in done.stdout and "Traceback" not in done.stdout
