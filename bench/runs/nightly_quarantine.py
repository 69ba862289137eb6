"""Quarantine: a board that was lost night after night is only greeted, until it is released.

What is known of it is what earlier nights left in the store; there is no other note.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from bench.store import Store

NIGHTS = 3
"""A board that was lost in so many nights in a row is in quarantine."""

BOARD_GROUP = "board"
"""Group of the results that say of a board itself how a night went: ``board/hung`` and so on."""

# How a board may be lost, and what says nothing of its health, as those results are named.
_SICK = ("hung", "panicked", "lost")
_NO_NIGHT = ("quarantined", "busy")


@dataclass(frozen=True)
class Streak:
    """Nights in a row, up to the last one, in which a board was lost.

    Attributes:
        nights: How many; nights in which it was not run are left out.
        since: Unix seconds when the first of them began.
        state: How it was lost in the last of them.
    """

    nights: int
    since: float
    state: str


def lost_streaks(store: Store) -> dict[str, Streak]:
    """Return the boards that were lost in their last night, by name.

    Nights that were interrupted say nothing of any board.
    """
    states = {
        row[0]: str(row[1]).partition("/")[2]
        for row in store.query("SELECT id, name FROM cases WHERE case_group = ?", (BOARD_GROUP,))
    }
    marks = ", ".join("?" * len(states))
    said: dict[int, int] = {
        row[0]: row[1]
        for row in store.query(
            f"SELECT run_board_id, case_id FROM attempts WHERE case_id IN ({marks})",
            tuple(states),
        )
    }
    streaks: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for row_id, name, started in store.query(
        "SELECT rb.id, rb.name, r.started FROM run_boards rb JOIN runs r ON r.id = rb.run_id"
        " JOIN run_ends e ON e.run_id = r.id"
        " WHERE r.kind = 'nightly' AND e.verdict != 'interrupted' ORDER BY r.id"
    ):
        state = states[said[row_id]] if row_id in said else ""
        if state in _SICK:
            streaks[name].append((started, state))
        elif state not in _NO_NIGHT:
            streaks[name].clear()
    return {
        name: Streak(len(nights), nights[0][0], nights[-1][1])
        for name, nights in streaks.items()
        if nights
    }


def quarantined(store: Store) -> dict[str, str]:
    """Return the boards in quarantine, by name, and why and since when, for people."""
    found = {}
    for name, streak in lost_streaks(store).items():
        if streak.nights >= NIGHTS:
            since = datetime.fromtimestamp(streak.since).strftime("%Y-%m-%d")
            found[name] = (
                f"lost in {streak.nights} nights in a row since {since}, last {streak.state}; "
                f"release it with 'bench nightly --release {name}'"
            )
    return found
