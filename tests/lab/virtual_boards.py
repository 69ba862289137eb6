"""What the tests of virtual boards share beside their fixtures."""

from __future__ import annotations

import hashlib
import shutil
import socket
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

from bench.lab import rfc2217
from bench.lab.image import BuildFolder
from bench.lab.virtual_s3 import VirtualS3


def fill(flash_file: Path, build: BuildFolder) -> None:
    """Write a build's files to where they belong in a flash file of 4 MB."""
    content = bytearray(b"\xff" * 0x400000)
    for offset, path in build.files:
        data = path.read_bytes()
        content[offset : offset + len(data)] = data
    flash_file.write_bytes(content)


def with_one_byte_changed(build: BuildFolder, name: str, folder: Path) -> BuildFolder:
    """Return a copy of a build with another byte in an image, which is whole all the same."""
    copy = Path(shutil.copytree(build.folder, folder))
    image = bytearray((copy / name).read_bytes())
    image[0x1000] ^= 0x01  # in the data of a segment
    image[-33] ^= 0x01  # XOR of all that data
    image[-32:] = hashlib.sha256(image[:-32]).digest()
    (copy / name).write_bytes(image)
    return BuildFolder.read(copy)


def banner(board: VirtualS3, build: BuildFolder) -> bytes:
    return f"application {build.elf_hash} {board.mac} esp32s3\r\n".encode()


def read_until(port: rfc2217.Serial, text: bytes) -> bytes:
    """Return what the port sends up to and with ``text``."""
    port.timeout = 10
    data = b""
    while text not in data:
        more = port.read(1)
        assert more, f"{text!r} did not come after {data!r}"
        data += more + port.read(port.in_waiting)
    return data


def is_free(board: VirtualS3) -> bool:
    """Tell whether the board's port takes a client."""
    with socket.create_connection(("127.0.0.1", board.port), timeout=5) as client:
        client.settimeout(5)
        return client.recv(1) == b"\xff"  # a telnet command; an occupied port closes instead


def answers_as_loader(board: VirtualS3) -> bool:
    """Tell whether the board's serial loader runs: only that answers SYNC."""
    sync = b"\xc0\x00\x08\x24\x00\x00\x00\x00\x00\x07\x07\x12\x20" + b"\x55" * 32 + b"\xc0"
    with rfc2217.Serial(board.url, timeout=0.5) as port:
        port.write(sync)
        return port.read(3) == b"\xc0\x01\x08"


@dataclass
class Finished:
    """A program that ended."""

    status: int
    output: str


class StockEsptool:
    """Unmodified esptool writes a build to a board: started early, since it takes half a minute."""

    def __init__(self, folder: Path, application: Path, build: BuildFolder) -> None:
        self.events: list[str] = []
        self.board = VirtualS3(folder / "flash.bin", runner=application, note=self.events.append)
        self.board.start()
        self.flash_file = folder / "flash.bin"
        arguments = [part for offset, path in build.files for part in (hex(offset), str(path))]
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "esptool", "--chip", "esp32s3", "--port", self.board.url),
                *("write-flash", *arguments),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self._output = ""
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        self._output, _ = self._process.communicate()

    def finish(self) -> Finished:
        self._reader.join()
        return Finished(self._process.returncode, self._output)

    def close(self) -> None:
        self._process.kill()
        self._reader.join()
        self.board.close()
