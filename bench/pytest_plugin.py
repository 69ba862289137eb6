"""pytest on boards: ``--target`` and the fixtures that run cases.

``--target`` and ``--port`` are pytest-embedded's own options; without ``--target`` the target is
the virtual board.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from bench.errors import BenchError

if TYPE_CHECKING:
    from bench.runs.jobs import Job
    from bench.runs.run import Run

_FIXTURE = "bench_run"


def _target(config: pytest.Config) -> str:
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


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse to start without a board, if a collected test needs one."""
    if not any(_FIXTURE in getattr(item, "fixturenames", ()) for item in items):
        return
    from bench.lab.boards import board_type
    from bench.lab.find import find_port

    try:
        kind = board_type(_target(config))
        if not kind.virtual:
            find_port(kind, config.getoption("port", None))
    except BenchError as error:
        raise pytest.UsageError(str(error)) from error


@pytest.fixture(scope="session")
def bench_run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """A run on a started board of ``--target``; its results also go to results/."""
    from bench.runs.run import Run

    config = request.config
    try:
        run = Run(
            target=_target(config),
            port=config.getoption("port", None),
            native=config.getoption("native"),
        )
    except BenchError as error:
        pytest.exit(f"bench: error: {error}", returncode=2)
    with run:
        yield run


@pytest.fixture
def bench_check(
    bench_run: Run, record_property: Callable[[str, object], None]
) -> Callable[[Job], None]:
    """Run one job and assert that every verdict is a pass."""

    def check(job: Job) -> None:
        results = bench_run.check(job)
        for result in results:
            record_property(
                f"{result.variant or result.route} against {result.reference}",
                f"{result.verdict}, max {result.max_abs_diff} LSB, {result.mismatches} differ",
            )
        bad = [r for r in results if r.verdict != "pass"]
        if bad:
            lines = [
                f"{r.name} ({r.variant or r.route} against {r.reference}): {r.verdict}: {r.detail}"
                for r in bad
            ]
            pytest.fail("\n".join(lines), pytrace=False)

    return check
