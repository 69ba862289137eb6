"""Host boards without ExecuTorch, compiled in one go: of 32 bits, and with a stand-in ESP-NN."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

from bench.paths import project_root

HERE = Path(__file__).parent
FIRMWARE = project_root() / "firmware"
KERNELS = FIRMWARE / "kernels"
HOST = FIRMWARE / "ports" / "host"

FLAGS = ("-std=c++17", "-ffp-contract=off", "-fno-exceptions", "-fno-rtti")
WARNINGS = ("-Wall", "-Wextra", "-Wconversion", "-Werror")
NATIVE = (*sorted(KERNELS.glob("*.cpp")), HOST / "mul_int8_variants.cpp")
ESPNN = (
    *sorted((KERNELS / "espnn").glob("*.cpp")),
    KERNELS / "mul_int8_portable.cpp",
    HERE / "esp_nn" / "esp_nn.cpp",
)


def compiler() -> str:
    return os.environ.get("CXX") or shutil.which("c++") or "g++"


def compile_into(made: Path, *arguments: str | Path) -> Path:
    """Compile; include folders among the arguments are searched before the shared ones."""
    folders = [KERNELS, KERNELS / "espnn", FIRMWARE / "executorch", FIRMWARE / "runner", HOST]
    includes = [f"-I{folder}" for folder in (*folders, HERE / "esp_nn", made.parent)]
    command = [compiler(), *FLAGS, *WARNINGS, "-O2", *arguments, *includes, "-o", made]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return made


def compile_board(folder: Path, variants: tuple[Path, ...], *flags: str) -> Path:
    """Compile a host board that offers the variants of these sources and runs no programs."""
    facts = {"FIRMWARE_HASH": "0" * 64, "REVISION": "", "COMPILER": "test", "FLAGS": ""}
    lines = [f'#define BENCH_{name} "{value}"\n' for name, value in facts.items()]
    (folder / "firmware_build.h").write_text("".join(lines))
    host = [HOST / name for name in ("host_port.cpp", "line.cpp", "main.cpp")]
    runner = sorted((FIRMWARE / "runner").glob("*.cpp"))
    return compile_into(
        folder / "bench-runner", *flags, *variants, *runner, *host, HERE / "no_programs.cpp"
    )
