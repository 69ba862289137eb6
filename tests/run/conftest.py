from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from bench_process import BenchCommand, Outcome


@pytest.fixture
def bench_command(tmp_path: Path) -> BenchCommand:
    """Run ``bench`` as a process of its own; its results go to a folder of the test."""

    def run(*arguments: str | Path, env: dict[str, str] | None = None) -> Outcome:
        command = [sys.executable, "-m", "bench", *map(str, arguments)]
        if arguments and arguments[0] in ("run", "latency") and "--results" not in arguments:
            command += ["--results", str(tmp_path / "results")]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            env={**os.environ, **(env or {})},
            timeout=240,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run
