"""ESP32-S3 images and ESP-IDF build folders: what would be flashed, and is it whole?

An image is 24 bytes of header (magic 0xE9, number of segments, ..., chip id at 12, a flag for the
appended digest at 23), segments of {u32 address, u32 length, data}, zeros up to a checksum byte
that ends a 16-byte row (XOR of all segment data, started with 0xEF), and the SHA-256 of all that.
The application's description sits in front of the first segment's data, and in it, at 0xB0 of the
file, the SHA-256 of the ELF file: the identity that the running firmware reports as its own.

A partition table is 0xC00 bytes of 32-byte entries {magic 0xAA 0x50, type, subtype, u32 offset,
u32 size, label, u32 flags}, then {0xEB 0xEB, 14 * 0xFF, MD5 of the entries} unless the build leaves
that out, and 0xFF to the end (ESP-IDF Programming Guide, "Partition Tables").
"""

from __future__ import annotations

import functools
import hashlib
import json
import operator
import re
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
PARTITION_TABLE_SIZE = 0xC00

_CHIP = "esp32s3"
# Chip ids of image headers (esp_chip_id_t in ESP-IDF's esp_app_format.h).
_CHIPS = {
    0: "ESP32",
    2: "ESP32-S2",
    5: "ESP32-C3",
    CHIP_ID_ESP32S3: "ESP32-S3",
    12: "ESP32-C2",
    13: "ESP32-C6",
    16: "ESP32-H2",
    18: "ESP32-P4",
    20: "ESP32-C61",
    23: "ESP32-C5",
}
_HEADER = struct.Struct("<BBBBI16s")
_SEGMENT = struct.Struct("<II")
_PARTITION = struct.Struct("<2sBBII16sI")
_PARTITION_MD5 = b"\xeb\xeb" + b"\xff" * 14
_SECTOR = 0x1000  # what flash is erased by
_LARGEST_FLASH = 1 << 27


def checksum(data: bytes, state: int = CHECKSUM_START) -> int:
    """Return the ROM's one-byte checksum: XOR of all bytes, started with 0xEF."""
    return functools.reduce(operator.xor, data, state)


def image_defect(data: bytes) -> str | None:
    """Return None if ``data`` starts with a whole ESP32-S3 image, else what is wrong with it."""
    if len(data) < _HEADER.size or data[0] != IMAGE_MAGIC:
        return f"invalid header: 0x{int.from_bytes(data[:4], 'little'):08x}"
    if _chip_id(data) != CHIP_ID_ESP32S3:
        return f"image is for chip {_chip_id(data)}"
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


def _chip_id(data: bytes) -> int:
    return int.from_bytes(data[12:14], "little")


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


def partition_table_defect(data: bytes) -> str | None:
    """Return None if ``data`` is a partition table with an application, else what is wrong."""
    if len(data) != PARTITION_TABLE_SIZE:
        return f"it has {len(data)} bytes, not {PARTITION_TABLE_SIZE}"
    at = 0
    while data.startswith(PARTITION_MAGIC, at):
        at += _PARTITION.size
    entries = data[:at]
    if data.startswith(_PARTITION_MD5, at):
        if hashlib.md5(entries).digest() != data[at + 16 : at + 32]:
            return "the MD5 of its entries is wrong"
        at += 32
    if data[at:].strip(b"\xff"):
        return f"no partition at 0x{at:x} of it: 0x{data[at : at + 2].hex()}"
    if app_offset(entries) is None:
        return "it names no application partition"
    return None


@dataclass(frozen=True)
class BuildFolder:
    """What an ESP-IDF build wants flashed.

    Attributes:
        folder: The build folder.
        chip: esptool's name of the chip, for example ``esp32s3``.
        files: (flash offset, file) in the order of the offsets.
        elf_hash: The application's identity, 64 hex digits.
        digest: Identity of all that is written: SHA-256 over offsets and files, 64 hex digits.
    """

    folder: Path
    chip: str
    files: tuple[tuple[int, Path], ...]
    elf_hash: str
    digest: str

    @classmethod
    def read(cls, folder: Path) -> BuildFolder:
        """Read ``flasher_args.json`` and the application's identity.

        Raises:
            BenchError: The folder is not a finished build, a file of it is damaged, or the files
                do not fit where they should go.
        """
        listing = folder / "flasher_args.json"
        hint = "build the firmware first (idf.py build) and give its build folder"
        try:
            text = listing.read_bytes()
        except OSError as error:
            raise BenchError(f"cannot read {listing} ({error.strerror}): {hint}") from error
        try:
            content = json.loads(text)
            chip = str(content["extra_esptool_args"]["chip"])
            names = [(int(offset, 0), name) for offset, name in content["flash_files"].items()]
            files = tuple(sorted((offset, folder / name) for offset, name in names))
            settings = content.get("flash_settings", {})
            flash_size = _flash_size(settings.get("flash_size", ""))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise BenchError(f"{listing} is not one of ESP-IDF's ({error!r}): {hint}") from error
        if chip != _CHIP:
            raise BenchError(f"{folder} is a build for {chip}: run 'idf.py set-target {_CHIP}'")
        for offset, path in files:
            if offset < 0 or offset % _SECTOR:
                raise BenchError(
                    f"{listing}: {path.name} cannot be written at {offset:#x}, which is no "
                    f"multiple of {_SECTOR:#x} from 0 on: {hint}"
                )
        contents = tuple((offset, path, _content(path, hint)) for offset, path in files)
        _refuse_collisions(contents, flash_size, hint)
        return cls(folder, chip, files, _application_hash(contents, hint), _digest(contents))


# (flash offset, file, what is in it), in the order of the offsets.
_Contents = tuple[tuple[int, Path, bytes], ...]


def _digest(contents: _Contents) -> str:
    state = hashlib.sha256()
    for offset, _, data in contents:
        state.update(struct.pack("<II", offset, len(data)) + data)
    return state.hexdigest()


def _flash_size(text: str) -> int:
    """Return the bytes of a flash size as ESP-IDF writes it; of the largest for ``detect``."""
    match = re.fullmatch(r"(\d+)MB", text)
    return int(match[1]) << 20 if match else _LARGEST_FLASH


def _content(path: Path, hint: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BenchError(f"cannot read {path} ({error.strerror}): {hint}") from error


def _refuse_collisions(contents: _Contents, flash_size: int, hint: str) -> None:
    end, before = 0, ""
    for offset, path, data in contents:
        if offset < end:
            raise BenchError(
                f"{before} ends at {end:#x}, beyond the start of {path.name} at {offset:#x}: {hint}"
            )
        end, before = offset + len(data), path.name
        if end > flash_size:
            raise BenchError(
                f"{path.name} at {offset:#x} ends at {end:#x}, beyond the flash of "
                f"{flash_size:#x} bytes: {hint}"
            )


def _application_hash(contents: _Contents, hint: str) -> str:
    """Return the application's identity if it is whole, and if what starts it is, too."""
    applications = [(at, path, data) for at, path, data in contents if elf_hash(data)]
    for _, path, data in applications:
        _refuse_image(path, data, hint)
    if not applications:
        raise BenchError(f"no application image among {[str(p) for _, p, _ in contents]}: {hint}")
    at_offset = {offset: (path, data) for offset, path, data in contents}
    for offset, what in (
        (BOOTLOADER_OFFSET, "bootloader"),
        (PARTITION_TABLE_OFFSET, "partition table"),
    ):
        if offset not in at_offset:
            raise BenchError(f"the build has no {what} for {offset:#x}: {hint}")
    _refuse_image(*at_offset[BOOTLOADER_OFFSET], hint)
    path, data = at_offset[PARTITION_TABLE_OFFSET]
    _refuse_damaged(path, partition_table_defect(data), hint)
    start = app_offset(at_offset[PARTITION_TABLE_OFFSET][1])
    for offset, _, data in applications:
        if offset == start:
            return str(elf_hash(data))
    offset, path, _ = applications[0]
    raise BenchError(
        f"{path.name} would be written to {offset:#x}, but the partition table has the application "
        f"at {start:#x}: {hint}"
    )


def _refuse_image(path: Path, data: bytes, hint: str) -> None:
    if data[:1] == bytes([IMAGE_MAGIC]) and len(data) >= _HEADER.size:
        chip = _chip_id(data)
        if chip != CHIP_ID_ESP32S3 and chip in _CHIPS:
            raise BenchError(
                f"{path} is for an {_CHIPS[chip]}, not an {_CHIPS[CHIP_ID_ESP32S3]}: build it with "
                f"'idf.py set-target {_CHIP}'"
            )
    _refuse_damaged(path, image_defect(data), hint)


def _refuse_damaged(path: Path, defect: str | None, hint: str) -> None:
    if defect is not None:
        raise BenchError(f"{path} is damaged ({defect}): {hint}")
