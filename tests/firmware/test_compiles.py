"""The portable sources for another word size and under the sanitizers."""

from __future__ import annotations

import platform
import subprocess
from pathlib import Path

import pytest
from firmware_kernels import FLAGS, HERE, compile_kernels, compiler

from bench.lab.build import _find_tools
from bench.paths import project_root

FIRMWARE = project_root() / "firmware"
BARE = sorted([*(FIRMWARE / "kernels").glob("*.cpp"), *(FIRMWARE / "runner").glob("*.cpp")])


@pytest.fixture(scope="module")
def system_includes(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The 64-bit system headers, made to serve 32 bits as far as a syntax check needs.

    So no 32-bit C library has to be installed: all that x86-64's headers lack is one file.
    """
    verbose = subprocess.run(
        [compiler(), "-E", "-v", "-x", "c++", "/dev/null"], capture_output=True, text=True
    ).stderr
    lines = verbose.partition("search starts here:")[2].partition("End of search list")[0]
    folders = [line.strip() for line in lines.splitlines() if line.startswith(" ")]
    assert folders, verbose
    stubs = tmp_path_factory.mktemp("include") / "gnu" / "stubs-32.h"
    stubs.parent.mkdir()
    stubs.touch()
    return ["-nostdinc", *(f"-isystem{folder}" for folder in [*folders, stubs.parent.parent])]


@pytest.mark.skipif(platform.machine() != "x86_64", reason="-m32 is a flag of x86-64 compilers")
@pytest.mark.parametrize("source", BARE, ids=lambda path: path.name)
def test_compiles_for_32_bits_without_warnings(source: Path, system_includes: list[str]) -> None:
    """Boards have 32 bits."""
    includes = [
        f"-I{FIRMWARE / name}" for name in ("kernels", "executorch", "runner", "ports/host")
    ]
    bare = ("-m32", "-fno-exceptions", "-fno-rtti", "-O2", "-fsyntax-only")
    command = [compiler(), *FLAGS, *bare, *includes, *system_includes, source]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("level", ["-O0", "-O2"])
def test_kernels_run_clean_under_the_sanitizers(tmp_path: Path, level: str) -> None:
    sanitizers = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
    program = compile_kernels(tmp_path / "sanitized", level, *sanitizers, HERE / "sanitized.cpp")
    result = subprocess.run([program], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def test_host_port_builds_without_warnings(tmp_path: Path) -> None:
    """A kernel author's warnings are theirs to see; the firmware's own are errors here."""
    tools = _find_tools()
    build = tmp_path / "build"
    subprocess.run(
        [
            *(tools.cmake, "-G", "Ninja", "-S", FIRMWARE / "ports" / "host", "-B", build),
            f"-DCMAKE_MAKE_PROGRAM={tools.ninja}",
            f"-DCMAKE_PREFIX_PATH={tools.executorch}",
            "-DCMAKE_COMPILE_WARNING_AS_ERROR=ON",
        ],
        check=True,
        capture_output=True,
    )
    built = subprocess.run([tools.ninja, "-C", build], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout
