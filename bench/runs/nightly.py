"""A night: several boards side by side in one run of the store."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from bench.lab.board import Board
from bench.runs.nightly_board import BoardWorker, Told
from bench.runs.nightly_known_bad import KnownBad
from bench.runs.nightly_quarantine import quarantined
from bench.runs.nightly_report import NightReport, report_night
from bench.runs.record import Record
from bench.runs.selection import Selection

# How often the main thread looks up, so that an interrupt is seen soon.
_LOOK_UP = 0.2


class Night:
    """Every case, then every timing, on each board; one worker a board."""

    def __init__(
        self,
        boards: Sequence[Board],
        selection: Selection,
        *,
        release: Collection[str] = (),
        results: Path | None = None,
    ) -> None:
        """Open the store and make the workers.

        Args:
            boards: The boards, none of them started; their names differ.
            selection: What to run.
            release: Names of boards that are run even if they are in quarantine.
            results: Folder of the store, by default the project's.

        Raises:
            BenchError: The store cannot be written.
        """
        self._record = Record("nightly", results)
        shut_away = quarantined(self._record.store)
        self._workers = [
            BoardWorker(
                board,
                self._record,
                selection,
                None if board.name in release else shut_away.get(board.name),
            )
            for board in boards
        ]

    @property
    def store(self) -> Path:
        """Where the results are kept."""
        return self._record.store.path

    def run(
        self,
        known_bad: Sequence[KnownBad],
        told: Told = lambda name, done, total, what: None,
        begun: Callable[[], None] = lambda: None,
    ) -> NightReport:
        """Run all boards at once, judge the night and close the store.

        Args:
            known_bad: Cases known to fail.
            told: Told each board's progress, from several threads.
            begun: Called once the workers run.

        Raises:
            BenchError: The store cannot be written any more: that stops the night.
            KeyboardInterrupt: It was interrupted; what it has is kept, and the run noted so.
        """
        verdict = "error"
        try:
            for worker in self._workers:
                worker.start(told)
            begun()
            self._wait()
            nights = [worker.night for worker in self._workers]
            report = report_night(self._record.store, self._record.run, nights, known_bad)
            verdict = report.stored_verdict
            return report
        except KeyboardInterrupt:
            verdict = "interrupted"
            self._stop()
            raise
        finally:
            self._record.finish(verdict)

    def _wait(self) -> None:
        for worker in self._workers:
            while not worker.join(_LOOK_UP):
                if any(other.failure for other in self._workers):
                    self._stop()
        failure = next((worker.failure for worker in self._workers if worker.failure), None)
        if failure is not None:
            raise failure

    def _stop(self) -> None:
        """End all workers, each after what it has under way; a second interrupt cuts that short."""
        for worker in self._workers:
            worker.stop()
        for worker in self._workers:
            while not worker.join(_LOOK_UP):
                pass
