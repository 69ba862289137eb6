"""What esptool does over again without a word to its caller."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bench.lab.chatter import captured

LOST = "the connection was lost while writing; connected again and rewrote"
UNACKNOWLEDGED = "a block was not acknowledged and was sent again"


def lost_connection(said: str) -> bool:
    """Tell whether esptool's messages speak of a connection that it opened again."""
    return "Lost connection, retrying" in said


def repeats_block(trace: str) -> bool:
    """Tell whether a line of esptool's trace speaks of a block that it sends again."""
    return "retrying with" in trace


@contextmanager
def noted_retries(retries: list[str]) -> Iterator[None]:
    """Note what is repeated while somebody else calls esptool; its messages are logged.

    The loader object of the writing is made within esptool, so its class is listened to: one
    flashing at a time in a process.
    """
    from esptool.loader import ESPLoader

    traced = ESPLoader.trace

    def trace(self: Any, message: str, newline: bool = False) -> None:
        if repeats_block(message):
            retries.append(UNACKNOWLEDGED)
        traced(self, message, newline)

    ESPLoader.trace = trace
    try:
        with captured() as chatter:
            try:
                yield
            finally:
                logging.info("esptool: %s", chatter.text)
    finally:
        ESPLoader.trace = traced
    if lost_connection(chatter.text):
        retries.append(LOST)
