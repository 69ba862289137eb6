"""A build folder without a build: images that the ROM, esptool and pytest-embedded take for real.

The virtual ESP32-S3 cannot run Xtensa code; it starts the host's runner if a whole image is in its
flash. The code of such an image therefore does not matter, its form and its identity do.
"""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path

from bench.lab.image import (
    APP_DESCRIPTION_MAGIC,
    CHIP_ID_ESP32S3,
    IMAGE_MAGIC,
    PARTITION_MAGIC,
    checksum,
)

_APP_OFFSET = 0x10000
_FLASH_MODE_DIO = 2
_FLASH_4MB_80MHZ = 0x2F
_DRAM = 0x3FC88000
_IRAM = 0x40374000
_DROM = 0x3C000020  # first segment of an application: read-only data, the description in front


def write_build_folder(folder: Path, identity: bytes, size: int = 200 * 1024) -> Path:
    """Write a build folder as ``idf.py build`` leaves it and return it.

    Args:
        folder: Created if missing.
        identity: What the firmware is (its sources' hash, say): other bytes, other ELF hash.
        size: Bytes of the application's segments; they do not compress, as code hardly does.
    """
    elf = _elf(identity)
    code = hashlib.shake_256(identity).digest(size)
    description = struct.pack(
        "<II8s32s32s16s16s32s32sHHB3s72s",
        *(APP_DESCRIPTION_MAGIC, 0, b"", b"stand-in", b"bench", b"00:00:00", b"Jan  1 2025"),
        *(b"v5.5", hashlib.sha256(elf).digest(), 0, 199, 16, b"", b""),
    )
    application = _image([(_DROM, description + code[: size // 2]), (_IRAM, code[size // 2 :])])
    bootloader = _image([(_DRAM, hashlib.shake_256(b"bootloader").digest(8192))])
    files = {
        "bootloader/bootloader.bin": bootloader,
        "partition_table/partition-table.bin": _partition_table(),
        "bench.bin": application,
        "bench.elf": elf,
        "flasher_args.json": json.dumps(_flasher_args(), indent=4).encode(),
    }
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def _image(segments: list[tuple[int, bytes]]) -> bytes:
    header = struct.pack(
        "<BBBBIB3sHBHH4sB",
        *(IMAGE_MAGIC, len(segments), _FLASH_MODE_DIO, _FLASH_4MB_80MHZ, _IRAM, 0xEE, bytes(3)),
        *(CHIP_ID_ESP32S3, 0, 0, 99, bytes(4), 1),
    )
    body = header
    state = checksum(b"")
    for address, data in segments:
        data += bytes(-len(data) % 4)
        body += struct.pack("<II", address, len(data)) + data
        state = checksum(data, state)
    body += bytes(15 - len(body) % 16) + bytes([state])
    return body + hashlib.sha256(body).digest()


def _partition_table() -> bytes:
    entries = [
        (1, 2, 0x9000, 0x6000, b"nvs"),
        (1, 1, 0xF000, 0x1000, b"phy_init"),
        (0, 0, _APP_OFFSET, 0x180000, b"factory"),
    ]
    table = b"".join(
        struct.pack("<2sBBII16sI", PARTITION_MAGIC, kind, subtype, offset, size, label, 0)
        for kind, subtype, offset, size, label in entries
    )
    table += b"\xeb\xeb" + b"\xff" * 14 + hashlib.md5(table).digest()
    return table.ljust(0xC00, b"\xff")


def _elf(identity: bytes) -> bytes:
    # An ELF header for Xtensa (machine 94) with nothing in it; the identity follows as plain bytes.
    header = struct.pack("<4sBBB9sHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, bytes(9), 2, 94, 1, _IRAM,
                         0, 0, 0, 52, 0, 0, 0, 0, 0)  # fmt: skip
    return header + identity


def _flasher_args() -> dict[str, object]:
    bootloader = "bootloader/bootloader.bin"
    table = "partition_table/partition-table.bin"
    return {
        "write_flash_args": ["--flash-mode", "dio", "--flash-size", "4MB", "--flash-freq", "80m"],
        "flash_settings": {"flash_mode": "dio", "flash_size": "4MB", "flash_freq": "80m"},
        "flash_files": {"0x0": bootloader, "0x8000": table, "0x10000": "bench.bin"},
        "bootloader": {"offset": "0x0", "file": bootloader, "encrypted": "false"},
        "partition-table": {"offset": "0x8000", "file": table, "encrypted": "false"},
        "app": {"offset": "0x10000", "file": "bench.bin", "encrypted": "false"},
        "extra_esptool_args": {
            "after": "hard_reset",
            "before": "default_reset",
            "stub": True,
            "chip": "esp32s3",
        },
    }
