"""One run on one board: the open session, the store's record of it, the results so far."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

from bench.errors import BenchError
from bench.lab.board import Board
from bench.lab.boards import BoardType, board_type
from bench.lab.build import HostBuild, build_host
from bench.lab.find import find_board
from bench.lab.host import HostBoard
from bench.link import Hello
from bench.runs.jobs import Job, Result, run_job, verdict
from bench.runs.record import Record
from bench.runs.session import BoardLost, BoardSession
from bench.store import BoardInfo, CaseResult, LatencyResult, RunBoardId, Store
from bench.store.records import RunKind

if TYPE_CHECKING:
    from bench.link.fault_spec import FaultSpec

# A board that every case takes down would cost a deadline, a reset and a second try a case.
_PATIENCE = 3


def _is_virtual(kind: BoardType, hello: Hello | None) -> bool:
    """Tell a virtual board, also one that stands in for a real target: its hello gives it away."""
    return kind.virtual or (
        hello is not None
        and (
            str(hello.board.get("description", "")).startswith("virtual board")
            or hello.clock.get("unit") == "ns"
        )
    )


class Run:
    """A started board plus a store that keeps every attempt as soon as it is made."""

    def __init__(
        self,
        target: str,
        *,
        port: str | None = None,
        board: Board | None = None,
        native: Path | None = None,
        kind: RunKind = "correctness",
        results: Path | None = None,
        record: Record | None = None,
        faults: FaultSpec | None = None,
        say: Callable[[str], None] = lambda line: None,
    ) -> None:
        """Find the board and open the store; entering the context starts the board.

        Args:
            target: Name of a board type.
            port: Serial URL of a board that already runs the firmware.
            board: The board, if it need not be found.
            native: C++ file to build in place of the native kernel (virtual board only).
            kind: What the store notes the run as.
            results: Folder of the store.
            record: The store and the run there, if other boards share it; its owner finishes it.
            faults: Faults to put on the line.
            say: Takes a line for people about long work.

        Raises:
            BenchError: No such board, the firmware does not build, the folder is not writable.
        """
        if native is not None and (port is not None or not board_type(target).virtual):
            raise BenchError(
                "--native builds a kernel for the virtual board: it goes with --target host and "
                "without --port"
            )
        self.results: list[CaseResult] = []
        self.timings: list[LatencyResult] = []
        self.lost: BoardLost | None = None
        self.complaint = ""
        self._native = native
        self._say = say
        self._shared = record is not None
        self.record = record or Record(kind, results)
        if board is None and native is not None:
            # By its own name: its timings are no baseline for the firmware's own kernel.
            board = HostBoard(self.build.runner, f"host, {native.name}")
        self.board = board or find_board(target, port, lambda: self.build)
        self.session = BoardSession(self.board, faults=faults, console=self._console)
        self._hello: Hello | None = None
        self._took_down = 0
        self._board: RunBoardId | None = None
        self._early_console = b""

    @functools.cached_property
    def build(self) -> HostBuild:
        """The host build: the virtual board's runner, and the kernels for the Python runtime."""
        return build_host(self._native, progress=self._say)

    def __enter__(self) -> Run:
        """Start the board and note it in the store.

        Raises:
            BenchError: The board does not start or does not answer.
        """
        self.session.__enter__()
        hello = self._hello = self.session.link.hello
        self._board = self.store.add_board(
            self.record.run,
            BoardInfo(
                name=self.board.name,
                target=hello.target,
                url=self.board.url,
                virtual=self.virtual,
                board_id=hello.board["id"],
                firmware=hello.firmware,
                hello=asdict(hello),
            ),
        )
        self._console(b"")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Write the verdict, leave the board, close the store."""
        try:
            self.session.__exit__(None, None, None)
        finally:
            if not self._shared:
                self.record.finish("interrupted" if error is not None else self.verdict)

    @property
    def store(self) -> Store:
        """The store that keeps the results."""
        return self.record.store

    @property
    def verdict(self) -> str:
        """The verdict on all results and timings so far: "pass", "fail" or "error"."""
        so_far = verdict(self.results, self.timings)
        if self.complaint and so_far == "pass":
            return "fail"
        return "error" if self.lost is not None and so_far == "pass" else so_far

    @property
    def virtual(self) -> bool:
        """Whether the board is none, so that no latency of this run is a board's."""
        return _is_virtual(self.board.type, self._hello)

    @property
    def clock(self) -> str:
        """What a tick of this board is, for people; says so if it is not a board's time."""
        clock: dict[str, object] = self._hello.clock if self._hello else {}
        unit = str(clock.get("unit", "ticks"))
        return f"{unit} (virtual board)" if self.virtual else unit

    def check(self, job: Job[CaseResult]) -> list[CaseResult]:
        """Run one case and keep what it gave; return the last attempt's results.

        After the board was lost nothing is run any more: the case is noted as not run.
        """
        return self._execute(job, self._keep_result)

    def measure(self, job: Job[LatencyResult]) -> list[LatencyResult]:
        """Time one case and keep what it gave; as `check`."""
        return self._execute(job, self.keep_timing)

    def _execute(self, job: Job[Result], keep: Callable[[Result], None]) -> list[Result]:
        if self.lost is not None:
            result = replace(job.failed(str(self.lost), 1), verdict="not-run")
            keep(result)
            return [result]
        made: list[Result] = []
        troubles = len(self.session.troubles)
        try:
            for result in run_job(self.session, job):
                keep(result)
                made.append(result)
        except BoardLost as error:
            self.lost = error
        took_down = len(self.session.troubles) > troubles and made[-1].verdict != "pass"
        self._took_down = self._took_down + 1 if took_down else 0
        if self._took_down == _PATIENCE and self.lost is None:
            self.lost = BoardLost(
                f"{_PATIENCE} cases in a row took board {self.board.name} down; the last one: "
                f"{made[-1].detail}"
            )
        return [r for r in made if r.attempt == made[-1].attempt]

    def _keep_result(self, result: CaseResult) -> None:
        self.results.append(result)
        self.store.add_result(self.row, result)

    def keep_timing(self, result: LatencyResult) -> None:
        """Keep a timing that was made on this run's board."""
        self.timings.append(result)
        self.store.add_latency(self.row, result)

    def keep_unanswered(self) -> None:
        """Note a board that never answered, with what it printed, so that results can be kept."""
        self._board = self.store.add_board(
            self.record.run,
            BoardInfo(
                name=self.board.name,
                target=self.board.type.target,
                url=self.board.url,
                virtual=self.virtual,
                board_id="",
                firmware="",
            ),
        )
        self._console(b"")

    @property
    def row(self) -> RunBoardId:
        """The store's number of this board in this run."""
        assert self._board is not None, "a run keeps results only while it is entered"
        return self._board

    def _console(self, text: bytes) -> None:
        """Keep what the board prints; what came before the store knew the board comes first."""
        self._early_console += text
        if self._board is not None and self._early_console:
            self.store.add_console(self._board, self._early_console)
            self._early_console = b""
