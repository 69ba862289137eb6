"""What this machine last wrote to which board.

A board tells the hash of its application's ELF file, nothing of its bootloader, its partition table
or how the image was made. So a build with the same application, but other files than were written
last, is flashed again, and so is a board that was left half written. A board that runs another
application than was written last was flashed by somebody else since, and is believed.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from bench.errors import BenchError
from bench.lab.image import BuildFolder

_HALF_WRITTEN = "half written"


class LastFlashed:
    """What was written last to one board; shared by all users of this machine."""

    def __init__(self, board_id: str) -> None:
        """Name the board by its MAC."""
        self._folder = Path(tempfile.gettempdir()) / "esp-nn-bench-flashed"
        self._note = self._folder / hashlib.sha256(board_id.lower().encode()).hexdigest()[:24]

    def is_other(self, build: BuildFolder) -> bool:
        """Tell whether a board that runs ``build``'s application is known to lack the rest."""
        try:
            note = self._note.read_text()
        except OSError:
            return False
        if note == _HALF_WRITTEN:
            return True
        elf_hash, _, digest = note.partition(" ")
        return elf_hash == build.elf_hash and digest != build.digest

    def begin(self) -> None:
        """Note that the board is half written, which it is until :meth:`end`.

        Raises:
            BenchError: The note cannot be written.
        """
        self._write(_HALF_WRITTEN)

    def end(self, build: BuildFolder) -> None:
        """Note that all of ``build`` was written and verified; raises as :meth:`begin`."""
        self._write(f"{build.elf_hash} {build.digest}")

    def _write(self, note: str) -> None:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            if self._folder.stat().st_uid == os.getuid():
                self._folder.chmod(0o777)
            self._note.unlink(missing_ok=True)  # it may be another user's
            self._note.write_text(note)
        except OSError as error:
            raise BenchError(
                f"cannot note in {self._folder} what is flashed ({error.strerror}): make that "
                "folder writable"
            ) from error
