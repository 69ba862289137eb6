"""Boards and cases of the page, each once, by number."""

from __future__ import annotations

import json
from typing import Any

from bench.store.history import CaseId
from bench.store.results import BoardRow, Stored, Timing, case_id


class Index:
    """Numbers things in the order they come, each once."""

    def __init__(self) -> None:
        """Start empty."""
        self.items: list[Any] = []
        self._at: dict[str, int] = {}

    def of(self, key: str, item: Any) -> int:
        """Return the number of `key`, adding `item` if it is new."""
        if key not in self._at:
            self._at[key] = len(self.items)
            self.items.append(item)
        return self._at[key]


class Numbering:
    """The page's boards and cases."""

    def __init__(self) -> None:
        """Start without any."""
        self.boards = Index()
        self.cases = Index()
        self._named_in: dict[int, int] = {}

    def board(self, board: BoardRow) -> int:
        """Return a board's number; its name is the one of its latest run."""
        about = {
            "name": board.name,
            "target": board.target,
            "id": board.board_id,
            "virtual": board.virtual,
        }
        number = self.boards.of(json.dumps(board.key), about)
        if board.run >= self._named_in.get(number, 0):
            self._named_in[number] = board.run
            self.boards.items[number]["name"] = board.name
        return number

    def case(self, row: Stored | Timing) -> int:
        """Return the number of a result's case."""
        return self.case_id(case_id(row.result))

    def case_id(self, case: CaseId) -> int:
        """Return a case's number."""
        item = [case.name, case.group or case.name, case.variant or case.route or "", case.params]
        return self.cases.of(json.dumps([item, case.model]), item)
