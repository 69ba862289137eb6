"""Headless Chromium, driven over its DevTools pipe: no driver, no package."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

from needs import lacks

_FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
]

# Seconds of silence after which a page hangs: in a dialog, or in an endless loop.
_SILENCE = 60


class Browser:
    """One page of one Chromium; notes every console error and every request."""

    def __init__(self, profile: Path) -> None:
        program = shutil.which("chromium") or shutil.which("google-chrome")
        if program is None:
            lacks("no Chromium: on Debian 'apt-get install chromium'")
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._profile = profile
        self._program = program
        self._next = 0
        self._buffer = b""

    def __enter__(self) -> Browser:
        # Chromium reads commands from its descriptor 3 and writes to 4, each ended by a NUL. The
        # pipes' ends are moved out of the way of these two first.
        pipes = [*os.pipe(), *os.pipe()]
        read_end, self._commands, self._answers, write_end = (
            fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in pipes
        )
        for end in pipes:
            os.close(end)

        def connect() -> None:
            os.dup2(read_end, 3)
            os.dup2(write_end, 4)

        self._process = subprocess.Popen(
            [self._program, *_FLAGS, f"--user-data-dir={self._profile}", "about:blank"],
            preexec_fn=connect,
            pass_fds=(3, 4),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(read_end)
        os.close(write_end)
        targets = self._call("Target.getTargets", session=None)["targetInfos"]
        page = next(t["targetId"] for t in targets if t["type"] == "page")
        attached = self._call(
            "Target.attachToTarget", {"targetId": page, "flatten": True}, session=None
        )
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self._call(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(timeout=20)
        os.close(self._commands)
        os.close(self._answers)

    def size(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        mobile = width < 600
        metrics = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile}
        self._call("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", {"features": [scheme]})

    def open(self, path: Path) -> float:
        """Open a file and wait until its script is done; return the seconds that took."""
        self._seen_load = False
        start = time.monotonic()
        self._call("Page.navigate", {"url": path.absolute().as_uri()})
        while not self._seen_load:
            self._take(self._receive())
        return time.monotonic() - start

    def evaluate(self, script: str) -> Any:
        answer = self._call("Runtime.evaluate", {"expression": script, "returnByValue": True})
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def screenshot(self, path: Path) -> None:
        """Picture the whole page."""
        height = self.evaluate("document.documentElement.scrollHeight")
        width = self.evaluate("innerWidth")
        clip = {"x": 0, "y": 0, "width": width, "height": height, "scale": 1}
        picture = self._call(
            "Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True}
        )
        path.write_bytes(base64.b64decode(picture["data"]))

    def _call(
        self, method: str, params: dict[str, Any] | None = None, *, session: str | None = "own"
    ) -> dict[str, Any]:
        self._next += 1
        message: dict[str, Any] = {"id": self._next, "method": method, "params": params or {}}
        if session is not None:
            message["sessionId"] = self._session
        os.write(self._commands, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == self._next:
                assert "error" not in answer, answer
                result: dict[str, Any] = answer["result"]
                return result
            self._take(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._answers], [], [], _SILENCE)
            assert ready, f"Chromium has said nothing for {_SILENCE} s: {self.problems}"
            more = os.read(self._answers, 1 << 20)
            assert more, "Chromium ended"
            self._buffer += more
        message, _, self._buffer = self._buffer.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer

    def _take(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Page.loadEventFired":
            self._seen_load = True
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])
        elif method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"]))
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning"):
            self.problems.append(json.dumps(params["args"]))
        elif method == "Log.entryAdded":
            self.problems.append(params["entry"]["text"])
