"""A short pass of the device's fuzzer over its corpus and a little beyond."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

from needs import lacks


def test_device_parser_survives_a_short_pass() -> None:
    if shutil.which("clang++") is None:
        lacks("no clang++: on Debian 'apt-get install clang libclang-rt-14-dev'")
    run = Path(__file__).parent / "run.py"
    done = subprocess.run(
        [sys.executable, run, "--runs", "100000", "--host-examples", "100"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
