"""Images and build folders, against esptool's own reading of them."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from esptool.bin_image import LoadFirmwareImage
from esptool.cmds import _parse_app_info

from bench.errors import BenchError
from bench.lab.image import BuildFolder, app_offset, elf_hash, image_defect


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


def test_a_build_for_another_chip_is_refused(build: BuildFolder, tmp_path: Path) -> None:
    listing = _copy(build, tmp_path) / "flasher_args.json"
    content = json.loads(listing.read_text())
    content["extra_esptool_args"]["chip"] = "esp32c3"
    listing.write_text(json.dumps(content))
    with pytest.raises(
        BenchError, match=r"is a build for esp32c3: run 'idf.py set-target esp32s3'"
    ):
        BuildFolder.read(listing.parent)
