"""The ``bench`` command as a process, and what it left."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Outcome:
    status: int
    stdout: str
    stderr: str

    @property
    def report(self) -> dict[str, Any]:
        """The one JSON object on standard output."""
        return json.loads(self.stdout)

    def refusal(self) -> str:
        """The one line that a user sees of a usage or environment error."""
        assert self.status == 2, (self.status, self.stdout, self.stderr)
        assert "Traceback" not in self.stdout + self.stderr
        errors = [line for line in self.stderr.splitlines() if line.startswith("bench: error:")]
        assert len(errors) == 1, self.stderr
        return errors[0]


BenchCommand = Callable[..., Outcome]
