"""Fuzzes both parsers of the link: the device's with libFuzzer, the host's with hypothesis.

    python tests/fuzz/run.py --seconds 600          as long as that, about
    python tests/fuzz/run.py --runs 10000000        that many inputs to the device's side

New inputs that reach new code are added to the corpus only with --keep.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
CORPUS = HERE / "corpus"
# The host's parser takes about so many inputs a second.
HOST_RATE = 300


def build(folder: Path) -> Path:
    """Compile the fuzzer with the sanitizers; needs clang."""
    compiler = os.environ.get("BENCH_CLANG", "clang++")
    if shutil.which(compiler) is None:
        sys.exit(f"fuzz: no {compiler}: install clang and its run-time library (Debian: "
                 "apt-get install clang libclang-rt-14-dev)")  # fmt: skip
    fuzzer = folder / "device_fuzzer"
    firmware = ROOT / "firmware"
    includes = [f"-I{firmware / part}" for part in ("runner", "kernels", "executorch",
                                                    "ports/host")]  # fmt: skip
    subprocess.run(
        [compiler, "-std=c++17", "-O2", "-g", "-Wall", "-Wextra",
         "-fsanitize=fuzzer,address,undefined", "-fno-sanitize-recover=all", *includes,
         HERE / "device_fuzzer.cpp", *sorted((firmware / "runner").glob("*.cpp")),
         "-o", fuzzer],
        check=True,
    )  # fmt: skip
    return fuzzer


def fuzz_device(limit: list[str], keep: bool) -> int:
    """Run libFuzzer from the corpus; return its exit status."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        fuzzer = build(folder)
        found = folder / "found"
        found.mkdir()
        CORPUS.mkdir(exist_ok=True)
        status = subprocess.run(
            [fuzzer, *limit, "-max_len=512", "-print_final_stats=1", "-verbosity=1",
             f"-artifact_prefix={HERE}/", found, CORPUS],
            check=False,
        ).returncode  # fmt: skip
        if keep and status == 0:
            merged = folder / "merged"
            merged.mkdir()
            # By edges, not by how often each is taken: a small corpus.
            subprocess.run(
                [fuzzer, "-merge=1", "-use_counters=0", "-max_len=512", merged, CORPUS, found],
                check=True,
            )
            shutil.rmtree(CORPUS)
            shutil.copytree(merged, CORPUS)
    return status


def fuzz_host(examples: int) -> int:
    """Run the hypothesis test with that many examples; return pytest's exit status."""
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--timeout", "0",
         HERE / "test_fuzz_decoder.py"],
        env={**os.environ, "BENCH_FUZZ_EXAMPLES": str(examples)},
        cwd=ROOT,
        check=False,
    ).returncode  # fmt: skip


def main() -> int:
    """Fuzz the device's side, then the host's; return 0 if neither has a finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    budget = parser.add_mutually_exclusive_group(required=True)
    budget.add_argument("--seconds", type=int, help="time for both sides together")
    budget.add_argument("--runs", type=int, help="inputs to the device's side")
    parser.add_argument("--host-examples", type=int, help="inputs to the host's side")
    parser.add_argument("--keep", action="store_true", help="add to the corpus")
    arguments = parser.parse_args()
    if arguments.seconds:
        limit = [f"-max_total_time={max(1, arguments.seconds // 2)}"]
        examples = arguments.seconds // 2 * HOST_RATE
    else:
        limit = [f"-runs={arguments.runs}"]
        examples = max(100, arguments.runs // 100)
    device = fuzz_device(limit, arguments.keep)
    host = fuzz_host(arguments.host_examples or examples)
    return 1 if device or host else 0


if __name__ == "__main__":
    sys.exit(main())
