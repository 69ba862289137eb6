"""One run in the store, of one board or of several side by side."""

from __future__ import annotations

import platform
import sys
import threading
from importlib import metadata
from pathlib import Path

from bench.paths import project_root
from bench.store import RunId, Store
from bench.store.records import RunKind

_PACKAGES = ("esp-nn-bench", "torch", "executorch", "torchao", "numpy", "pyserial")


def results_folder() -> Path:
    """Return where runs write unless told otherwise."""
    return project_root() / "results"


def _host() -> dict[str, object]:
    return {
        "machine": platform.machine(),
        "node": platform.node(),
        "system": platform.platform(),
        "python": platform.python_version(),
        "argv": sys.argv,
        "packages": {name: metadata.version(name) for name in _PACKAGES},
    }


class Record:
    """A run's row in an open store; made by the first board that answers, so never without one."""

    def __init__(self, kind: RunKind, folder: Path | None = None) -> None:
        """Open the store.

        Args:
            kind: What is run.
            folder: Where the store is, by default ``results_folder()``.

        Raises:
            BenchError: The store cannot be written.
        """
        self.store = Store.open(folder or results_folder())
        self._kind = kind
        self._run: RunId | None = None
        self._begin = threading.Lock()

    @property
    def run(self) -> RunId:
        """The run's number; begins it."""
        with self._begin:
            if self._run is None:
                self._run = self.store.begin_run(self._kind, _host())
            return self._run

    def finish(self, verdict: str) -> None:
        """Note the verdict, if the run ever began, and close the store."""
        try:
            if self._run is not None:
                self.store.finish_run(self._run, verdict)
        finally:
            self.store.close()
