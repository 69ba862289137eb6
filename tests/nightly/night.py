"""A night as a process, and boards for it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import bench_process

from bench.lab.build import build_host

KERNELS = Path(__file__).parent / "kernels"
MUTANTS = Path(__file__).parent.parent / "mutants"

# A dozen comparisons of kernels alone: no model is exported.
FEW_CASES = ("--case", "size/7/*")


class Outcome(bench_process.Outcome):
    def boards(self) -> dict[str, dict[str, Any]]:
        return {board["name"]: board for board in self.report["boards"]}

    def problems(self) -> set[tuple[str, str]]:
        return {(problem["board"], problem["kind"]) for problem in self.report["problems"]}


def nightly(results: Path, *arguments: str | Path) -> Outcome:
    """Run ``bench nightly``; its results go to a folder of the test."""
    done = subprocess.run(
        [
            *(sys.executable, "-m", "bench", "nightly", "--results", str(results)),
            *map(str, arguments),
        ],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    return Outcome(done.returncode, done.stdout, done.stderr)


@contextmanager
def served(kernel: Path | None = None) -> Iterator[str]:
    """Serve a host board with a native kernel of its own; gives its URL."""
    runner = build_host(kernel).runner
    with subprocess.Popen(
        [runner, "--listen", "127.0.0.1:0"], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        word, address = process.stderr.readline().split()
        assert word == "listening"
        try:
            yield f"socket://{address}"
        finally:
            process.kill()
