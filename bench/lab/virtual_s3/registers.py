"""The few registers of an ESP32-S3 that a flashing program looks at or acts through.

Addresses are those of the ESP32-S3's technical reference manual.
"""

from __future__ import annotations

from collections.abc import Callable

_EFUSE = 0x60007000
_MAC_LOW, _MAC_HIGH = _EFUSE + 0x44, _EFUSE + 0x48
_CHIP_VERSION = _EFUSE + 0x44 + 4 * 3  # bits 18..20: minor revision
_SPI1 = 0x60002000
_SPI_CMD, _SPI_ADDR, _SPI_USER2, _SPI_W0 = _SPI1, _SPI1 + 0x04, _SPI1 + 0x20, _SPI1 + 0x58
_SPI_CMD_USER = 1 << 18
_RTC = 0x60008000
_WATCHDOG_CONFIG = _RTC + 0x98
_WATCHDOG_ENABLE = 1 << 31
_MAGIC = 0x40001000
_MAGIC_ESP32 = 0x00F01D83  # there the chip's kind is read from a word of the ROM
_READ_ID, _READ_SFDP = 0x9F, 0x5A
_FLASH_ID = 0x1640EF  # EF 40 16: 4 MB
_SFDP = int.from_bytes(b"SFDP", "little")

FORCE_DOWNLOAD_BOOT = _RTC + 0x12C  # bit 0: the next boot stays in the ROM loader


class Registers:
    """A register file; registers nobody gave a meaning keep what is written to them."""

    def __init__(self, mac: bytes, on_watchdog: Callable[[], None], esp32: bool) -> None:
        """Set up for a board.

        Args:
            mac: Six bytes of its base MAC.
            on_watchdog: Called when the RTC watchdog is armed to reset the chip.
            esp32: Look like an ESP32 instead.
        """
        self._on_watchdog = on_watchdog
        self._values = {
            _MAC_LOW: int.from_bytes(mac[2:], "big"),
            _MAC_HIGH: int.from_bytes(mac[:2], "big"),
            _CHIP_VERSION: 2 << 18,  # v0.2
            _MAGIC: _MAGIC_ESP32 if esp32 else 0,
        }

    def read(self, address: int) -> int:
        """Return the word at ``address``."""
        return self._values.get(address, 0)

    def write(self, address: int, value: int, mask: int) -> None:
        """Change the masked bits and do what hangs on them."""
        self._values[address] = (self.read(address) & ~mask) | (value & mask)
        if address == _SPI_CMD and value & _SPI_CMD_USER:
            self._values[_SPI_CMD] = 0  # done at once
            self._values[_SPI_W0] = self._flash_answer(self.read(_SPI_USER2) & 0xFF)
        elif address == _WATCHDOG_CONFIG and self.read(address) & _WATCHDOG_ENABLE:
            self._on_watchdog()

    def _flash_answer(self, command: int) -> int:
        if command == _READ_ID:
            return _FLASH_ID
        if command == _READ_SFDP and self.read(_SPI_ADDR) == 0:
            return _SFDP
        return 0
