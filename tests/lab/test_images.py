"""Images and build folders, against esptool's own reading of them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from esptool.bin_image import LoadFirmwareImage
from esptool.cmds import _parse_app_info

from bench.errors import BenchError
from bench.lab.image import (
    BuildFolder,
    app_offset,
    elf_hash,
    image_defect,
    partition_table_defect,
)


def _file(build: BuildFolder, offset: int) -> Path:
    return dict(build.files)[offset]


@pytest.mark.parametrize("offset", [0x0, 0x10000])
def test_esptool_finds_the_stand_in_images_whole(build: BuildFolder, offset: int) -> None:
    image = LoadFirmwareImage("esp32s3", str(_file(build, offset)))
    assert image.checksum == image.calculate_checksum()
    assert image.stored_digest == image.calc_digest
    assert image.chip_id == 9
    assert image_defect(_file(build, offset).read_bytes()) is None


def test_the_identity_is_the_hash_of_the_elf_file(build: BuildFolder) -> None:
    image = LoadFirmwareImage("esp32s3", str(_file(build, 0x10000)))
    expected = hashlib.sha256((build.folder / "bench.elf").read_bytes()).hexdigest()
    assert _parse_app_info(image.segments[0].data)["app_elf_sha256"] == expected
    assert build.elf_hash == expected


def test_the_bootloader_has_no_identity(build: BuildFolder) -> None:
    assert elf_hash(_file(build, 0x0).read_bytes()) is None


def test_the_partition_table_names_the_application(build: BuildFolder) -> None:
    assert app_offset(_file(build, 0x8000).read_bytes()) == 0x10000
    assert app_offset(b"\xff" * 0xC00) is None


@pytest.mark.parametrize(
    ("position", "defect"),
    [
        (0, "invalid header"),
        (1, "image"),  # number of segments
        (12, "image is for chip"),
        (0x100, "Checksum failed"),  # data of the first segment
        (-33, "Checksum failed"),  # the checksum itself
        (-1, "Image hash failed"),
        (2, "Image hash failed"),  # a header byte that only the digest covers
    ],
)
def test_one_changed_byte_is_found(build: BuildFolder, position: int, defect: str) -> None:
    data = bytearray(_file(build, 0x10000).read_bytes())
    data[position] ^= 0x10
    assert str(image_defect(bytes(data))).startswith(defect)


@pytest.mark.parametrize("size", [0, 23, 100, 20_000, -33, -1])
def test_a_cut_image_is_found(build: BuildFolder, size: int) -> None:
    assert image_defect(_file(build, 0x10000).read_bytes()[:size]) is not None


def _copy(build: BuildFolder, folder: Path) -> Path:
    return Path(shutil.copytree(build.folder, folder / "copy"))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda f: (f / "flasher_args.json").unlink(), "cannot read .*flasher_args.json"),
        (lambda f: (f / "flasher_args.json").write_text("{}"), "is not one of ESP-IDF's"),
        (lambda f: (f / "flasher_args.json").write_text("?"), "is not one of ESP-IDF's"),
        (lambda f: (f / "flasher_args.json").write_bytes(b"\xff"), "is not one of ESP-IDF's"),
        (lambda f: (f / "bench.bin").unlink(), "cannot read .*bench.bin"),
        (lambda f: (f / "bench.bin").write_bytes(b""), "no application image"),
        (
            lambda f: (f / "bench.bin").write_bytes((f / "bench.bin").read_bytes()[:-1]),
            "bench.bin is damaged",
        ),
    ],
)
def test_an_unfinished_build_says_what_to_do(
    build: BuildFolder, tmp_path: Path, damage: Callable[[Path], object], sentence: str
) -> None:
    folder = _copy(build, tmp_path)
    damage(folder)
    with pytest.raises(BenchError, match=f"{sentence}.*: build the firmware first"):
        BuildFolder.read(folder)


@pytest.mark.parametrize("name", ["bench.bin", "bootloader/bootloader.bin"])
def test_an_image_for_another_chip_names_it(build: BuildFolder, tmp_path: Path, name: str) -> None:
    folder = _copy(build, tmp_path)
    data = bytearray((folder / name).read_bytes())
    data[12] = 0
    (folder / name).write_bytes(data)
    sentence = f"{name} is for an ESP32, not an ESP32-S3: build it with 'idf.py set-target esp32s3'"
    with pytest.raises(BenchError, match=re.escape(sentence)):
        BuildFolder.read(folder)


_TABLE = "partition_table/partition-table.bin"
_BOOTLOADER = "bootloader/bootloader.bin"


def _cut(name: str, size: int) -> Callable[[Path], object]:
    return lambda f: (f / name).write_bytes((f / name).read_bytes()[:size])


def _move(old: str, new: str) -> Callable[[Path], object]:
    """List the file for ``old`` at another offset."""

    def move(folder: Path) -> None:
        listing = folder / "flasher_args.json"
        content = json.loads(listing.read_text())
        content["flash_files"][new] = content["flash_files"].pop(old)
        listing.write_text(json.dumps(content))

    return move


def _change(name: str, position: int) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        data = bytearray((folder / name).read_bytes())
        data[position] ^= 0x10
        (folder / name).write_bytes(data)

    return change


# What is wrong with a build, and how its one line begins
_UNFIT = {
    "negative": (_move("0x10000", "-0x10000"), ".*bench.bin cannot be written at -0x10000, which"),
    "odd": (_move("0x8000", "0x8001"), ".*partition-table.bin cannot be written at 0x8001, which"),
    "large": (
        _move("0x10000", "0x100000000"),
        "bench.bin at 0x100000000 ends at .*, beyond the flash of 0x400000 bytes",
    ),
    "end": (_move("0x10000", "0x3ff000"), "bench.bin at 0x3ff000 ends at .*, beyond the flash"),
    "cut bootloader": (
        _cut(_BOOTLOADER, 4000),
        ".*bootloader.bin is damaged .image ends within a segment",
    ),
    "empty bootloader": (_cut(_BOOTLOADER, 0), ".*bootloader.bin is damaged .invalid header"),
    "no bootloader": (_move("0x0", "0x7000"), "bootloader.bin ends at 0x90.*, beyond the start of"),
    "bootloader elsewhere": (_move("0x0", "0x20000"), "the build has no bootloader for 0x0"),
    "empty table": (_cut(_TABLE, 0), ".*partition-table.bin is damaged .it has 0 bytes"),
    "garbage table": (
        lambda f: (f / _TABLE).write_bytes(bytes(range(256)) * 12),
        ".*partition-table.bin is damaged .no partition at 0x0 of it: 0x0001",
    ),
    "erased table": (
        lambda f: (f / _TABLE).write_bytes(b"\xff" * 0xC00),
        ".*partition-table.bin is damaged .it names no application partition",
    ),
    "damaged table": (_change(_TABLE, 0x46), ".*partition-table.bin is damaged .the MD5 of its"),
    "no table": (_move("0x8000", "0x9000"), "the build has no partition table for 0x8000"),
    "application elsewhere": (
        _move("0x10000", "0x20000"),
        "bench.bin would be written to 0x20000, but the partition table has the application at "
        "0x10000",
    ),
    "overlap": (_move("0x8000", "0x2000"), "bootloader.bin ends at 0x20.*, beyond the start of"),
    "same place": (
        lambda f: _move("0x8000", "65536")(f),
        "(bench|partition-table).bin ends at 0x1.*, beyond the start of .* at 0x10000",
    ),
}


@pytest.mark.parametrize("kind", _UNFIT)
def test_a_build_that_would_not_start_is_refused(
    build: BuildFolder, tmp_path: Path, kind: str
) -> None:
    damage, sentence = _UNFIT[kind]
    folder = _copy(build, tmp_path)
    damage(folder)
    with pytest.raises(BenchError) as caught:
        BuildFolder.read(folder)
    assert re.fullmatch(f"{sentence}.*: build the firmware first .*", str(caught.value))


def test_a_partition_table_may_lack_its_md5(build: BuildFolder) -> None:
    table = _file(build, 0x8000).read_bytes()
    assert partition_table_defect(table) is None
    assert partition_table_defect(table[:0x60].ljust(0xC00, b"\xff")) is None


def test_without_a_flash_size_any_real_flash_will_do(build: BuildFolder, tmp_path: Path) -> None:
    folder = _copy(build, tmp_path)
    listing = folder / "flasher_args.json"
    content = json.loads(listing.read_text())
    content["flash_settings"]["flash_size"] = "detect"
    listing.write_text(json.dumps(content))
    assert BuildFolder.read(folder).elf_hash == build.elf_hash
    _move("0x10000", "0x10000000")(folder)
    with pytest.raises(BenchError, match="beyond the flash of 0x8000000 bytes"):
        BuildFolder.read(folder)


def test_a_build_for_another_chip_is_refused(build: BuildFolder, tmp_path: Path) -> None:
    listing = _copy(build, tmp_path) / "flasher_args.json"
    content = json.loads(listing.read_text())
    content["extra_esptool_args"]["chip"] = "esp32c3"
    listing.write_text(json.dumps(content))
    with pytest.raises(
        BenchError, match=r"is a build for esp32c3: run 'idf.py set-target esp32s3'"
    ):
        BuildFolder.read(listing.parent)
