"""What an ESP32-S3 prints: boot logs and panic text, with the CRLF line ends of the real ones."""

from __future__ import annotations

_ROM = """\
ESP-ROM:esp32s3-20210327
Build:Mar 27 2021
rst:0x{reason:x} ({name}),boot:0x{strap:x} ({mode})
"""
_FLASH_BOOT = """\
SPIWP:0xee
mode:DIO, clock div:1
load:0x3fce2810,len:0x15a0
load:0x403c8700,len:0x4
load:0x403c8704,len:0xd20
load:0x403cb700,len:0x2f00
entry 0x403c8928
"""
_PANIC = """\
Guru Meditation Error: Core  0 panic'ed (LoadProhibited). Exception was unhandled.

Core  0 register dump:
PC      : 0x4201c9fa  PS      : 0x00060430  A0      : 0x8201cf7a  A1      : 0x3fc99860
A2      : 0x00000000  A3      : 0x3fc998a0  A4      : 0x00000010  A5      : 0x3fc998b0
A6      : 0x00000000  A7      : 0x3fc9e6b0  A8      : 0x8201c9f4  A9      : 0x3fc99840
A10     : 0x00000000  A11     : 0x00000004  A12     : 0x3fc99880  A13     : 0x00000001
A14     : 0x00000000  A15     : 0x00000000  SAR     : 0x00000004  EXCCAUSE: 0x0000001c
EXCVADDR: 0x00000000  LBEG    : 0x400570e8  LEND    : 0x400570f3  LCOUNT  : 0x00000000


Backtrace: 0x4201c9f7:0x3fc99860 0x4201cf77:0x3fc9e6b0


ELF file SHA256: {elf:.9}

Rebooting...
"""

# Reset reasons of the ROM, as (number, name).
POWER_ON = (0x1, "POWERON")
SOFTWARE = (0xC, "RTC_SW_CPU_RST")
WATCHDOG = (0x9, "RTCWDT_SYS_RST")
USB = (0x15, "USB_UART_CHIP_RESET")


def boot_log(reason: tuple[int, str], *, download: bool) -> bytes:
    """Return what the ROM prints before it waits for a download or loads from flash."""
    strap, mode = (0x0, "DOWNLOAD(USB/UART0)") if download else (0x8, "SPI_FAST_FLASH_BOOT")
    text = _ROM.format(reason=reason[0], name=reason[1], strap=strap, mode=mode)
    return _encode(text + ("waiting for download\n" if download else ""))


def flash_boot() -> bytes:
    """Return what the ROM prints while it loads the bootloader."""
    return _encode(_FLASH_BOOT)


def no_bootloader(defect: str) -> bytes:
    """Return what the ROM prints if there is no whole bootloader in flash."""
    return _encode(f"{defect}\n" * 4)


def no_application(defect: str) -> bytes:
    """Return what the bootloader prints if there is no whole application."""
    return _encode(
        f"E (62) esp_image: {defect}\n"
        "E (62) boot: OTA app partition slot 0 is not bootable\n"
        "E (63) boot: No bootable app partitions in the partition table\n"
    )


def panic(elf_hash: str) -> bytes:
    """Return a panic's text."""
    return _encode(_PANIC.format(elf=elf_hash))


def _encode(text: str) -> bytes:
    return text.replace("\n", "\r\n").encode()
