"""Native int8 multiply against ExecuTorch's portable route on this machine, in one run.

    python tests/benchmarks/mul_int8.py [--json]

The portable route is dequantize, dequantize, multiply, quantize by ExecuTorch's own operators.
Times are medians over rounds that alternate between the two.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import cmake
import ninja

HERE = Path(__file__).resolve().parent
BUILD = HERE.parent.parent / "build" / "benchmarks"


def build() -> Path:
    """Build the C++ side and return its executable."""
    spec = importlib.util.find_spec("executorch")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("executorch is not installed: run 'pip install -e .'")
    configure = [
        Path(cmake.CMAKE_BIN_DIR) / "cmake",
        f"-S{HERE}",
        f"-B{BUILD}",
        "-GNinja",
        f"-DCMAKE_MAKE_PROGRAM={Path(ninja.BIN_DIR) / 'ninja'}",
        f"-DCMAKE_PREFIX_PATH={next(iter(spec.submodule_search_locations))}",
    ]
    for command in (configure, [Path(ninja.BIN_DIR) / "ninja", "-C", BUILD, "mul_int8"]):
        done = subprocess.run(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        if done.returncode != 0:
            raise SystemExit(f"{done.stdout}\nthe benchmark does not build")
    return BUILD / "mul_int8"


def main() -> None:
    """Build, run and print."""
    parser = argparse.ArgumentParser(description="time the native multiply on this machine")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    result = subprocess.run([build()], stdout=subprocess.PIPE, text=True, check=True).stdout
    if arguments.json:
        sys.stdout.write(result)
        return
    print(f"{'elements':>9} {'native us':>10} {'portable us':>12} {'ratio':>6}")
    for row in json.loads(result)["sizes"]:
        print(
            f"{row['elements']:>9,} {row['native_us']:>10.2f} {row['portable_us']:>12.2f} "
            f"{row['ratio']:>6.1f}"
        )


if __name__ == "__main__":
    main()
