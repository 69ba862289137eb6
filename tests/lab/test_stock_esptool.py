"""esptool as it is installed, in a process of its own, with pyserial's own client."""

from __future__ import annotations

from pathlib import Path

from virtual_boards import StockEsptool, fill

from bench.lab.image import BuildFolder


def test_stock_esptool_flashes_and_starts_the_application(
    stock_esptool: StockEsptool, build: BuildFolder, tmp_path: Path
) -> None:
    result = stock_esptool.finish()
    assert result.status == 0, result.output
    assert f"MAC:                {stock_esptool.board.mac}" in result.output
    assert result.output.count("Hash of data verified.") == 3
    assert stock_esptool.board.wait_running()
    assert stock_esptool.events[-1].endswith(f"application {build.elf_hash[:12]} starts")
    fill(tmp_path / "expected.bin", build)
    assert stock_esptool.flash_file.read_bytes() == (tmp_path / "expected.bin").read_bytes()
