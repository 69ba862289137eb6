"""One board's night: every case, then every timing, and how the board came through."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from bench.errors import BenchError
from bench.lab.board import Board
from bench.lab.boards import BoardType, board_types
from bench.lab.locks import BoardBusy
from bench.link import PortBusy
from bench.runs.effort import device_seconds
from bench.runs.jobs import Job
from bench.runs.nightly_quarantine import BOARD_GROUP
from bench.runs.record import Record
from bench.runs.run import Run
from bench.runs.selection import Selection
from bench.runs.trouble import TroubleKind
from bench.store import CaseResult, LatencyResult

State = Literal["right", "wrong", TroubleKind, "busy", "quarantined"]

Told = Callable[[str, int, int, str], None]
"""Told a board's progress: its name, cases done, cases in all, what runs now."""


@dataclass
class BoardNight:
    """How a board came through.

    Attributes:
        board: The board.
        state: In one word.
        detail: What happened, if it is not right.
        target: What it says it is, else what the inventory says.
        verdict: On all its results: "pass", "fail" or "error".
        lost: Whether it did not get to the end of its cases, or did not even begin.
        virtual: Whether it is no real board.
        started: Unix seconds when its worker began with it.
        finished: Unix seconds when that left it.
        timed_seconds: How long its timings took.
        device_seconds: How long it was at work meanwhile; None if that cannot be told.
        crash: An error of the bench itself.
    """

    board: Board
    state: State = "lost"
    detail: str = ""
    target: str = ""
    verdict: str = "error"
    lost: bool = False
    virtual: bool = False
    started: float = 0.0
    finished: float = 0.0
    timed_seconds: float = 0.0
    device_seconds: float | None = None
    crash: Exception | None = None

    @property
    def name(self) -> str:
        """The board's name."""
        return self.board.name


@dataclass(frozen=True)
class _Plan:
    """What a board of one type runs."""

    jobs: Sequence[Job[CaseResult]]
    timings: Sequence[Job[LatencyResult]]

    @classmethod
    def of(cls, selection: Selection, kind: BoardType) -> _Plan:
        return cls(selection.jobs(kind.placements), selection.latency_jobs(kind.placements))


class BoardWorker:
    """Runs one board's night in a thread of its own."""

    def __init__(
        self,
        board: Board,
        record: Record,
        selection: Selection,
        quarantine: str | None,
    ) -> None:
        """Remember what to do; ``start`` does it.

        Args:
            board: The board, not started.
            record: The night in the store.
            selection: The cases of all boards.
            quarantine: Why it is in quarantine and is only greeted, or None.
        """
        self.night = BoardNight(board)
        self.stopped = False
        self.failure: BenchError | None = None
        # What it is to run depends on what it says it is, which may not be what it should be.
        self._plans = {kind.target: _Plan.of(selection, kind) for kind in board_types().values()}
        self._quarantine = quarantine
        self._told: Told = lambda name, done, total, what: None
        self._run = Run(board.type.target, board=board, record=record)
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._work, name=board.name, daemon=True)

    def start(self, told: Told) -> None:
        """Begin; ``told`` is told the progress, from the worker's thread."""
        self._told = told
        self._thread.start()

    def join(self, timeout: float) -> bool:
        """Wait for the end, if it was ever started; False if that has not come in time."""
        # Not the thread's own join: an interrupt in that makes Python 3.11 take it for ended.
        return self._thread.ident is None or self._ended.wait(timeout)

    def stop(self) -> None:
        """End after the case under way; a board that is down by then is left down."""
        self.stopped = True
        self._run.session.patient = False

    def _work(self) -> None:
        night = self.night
        night.started, night.target = time.time(), night.board.type.target
        try:
            self._greet_and_run()
        except BenchError as error:
            # What a board does wrong is a result: this is the store, for all boards.
            self.failure = error
        except Exception as error:  # the others go on; the command shows it in the end
            night.state, night.detail, night.crash = "lost", f"the bench failed: {error!r}", error
            night.lost = True
        finally:
            night.virtual, night.verdict = self._run.virtual, self._run.verdict
            night.finished = time.time()
            self._ended.set()

    def _greet_and_run(self) -> None:
        run = self._run
        try:
            run.__enter__()
        except BenchError as error:
            self._unanswered(error)
            return
        self.night.target = run.session.link.hello.target
        try:
            if self._quarantine is not None:
                self._note("quarantined", f"{self._quarantine}; tonight it answers hello")
            else:
                self._run_jobs()
                self._sum_up()
        finally:
            run.__exit__(None, None, None)

    def _unanswered(self, error: BenchError) -> None:
        self._run.keep_unanswered()
        trouble = self._run.session.why_unanswered(error)
        if self._quarantine is not None:
            self._note("quarantined", f"{self._quarantine}; tonight: {trouble.text}")
        elif isinstance(error, BoardBusy | PortBusy):
            self._note("busy", str(error))
        else:
            self._note(trouble.kind, f"never answered: {trouble.text}")

    def _run_jobs(self) -> None:
        run = self._run
        own = self.night.board.type.target
        plan = self._plans.get(self.night.target, self._plans[own])
        jobs, timings = plan.jobs, plan.timings
        total = len(jobs) + len(timings)
        last = ""
        for done, job in enumerate(jobs):
            if self.stopped:
                return
            self._told(self.night.name, done, total, job.name)
            last = job.name if run.lost is None else last
            run.check(job)
        started = time.monotonic()
        for done, timing in enumerate(timings, len(jobs)):
            # What a lost board's timings would be is nothing to note one by one.
            if self.stopped or run.lost is not None:
                break
            self._told(self.night.name, done, total, timing.name)
            last = timing.name
            run.measure(timing)
        if run.timings and run.lost is None:
            self.night.timed_seconds = time.monotonic() - started
            self.night.device_seconds = device_seconds(run.timings, run.session.link.hello)
        self._told(self.night.name, total, total, "")
        if run.lost is not None:
            troubles = run.session.troubles
            kind, text = (troubles[-1].kind, troubles[-1].text) if troubles else ("lost", "")
            self._note(kind, f"lost at {last}: {text or run.lost}")

    def _sum_up(self) -> None:
        run, night = self._run, self.night
        if run.lost is not None:
            return
        troubles = run.session.troubles
        if run.verdict == "pass":
            night.state = "right"
            if troubles:
                times = "once" if len(troubles) == 1 else f"{len(troubles)} times"
                night.detail = f"went down {times} and came back: {troubles[-1].text}"
        elif troubles:
            night.state, night.detail = troubles[-1].kind, f"came back after: {troubles[-1].text}"
        else:
            night.state = "wrong"
            verdicts = [r.verdict for r in run.results] + [r.verdict for r in run.timings]
            if all(verdict == "not-run" for verdict in verdicts):
                night.detail = "nothing was compared: none of these cases can run on it"

    def _note(self, state: State, detail: str) -> None:
        """Give the board its state, in the store too: what it did not run has no other result."""
        self.night.state, self.night.detail, self.night.lost = state, detail, True
        self._run.store.add_result(
            self._run.row,
            CaseResult(
                name=f"{BOARD_GROUP}/{state}",
                level="kernel",
                group=BOARD_GROUP,
                reference="hello",
                verdict="error",
                detail=detail,
            ),
        )
