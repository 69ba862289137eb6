"""The ESP-IDF project, configured by CMake with a fake ESP-IDF."""

from __future__ import annotations

import importlib.metadata
import json
import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import cmake
import ninja
from compiled_boards import FIRMWARE, HERE, compiler

PROJECT = FIRMWARE / "ports" / "esp32s3"
MAIN = PROJECT / "main"
CMAKE = Path(cmake.CMAKE_BIN_DIR) / "cmake"
EXECUTORCH_INCLUDE = Path(str(importlib.metadata.distribution("executorch").locate_file(""))) / (
    "executorch/include"
)

# How ESP-IDF 5.5 compiles C++, as far as a host compiler understands it, with what the chip's
# compiler does by itself: 32 bits, int32_t a long, char unsigned.
FLAGS = (
    "-std=gnu++2b", "-m32", "-funsigned-char", "-O2", "-fno-exceptions", "-fno-rtti",
    "-Wall", "-Wextra", "-Werror=all", "-Werror=extra",
    "-Wno-unused-parameter", "-Wno-sign-compare",
    f"-I{HERE / 'idf_stubs'}", f"-isystem{HERE / 'esp_nn'}",
    f"-isystem{HERE / 'newlib'}", "-include", "stdint.h",
)  # fmt: skip


@dataclass(frozen=True)
class Configured:
    """What CMake made of the project."""

    told: dict[str, str]
    commands: dict[Path, list[str]]

    def list(self, key: str) -> list[str]:
        return self.told[key].split(";")


def configure(build: Path, *options: str) -> Configured:
    managed = build / "managed_components" / "espressif__esp-nn"
    managed.mkdir(parents=True)
    (managed / "idf_component.yml").write_text('dependencies: {}\nversion: "1.2.3"\n')
    result = subprocess.run(
        [
            *(CMAKE, "-S", PROJECT, "-B", build, "-G", "Ninja"),
            f"-DCMAKE_MAKE_PROGRAM={Path(ninja.BIN_DIR) / 'ninja'}",
            f"-DCMAKE_CXX_COMPILER={compiler()}",
            "-Werror=dev",
            *options,
        ],
        capture_output=True,
        text=True,
        env={**os.environ, "IDF_PATH": str(HERE / "fake_idf")},
    )
    assert result.returncode == 0, result.stderr
    told = dict(line.split("=", 1) for line in (build / "told.txt").read_text().splitlines())
    entries = json.loads((build / "compile_commands.json").read_text())
    return Configured(
        told, {Path(entry["file"]).resolve(): shlex.split(entry["command"]) for entry in entries}
    )


def executorch_options() -> tuple[str, ...]:
    return (
        f"-DEXECUTORCH_PREFIX={HERE / 'fake_executorch'}",
        f"-DFAKE_EXECUTORCH_INCLUDE={EXECUTORCH_INCLUDE}",
    )
