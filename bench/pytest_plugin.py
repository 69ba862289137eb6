"""pytest on boards: ``--target`` and the fixtures that run cases.

``--target``, ``--port`` and all else about boards are pytest-embedded's own options; without
``--target`` the target is the virtual board. Nothing here acts on tests that do not use the
fixtures below.
"""

from __future__ import annotations

import contextlib
import os
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest

from bench.errors import BenchError
from bench.paths import project_root

if TYPE_CHECKING:
    from bench.lab.boards import BoardType
    from bench.lab.embedded_board import EmbeddedBoard
    from bench.runs.jobs import Job
    from bench.runs.run import Run
    from bench.store import CaseResult

_FIXTURE = "bench_run"
# Among the keywords of a test, and so of its reports, also from another process.
_ON_BOARD = "bench-on-real-board"
_USAGE = "usage error"
_RAN = ("passed", "failed", "error", "xfailed", "xpassed", "rerun")
# What was done to the boards of this process, and in a worker's output for the controller.
_FLASHING = "bench-flashing"
_flashing = pytest.StashKey[list[str]]()


class BenchWarning(UserWarning):
    """What a session should not pass over although its tests pass."""


def target_of(config: pytest.Config) -> str:
    """Return the kind of board the tests run on."""
    return str(config.getoption("target") or "host")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add what pytest-embedded does not have."""
    group = parser.getgroup("esp-nn-bench")
    group.addoption(
        "--native",
        type=Path,
        metavar="FILE",
        help="C++ file to build in place of the native kernel (virtual board only)",
    )
    group.addoption(
        "--results",
        type=Path,
        metavar="FOLDER",
        help="Folder of the store [default: results/]",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Let ``--target`` alone mean this project's cases: its other tests need no board."""
    if not config.getoption("target"):
        return
    nothing_named = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    ours = project_root() / "tests" / "device"
    if nothing_named and config.rootpath == project_root():
        config.args = [str(ours)]
    if _worker(config) is None and _workers(config) > 1:
        # Of other tests only the workers know, seconds later, whether they need a board.
        named = [config.invocation_params.dir / arg.partition("::")[0] for arg in config.args]
        if all(path.resolve().is_relative_to(ours) for path in named):
            _refuse_without_boards(config)


def _refuse_without_boards(config: pytest.Config) -> None:
    from bench.lab.boards import board_type

    try:
        kind = board_type(target_of(config))
        if not kind.virtual:
            _ports(config, kind)
    except BenchError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(
    session: pytest.Session, config: pytest.Config, items: list[pytest.Item]
) -> None:
    """Refuse to start without a board, if a collected test needs one."""
    ours = [item for item in items if _FIXTURE in getattr(item, "fixturenames", ())]
    if not ours:
        return
    from bench.lab.boards import board_type

    try:
        kind = board_type(target_of(config))
        if kind.virtual:
            return
        ports = _ports(config, kind)
    except BenchError as error:
        if hasattr(config, "workerinput"):
            _stop(session, error, _USAGE)
        raise pytest.UsageError(str(error)) from error
    port, other = config.getoption("port"), os.environ.get("ESPPORT")
    # pytest-embedded by itself would take the other one. Each worker would say so.
    if port and other and port != other and _worker(config) in (None, "gw0"):
        config.issue_config_time_warning(
            BenchWarning(f"ESPPORT={other} is set, too; --port {port} is used"), stacklevel=2
        )
    workers = _workers(config)
    if workers < len(ports):
        config.issue_config_time_warning(
            BenchWarning(
                f"{workers} of {len(ports)} boards is used, the first that is free: give "
                f"-n {len(ports)} to use them all"
            ),
            stacklevel=2,
        )
    for item in ours:
        item.keywords[_ON_BOARD] = True
    if len(ports) > 1:
        # pytest-embedded's own fixtures refuse several ports without it.
        config.option.count = len(ports)


def _worker(config: pytest.Config) -> str | None:
    """Return the name of this worker of xdist, None in any other process."""
    name = getattr(config, "workerinput", {}).get("workerid")
    return None if name is None else str(name)


def _workers(config: pytest.Config) -> int:
    """Return how many processes share the boards."""
    if count := os.environ.get("PYTEST_XDIST_WORKER_COUNT"):
        return int(count)
    return len(getattr(config.option, "tx", None) or ()) or 1


def _ports(config: pytest.Config, kind: BoardType) -> list[str]:
    """Return where the boards are: as told, or as many as ``--count`` says of those found."""
    from bench.lab.find import find_port
    from bench.lab.locks import BoardLock
    from bench.lab.ports import find_ports

    count: int = config.getoption("count")
    found = [port.device for port in find_ports()]
    if config.getoption("port") is None and "ESPPORT" not in os.environ and len(found) >= count > 1:
        ports = found[:count]
    else:
        ports = find_port(kind, config.getoption("port")).split("|")
    if len({BoardLock(port).identity for port in ports}) < len(ports):
        raise BenchError(f"--port {'|'.join(ports)}: one board is there twice: give each once")
    workers = _workers(config)
    if workers > len(ports):
        raise BenchError(
            f"{workers} workers, but boards at {', '.join(ports)} only: give -n {len(ports)}, or "
            "more URLs with --port 'URL|URL'"
        )
    if count not in (1, len(ports)):
        raise BenchError(f"--count {count}, but {len(ports)} boards in --port: leave out --count")
    return ports


def placements_of(config: pytest.Config) -> Mapping[str, bool]:
    """Return the memories of the kind of board the tests run on, for kernel cases.

    An unknown kind has none; it is refused when the tests that need it are collected.
    """
    from bench.lab.boards import board_type

    try:
        return board_type(target_of(config)).placements
    except BenchError:
        return {}


def _stop(session: pytest.Session, error: BenchError, kind: str = "error") -> NoReturn:
    """End the session with one line and status 2."""
    line = f"bench: {kind}: {error}"
    if hasattr(session.config, "workerinput"):
        # xdist takes a worker's status 2 for Ctrl-C and starts another; this stops them all.
        session.shouldstop = line
        pytest.exit(line, returncode=1)
    pytest.exit(line, returncode=2)


@pytest.fixture(scope="session")
def bench_run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """A run on a started board of ``--target``; its results also go to the store.

    A real board is opened by pytest-embedded's services, by default ``esp,idf``, and flashed if it
    does not run the application of ``--app-path`` and ``--build-dir`` yet. Of several boards
    (``--port 'URL|URL'``) each worker of ``pytest -n`` takes one.
    """
    from bench.lab.boards import board_type
    from bench.runs.run import Run

    config = request.config
    with contextlib.ExitStack() as entered:
        try:
            kind = board_type(target_of(config))
            board = None if kind.virtual else _embedded_board(request, kind)
            run = entered.enter_context(
                Run(
                    target=kind.target,
                    port=config.getoption("port"),
                    board=board,
                    native=config.getoption("native"),
                    results=config.getoption("results"),
                )
            )
        except BenchError as error:
            _stop(request.session, error)
        if board is not None:
            _told_of_flashing(config).append(board.flashing)
        for what in getattr(run.board, "retries", ()):
            warnings.warn(BenchWarning(f"while {run.board.name} was flashed, {what}"), stacklevel=1)
        yield run


def _told_of_flashing(config: pytest.Config) -> list[str]:
    """Return the list of what was done to boards, of which a worker's goes to the controller."""
    if hasattr(config, "workeroutput"):
        told: list[str] = config.workeroutput.setdefault(_FLASHING, [])
        return told
    return config.stash.setdefault(_flashing, [])


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Take what a worker of xdist did to its board."""
    # A worker that crashed has no output.
    output = getattr(node, "workeroutput", None) or {}
    _told_of_flashing(node.config).extend(output.get(_FLASHING, ()))


def _embedded_board(request: pytest.FixtureRequest, kind: BoardType) -> EmbeddedBoard:
    from pytest_embedded.plugin import parse_multi_dut_args
    from pytest_embedded.utils import Meta

    from bench.lab.embedded_board import EmbeddedBoard, Surroundings

    config = request.config

    def option(name: str, index: int) -> Any:
        count = config.getoption("count")
        value = parse_multi_dut_args(count, config.getoption(name, None))
        return value[index] if count > 1 else value

    return EmbeddedBoard(
        kind,
        _ports(config, kind),
        Surroundings(
            option=option,
            queues=request.getfixturevalue("_mp_manager"),
            stdout_lock=request.getfixturevalue("_stdout_lock"),
            meta=Meta(
                str(Path(request.getfixturevalue("session_tempdir"), "bench")),
                request.getfixturevalue("port_target_cache"),
                request.getfixturevalue("port_app_cache"),
                config.getoption("logfile_extension"),
            ),
        ),
    )


@pytest.fixture
def bench_dut(bench_run: Run) -> Any:
    """pytest-embedded's dut of the board; ``bench_dut.expect`` and the link share its port."""
    dut = getattr(bench_run.board, "dut", None)
    if dut is None:
        pytest.fail("bench_dut needs a real board: give --target esp32s3", pytrace=False)
    return dut


@pytest.fixture
def bench_check(
    bench_run: Run, record_property: Callable[[str, object], None]
) -> Callable[[Job[CaseResult]], None]:
    """Run one job and assert that every verdict is a pass.

    What the board's firmware cannot run is skipped, with the reason.
    """

    def check(job: Job[CaseResult]) -> None:
        before = len(bench_run.results)
        results = bench_run.check(job)
        for earlier in bench_run.results[before : -len(results)]:
            record_property(f"attempt {earlier.attempt}", f"{earlier.verdict}: {earlier.detail}")
            warnings.warn(BenchWarning(f"{job.name} was run again: {earlier.detail}"), stacklevel=1)
        for result in results:
            who = f"{result.variant or result.route} against {result.reference}"
            record_property(
                who,
                f"{result.verdict}, max {result.max_abs_diff} LSB, {result.mismatches} differ",
            )
            if result.ticks is not None:
                record_property(f"{who}, {bench_run.clock}", result.ticks)
        if bench_run.lost is None and all(r.verdict == "not-run" for r in results):
            pytest.skip(f"not runnable: {results[0].detail}")
        bad = [r for r in results if r.verdict != "pass"]
        if bad:
            lines = [
                f"{r.name} ({r.variant or r.route} against {r.reference}): {r.verdict}: {r.detail}"
                for r in bad
            ]
            pytest.fail("\n".join(lines), pytrace=False)

    return check


def _all_skipped(config: pytest.Config) -> bool:
    """Tell whether tests of a real board were chosen, and every one was skipped."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None or hasattr(config, "workerinput"):
        return False

    def any_of(*categories: str) -> bool:
        return any(
            _ON_BOARD in getattr(report, "keywords", ())
            for category in categories
            for report in reporter.stats.get(category, ())
        )

    return any_of("skipped") and not any_of(*_RAN)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session, exitstatus: int) -> None:
    """Fail a session that tested nothing on its board."""
    if exitstatus == pytest.ExitCode.OK and _all_skipped(session.config):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED
    # xdist ends with the status of Ctrl-C when a worker stops the session.
    workers = session.config.pluginmanager.get_plugin("dsession")
    if str(getattr(workers, "shouldstop", "")).startswith(f"bench: {_USAGE}:"):
        session.exitstatus = pytest.ExitCode.USAGE_ERROR


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Say what was flashed, and why a session fails that tested nothing."""
    for line in _told_of_flashing(config):
        terminalreporter.write_line(f"bench: {line}")
    if _all_skipped(config):
        terminalreporter.write_line(
            "bench: error: every test for the board was skipped, so nothing was tested", red=True
        )
