from __future__ import annotations

import multiprocessing
import re
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.lab.build import HostBuild, build_host
from bench.paths import project_root

NATIVE = project_root() / "firmware" / "kernels" / "mul_int8_native.cpp"


@pytest.fixture
def kernel_file(request: pytest.FixtureRequest) -> Path:
    """A place for a kernel of one's own; the same in every run, as its build folder is."""
    folder = project_root() / "build" / "tests"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{request.node.name}.cpp"


def test_makes_runner_and_library(host_build: HostBuild) -> None:
    assert host_build.runner.is_file() and host_build.library.is_file()
    assert re.fullmatch("[0-9a-f]{64}", host_build.firmware_hash)
    assert host_build.firmware_hash.encode() in host_build.runner.read_bytes()


def test_a_build_without_changes_leaves_the_files(host_build: HostBuild) -> None:
    lines: list[str] = []
    before = host_build.runner.stat()
    assert build_host(progress=lines.append) == host_build
    after = host_build.runner.stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)
    assert lines == []


def test_another_native_kernel_gets_its_own_build(host_build: HostBuild, kernel_file: Path) -> None:
    kernel_file.write_text(NATIVE.read_text())
    same = build_host(kernel_file)
    assert same.firmware_hash == host_build.firmware_hash
    assert same.runner != host_build.runner and same.runner.is_file()
    kernel_file.write_text(NATIVE.read_text() + "// another\n")
    changed = build_host(kernel_file)
    assert changed.firmware_hash != host_build.firmware_hash
    assert changed.runner == same.runner
    assert changed.firmware_hash.encode() in changed.runner.read_bytes()


@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("int x = ;\n", r"does not build: \S*\.cpp:1:9: error: "),
        ("int x = 1;\n", "undefined reference to `bench::mul_int8_native"),
    ],
    ids=["syntax", "missing"],
)
def test_a_broken_kernel_is_told_in_one_line(kernel_file: Path, source: str, reason: str) -> None:
    kernel_file.write_text(source)
    with pytest.raises(BenchError, match=reason) as caught:
        build_host(kernel_file)
    assert "\n" not in str(caught.value)
    log = re.search(r"\(full log: (.*)\)$", str(caught.value))
    assert log and "FAILED" in Path(log[1]).read_text()


def test_missing_tools_are_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no such kernel file"):
        build_host(tmp_path / "none.cpp")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("CXX", raising=False)
    with pytest.raises(BenchError, match=r"no C\+\+ compiler found: install one"):
        build_host()
    monkeypatch.setenv("CXX", "nonesuch++")
    with pytest.raises(BenchError, match="CXX names no program: nonesuch"):
        build_host()


def _build(kernel_file: Path) -> tuple[str, bytes]:
    built = build_host(kernel_file)
    return built.firmware_hash, built.runner.read_bytes()


def test_processes_may_build_at_once(kernel_file: Path) -> None:
    stamp = kernel_file.stat().st_mtime_ns if kernel_file.exists() else 0
    kernel_file.write_text(f"{NATIVE.read_text()}// after {stamp}\n")
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        results = pool.map(_build, [kernel_file] * 3)
    assert results[0] == results[1] == results[2]
    assert results[0][0].encode() in results[0][1]
