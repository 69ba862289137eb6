"""The board's flash: 4 MB of NOR in a file, so that it outlives the process."""

from __future__ import annotations

import fcntl
import hashlib
import os
from pathlib import Path

from bench.errors import BenchError

SECTOR = 0x1000


class FlashMemory:
    """Flash cells backed by a file; every change is in the file at once.

    As in NOR flash, erasing sets bits and writing clears them: writing without erasing spoils data.
    """

    SIZE = 4 * 1024 * 1024

    def __init__(self, path: Path) -> None:
        """Open or create the file; a new one is erased.

        Raises:
            BenchError: It cannot be used, has another size, or is another virtual board's.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as error:
            raise BenchError(
                f"cannot use {path} as flash ({error.strerror}): give a writable --flash-file"
            ) from error
        try:
            self._take(path)
        except BaseException:
            os.close(self._fd)
            raise

    def _take(self, path: Path) -> None:
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise BenchError(
                f"{path} is the flash of another running virtual board: give another --flash-file"
            ) from error
        size = os.fstat(self._fd).st_size
        if size not in (0, self.SIZE):
            raise BenchError(f"{path} has {size} bytes, not the {self.SIZE} of a flash: remove it")
        self._cells = bytearray(os.pread(self._fd, self.SIZE, 0)) or bytearray(b"\xff" * self.SIZE)
        if size == 0:
            os.pwrite(self._fd, self._cells, 0)

    def read(self, offset: int, size: int) -> bytes:
        """Return ``size`` bytes; outside of the flash they read as 0xFF."""
        return bytes(self._cells[offset : offset + size]).ljust(size, b"\xff")

    def erase(self, offset: int, size: int) -> None:
        """Erase all sectors that the range touches."""
        if size == 0:
            return
        start = offset - offset % SECTOR
        end = min(self.SIZE, -(-(offset + size) // SECTOR) * SECTOR)
        self._store(start, b"\xff" * (end - start))

    def write(self, offset: int, data: bytes) -> bool:
        """Clear the bits that are clear in ``data``; False if it does not fit."""
        if offset + len(data) > self.SIZE:
            return False
        old = int.from_bytes(self._cells[offset : offset + len(data)], "little")
        new = old & int.from_bytes(data, "little")
        self._store(offset, new.to_bytes(len(data), "little"))
        return True

    def md5(self, offset: int, size: int) -> bytes:
        """Return the digest of a range."""
        return hashlib.md5(self.read(offset, size)).digest()

    def close(self) -> None:
        """Give the file free."""
        os.close(self._fd)

    def _store(self, offset: int, data: bytes) -> None:
        self._cells[offset : offset + len(data)] = data
        os.pwrite(self._fd, data, offset)
