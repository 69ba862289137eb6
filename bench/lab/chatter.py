"""esptool's messages, caught instead of printed.

esptool has one logger a process. While anybody catches, ours stands in for it and gives each
message to whoever catches in the same thread; those of other threads go to the logger before it.
"""

from __future__ import annotations

import contextvars
import functools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

_current: contextvars.ContextVar[Chatter | None] = contextvars.ContextVar("chatter", default=None)
_lock = threading.Lock()
_catching = 0


class Chatter:
    """What esptool said."""

    def __init__(self, progress: Callable[[str], None] | None) -> None:
        """Catch messages; ``progress`` gets the label of each step of a progress bar."""
        self._parts: list[str] = []
        self._progress = progress

    @property
    def text(self) -> str:
        """All messages."""
        return "".join(self._parts)

    def say(self, text: str) -> None:
        """Take a message."""
        self._parts.append(text)

    def step(self, label: str) -> None:
        """Take a step of a progress bar."""
        if self._progress is not None:
            self._progress(label)


@contextmanager
def captured(progress: Callable[[str], None] | None = None) -> Iterator[Chatter]:
    """Catch what esptool says in this thread."""
    global _catching
    from esptool.logger import EspLog

    with _lock:
        if _catching == 0:
            EspLog.set_logger(_logger_class()(EspLog.instance))
        _catching += 1
    chatter = Chatter(progress)
    token = _current.set(chatter)
    try:
        yield chatter
    finally:
        _current.reset(token)
        with _lock:
            _catching -= 1
            if _catching == 0:
                EspLog.instance = EspLog.instance.before


@functools.cache
def _logger_class() -> Callable[[Any], Any]:
    # Made late: importing esptool takes a moment.
    from esptool.logger import EspLogBase

    class Logger(EspLogBase):  # type: ignore[misc]
        def __init__(self, before: Any) -> None:
            self.before = before

        def _take(self, method: str, args: tuple[Any, ...], options: dict[str, Any]) -> None:
            chatter = _current.get()
            if chatter is None:
                getattr(self.before, method)(*args, **options)
            else:
                text = " ".join(str(argument) for argument in args)
                chatter.say(text + str(options.get("end", "\n")))

        def print(self, *args: Any, **options: Any) -> None:
            self._take("print", args, options)

        def err(self, *args: Any, **options: Any) -> None:
            self._take("err", args, options)

        def warn(self, *args: Any, **options: Any) -> None:
            self._take("warn", args, options)

        def note(self, *args: Any) -> None:
            self._take("note", args, {})

        def hint(self, *args: Any) -> None:
            self._take("hint", args, {})

        def debug(self, *args: Any) -> None:
            self._take("debug", args, {})

        def set_verbosity(self, mode: Any) -> None:
            self.before.set_verbosity(mode)

        def progress_bar(self, *args: Any, prefix: str = "", **options: Any) -> None:
            chatter = _current.get()
            if chatter is None:
                self.before.progress_bar(*args, prefix=prefix, **options)
            else:
                chatter.step(prefix)

    return Logger
