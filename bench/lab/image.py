"""ESP32-S3 images and ESP-IDF build folders: what would be flashed, and is it whole?

An image is 24 bytes of header (magic 0xE9, number of segments, ..., chip id at 12, a flag for the
appended digest at 23), segments of {u32 address, u32 length, data}, zeros up to a checksum byte
that ends a 16-byte row (XOR of all segment data, started with 0xEF), and the SHA-256 of all that.
The application's description sits in front of the first segment's data, and in it, at 0xB0 of the
file, the SHA-256 of the ELF file: the identity that the running firmware reports as its own.
"""

from __future__ import annotations

import functools
import hashlib
import json
import operator
import struct
from dataclasses import dataclass
from pathlib import Path

from bench.errors import BenchError

IMAGE_MAGIC = 0xE9
CHECKSUM_START = 0xEF
CHIP_ID_ESP32S3 = 9
APP_DESCRIPTION_MAGIC = 0xABCD5432
ELF_HASH = slice(0xB0, 0xD0)

BOOTLOADER_OFFSET = 0x0
PARTITION_TABLE_OFFSET = 0x8000
PARTITION_MAGIC = b"\xaa\x50"
PARTITION_TYPE_APP = 0

_CHIP = "esp32s3"
_HEADER = struct.Struct("<BBBBI16s")
_SEGMENT = struct.Struct("<II")
_PARTITION = struct.Struct("<2sBBII16sI")


def checksum(data: bytes, state: int = CHECKSUM_START) -> int:
    """Return the ROM's one-byte checksum: XOR of all bytes, started with 0xEF."""
    return functools.reduce(operator.xor, data, state)


def image_defect(data: bytes) -> str | None:
    """Return None if ``data`` starts with a whole ESP32-S3 image, else what is wrong with it."""
    if len(data) < _HEADER.size or data[0] != IMAGE_MAGIC:
        return f"invalid header: 0x{int.from_bytes(data[:4], 'little'):08x}"
    if int.from_bytes(data[12:14], "little") != CHIP_ID_ESP32S3:
        return f"image is for chip {int.from_bytes(data[12:14], 'little')}"
    state = CHECKSUM_START
    at = _HEADER.size
    for _ in range(data[1]):
        if at + _SEGMENT.size > len(data):
            return "image ends within a segment"
        _, length = _SEGMENT.unpack_from(data, at)
        at += _SEGMENT.size
        if at + length > len(data):
            return "image ends within a segment"
        state = checksum(data[at : at + length], state)
        at += length
    at += 15 - at % 16
    if at >= len(data):
        return "image ends before its checksum"
    if data[at] != state:
        return f"Checksum failed. Calculated 0x{state:x} read 0x{data[at]:x}"
    at += 1
    if data[23] == 1 and hashlib.sha256(data[:at]).digest() != data[at : at + 32]:
        return "Image hash failed - image is corrupt"
    return None


def elf_hash(data: bytes) -> str | None:
    """Return the ELF's SHA-256 (64 hex digits) from an application image, None if it has none."""
    if len(data) < ELF_HASH.stop or data[0] != IMAGE_MAGIC:
        return None
    if int.from_bytes(data[0x20:0x24], "little") != APP_DESCRIPTION_MAGIC:
        return None
    return data[ELF_HASH].hex()


def app_offset(partition_table: bytes) -> int | None:
    """Return where the first application partition starts, None if the table names none."""
    for at in range(0, len(partition_table) - _PARTITION.size + 1, _PARTITION.size):
        magic, kind, _, offset, _, _, _ = _PARTITION.unpack_from(partition_table, at)
        if magic != PARTITION_MAGIC:
            return None
        if kind == PARTITION_TYPE_APP:
            return int(offset)
    return None


@dataclass(frozen=True)
class BuildFolder:
    """What an ESP-IDF build wants flashed.

    Attributes:
        folder: The build folder.
        chip: esptool's name of the chip, for example ``esp32s3``.
        files: (flash offset, file) in the order of the offsets.
        elf_hash: The application's identity, 64 hex digits.
    """

    folder: Path
    chip: str
    files: tuple[tuple[int, Path], ...]
    elf_hash: str

    @classmethod
    def read(cls, folder: Path) -> BuildFolder:
        """Read ``flasher_args.json`` and the application's identity.

        Raises:
            BenchError: The folder is not a finished build, or a file of it is not a whole image.
        """
        listing = folder / "flasher_args.json"
        hint = "build the firmware first (idf.py build) and give its build folder"
        try:
            text = listing.read_text()
        except OSError as error:
            raise BenchError(f"cannot read {listing} ({error.strerror}): {hint}") from error
        try:
            content = json.loads(text)
            chip = str(content["extra_esptool_args"]["chip"])
            names = {int(offset, 0): str(name) for offset, name in content["flash_files"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BenchError(f"{listing} is not one of ESP-IDF's ({error!r}): {hint}") from error
        if chip != _CHIP:
            raise BenchError(f"{folder} is a build for {chip}: run 'idf.py set-target {_CHIP}'")
        files = tuple((offset, folder / names[offset]) for offset in sorted(names))
        return cls(folder, chip, files, _application_hash(files, hint))


def _application_hash(files: tuple[tuple[int, Path], ...], hint: str) -> str:
    found = None
    for _, path in files:
        try:
            data = path.read_bytes()
        except OSError as error:
            raise BenchError(f"cannot read {path} ({error.strerror}): {hint}") from error
        identity = elf_hash(data)
        if identity is None:
            continue
        defect = image_defect(data)
        if defect is not None:
            raise BenchError(f"{path} is damaged ({defect}): {hint}")
        found = identity
    if found is None:
        raise BenchError(f"no application image among {[str(p) for _, p in files]}: {hint}")
    return found
