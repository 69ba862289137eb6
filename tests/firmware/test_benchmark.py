"""The benchmark script builds and measures what it says; how fast is for its reader."""

from __future__ import annotations

import json
import subprocess
import sys

from bench.paths import project_root


def test_native_and_portable_route_compute_the_same() -> None:
    script = project_root() / "tests" / "benchmarks" / "mul_int8.py"
    done = subprocess.run(
        [sys.executable, script, "--json"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    sizes = json.loads(done.stdout)["sizes"]
    assert [row["elements"] for row in sizes] == [65536, 256]
    assert all(row["max_abs_diff"] <= 1 for row in sizes)
