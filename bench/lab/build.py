"""Builds the virtual board: CMake and ninja against the runtime in the ExecuTorch wheel."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import json
import os
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from bench.errors import BenchError
from bench.paths import project_root

_RUNNER = "bench-runner"
_LIBRARY = "libespnn_kernels.so"
_NATIVE_KERNEL = Path("kernels/mul_int8_native.cpp")
_FOLDERS = ("kernels", "executorch", "runner", "ports/host")
_SUFFIXES = frozenset({".h", ".cpp", ".in", ".txt"})

Progress = Callable[[str], None]


@dataclass(frozen=True)
class HostBuild:
    """What a build made.

    Attributes:
        runner: The virtual board's executable.
        library: Shared object with the operator and the delegate, for the ExecuTorch runtime in
            Python.
        firmware_hash: SHA-256 of everything that entered the build, as the runner's hello says it.
    """

    runner: Path
    library: Path
    firmware_hash: str


def build_host(native: Path | None = None, *, progress: Progress | None = None) -> HostBuild:
    """Build the host firmware, or what changed of it since the last build.

    Each native kernel has a build folder of its own; processes that build at once wait for each
    other, and a finished executable is replaced in one step.

    Args:
        native: C++ file that defines ``bench::mul_int8_native`` in place of the firmware's own.
        progress: Called with a line for people now and then.

    Raises:
        BenchError: A tool is missing, or the sources do not build.
    """
    root = project_root()
    say = progress if progress is not None else _say_nothing
    key = "firmware"
    if native is not None:
        native = native.resolve()
        if not native.is_file():
            raise BenchError(f"no such kernel file: {native}")
        key = f"{native.stem}-{hashlib.sha256(bytes(native)).hexdigest()[:12]}"
    folder = root / "build" / "host" / key
    tools = _find_tools()
    firmware_hash = _hash(root / "firmware", native, tools)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = FileLock(folder / "lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            say("waiting for another process that builds the same firmware")
            lock.acquire()
        try:
            _configure(folder, root, native, tools, firmware_hash, say)
            _build(folder, tools, say)
            runner = _publish(folder / "work" / _RUNNER, folder)
            library = _publish(folder / "work" / _LIBRARY, folder)
        finally:
            lock.release()
    except OSError as error:
        raise BenchError(f"cannot build in {folder}: {error.strerror or error}") from error
    return HostBuild(runner, library, firmware_hash)


@dataclass(frozen=True)
class _Tools:
    """Programs and packages of one build."""

    cmake: Path
    ninja: Path
    compiler: str
    compiler_version: str
    flags: str
    executorch: Path
    executorch_version: str


def _say_nothing(line: str) -> None:
    pass


def _find_tools() -> _Tools:
    wanted = os.environ.get("CXX")
    candidates = [wanted] if wanted else ["c++", "g++", "clang++"]
    compiler = next((path for name in candidates if (path := shutil.which(name))), None)
    if compiler is None:
        raise BenchError(
            f"CXX names no program: {wanted}"
            if wanted
            else "no C++ compiler found: install one (on Debian 'apt install g++') or set CXX"
        )
    version = _output([compiler, "--version"])
    if version is None:
        raise BenchError(f"the C++ compiler {compiler} does not run; set CXX to one that does")
    executorch = _package_folder("executorch")
    if not (executorch / "share" / "cmake" / "executorch-config.cmake").is_file():
        raise BenchError(
            f"{executorch} has no C++ runtime: install the executorch wheel for Linux or macOS"
        )
    return _Tools(
        cmake=_build_tool("cmake", "CMAKE_BIN_DIR"),
        ninja=_build_tool("ninja", "BIN_DIR"),
        compiler=compiler,
        compiler_version=version.partition("\n")[0],
        flags=os.environ.get("CXXFLAGS", ""),
        executorch=executorch,
        executorch_version=importlib.metadata.version("executorch"),
    )


def _package_folder(name: str) -> Path:
    # Found, not imported: importing executorch takes seconds.
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise BenchError(f"the Python package {name} is missing: run 'pip install -e .' again")
    return Path(next(iter(spec.submodule_search_locations)))


def _build_tool(name: str, folder_attribute: str) -> Path:
    """Find a tool of the environment's own: the system's may be too old for the wheel."""
    _package_folder(name)
    tool = Path(getattr(importlib.import_module(name), folder_attribute)) / name
    if not tool.is_file():
        raise BenchError(f"the Python package {name} has no program: run 'pip install -e .' again")
    return tool


def _output(command: list[str]) -> str | None:
    try:
        result = subprocess.run(
            command, capture_output=True, text=True, check=True, stdin=subprocess.DEVNULL
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return result.stdout.strip()


def _hash(firmware: Path, native: Path | None, tools: _Tools) -> str:
    """Hash the sources by name and content, and the tools; a native kernel takes its place."""
    digest = hashlib.sha256()
    identity = (tools.executorch_version, tools.compiler_version, tools.flags)
    digest.update(json.dumps(identity).encode())
    files = (path for folder in _FOLDERS for path in (firmware / folder).iterdir())
    for path in sorted(path for path in files if path.suffix in _SUFFIXES):
        name = path.relative_to(firmware)
        content = (native if native and name == _NATIVE_KERNEL else path).read_bytes()
        digest.update(json.dumps([name.as_posix(), len(content)]).encode())
        digest.update(content)
    return digest.hexdigest()


def _configure(
    folder: Path, root: Path, native: Path | None, tools: _Tools, firmware_hash: str, say: Progress
) -> None:
    """Run CMake if its arguments changed; start afresh if those did that it would not notice."""
    firmware = root / "firmware"
    fixed = [
        f"-S{firmware / 'ports' / 'host'}",
        f"-B{folder / 'work'}",
        "-GNinja",
        f"-DCMAKE_MAKE_PROGRAM={tools.ninja}",
        f"-DCMAKE_CXX_COMPILER={tools.compiler}",
        f"-DCMAKE_CXX_FLAGS={tools.flags}",
        f"-DCMAKE_PREFIX_PATH={tools.executorch}",
        f"-DBENCH_NATIVE_KERNEL={native or firmware / _NATIVE_KERNEL}",
    ]
    revision = _output(["git", "-C", str(root), "rev-parse", "HEAD"]) or ""
    stamps = [f"-DBENCH_FIRMWARE_HASH={firmware_hash}", f"-DBENCH_REVISION={revision}"]
    # The compiler's version is here for CMake caches what it once found out about a compiler.
    state = {"fixed": [*fixed, tools.compiler_version], "stamps": stamps}
    state_file = folder / "configured.json"
    try:
        before = json.loads(state_file.read_text())
    except (OSError, ValueError):
        before = {}
    if before == state:
        return
    say("configuring the host firmware")
    state_file.unlink(missing_ok=True)
    fresh = [] if before.get("fixed") == state["fixed"] else ["--fresh"]
    for _ in _run([str(tools.cmake), *fresh, *fixed, *stamps], folder / "configure.log"):
        pass
    state_file.write_text(json.dumps(state))


def _build(folder: Path, tools: _Tools, say: Progress) -> None:
    jobs = str(os.cpu_count() or 1)
    command = [str(tools.ninja), "-C", str(folder / "work"), "-j", jobs]
    for line in _run(command, folder / "build.log"):
        step = re.match(r"\[(\d+)/(\d+)\] (Building|Linking) .*?([^/ ]+)$", line)
        if step:
            say(f"{step[3].lower()} {step[4].removesuffix('.o')} ({step[1]}/{step[2]})")


def _run(command: list[str], log: Path) -> Iterator[str]:
    """Run a command, yield its lines and keep them all in ``log``.

    Raises:
        BenchError: It failed; the message carries its first error.
    """
    error: list[str] = []
    with (
        log.open("w") as record,
        subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        for raw in process.stdout:
            record.write(raw)
            line = raw.rstrip()
            # CMake says where in one line and what in indented ones after it.
            if error and error[0].startswith("CMake Error") and len(error) < 4:
                error += [line.strip()] if line else []
            elif not error and re.search(r"\berror\b|undefined reference", line, re.I):
                error = [line.strip()]
            yield line
    if process.returncode != 0:
        reason = (
            " ".join(error) or f"{Path(command[0]).name} ended with status {process.returncode}"
        )
        raise BenchError(f"the host firmware does not build: {reason} (full log: {log})")


def _publish(built: Path, folder: Path) -> Path:
    """Copy a build's product out of ninja's reach, in one step, if it is new."""
    published = folder / built.name
    if not built.is_file():
        raise BenchError(f"the host firmware's build made no {built.name} (log in {folder})")
    new = built.stat()
    try:
        old = published.stat()
        if (old.st_mtime_ns, old.st_size) == (new.st_mtime_ns, new.st_size):
            return published
    except FileNotFoundError:
        pass
    half = published.with_name(f"{published.name}.new")
    shutil.copy2(built, half)
    os.replace(half, published)
    return published
