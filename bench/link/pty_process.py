"""A process at one end of a pty; the other end is a port."""

from __future__ import annotations

import os
import subprocess
import tty


class PtyProcess:
    """Runs a program with a pty as its standard input and output, until ``close``."""

    def __init__(self, command: list[str]) -> None:
        """Start it.

        Raises:
            OSError: It cannot be run.
        """
        process_end, self.anchor = os.openpty()
        try:
            tty.setraw(self.anchor)
            self.url = os.ttyname(self.anchor)
            self._process = subprocess.Popen(command, stdin=process_end, stdout=process_end)
        except BaseException:
            os.close(self.anchor)
            raise
        finally:
            # Only the process holds its end, so that the line closes when it dies.
            os.close(process_end)

    def close(self) -> None:
        """End it and close the line."""
        # Killed first, lest it complains that its line closed.
        self._process.kill()
        self._process.wait()
        os.close(self.anchor)
