"""The serial loader: the chip's ROM loader, and the stub that esptool puts in its place.

A request is {u8 0, u8 command, u16 size, u32 checksum, data}; the answer is
{u8 1, u8 command, u16 size, u32 value, data, status}, with a status of four bytes from the ROM and
of two from the stub. This follows the protocol's description in esptool's documentation ("Serial
Protocol").
"""

from __future__ import annotations

import enum
import hashlib
import struct
import zlib
from collections.abc import Callable
from typing import Protocol

from bench.lab.image import CHIP_ID_ESP32S3, checksum
from bench.lab.virtual_s3 import slip
from bench.lab.virtual_s3.faults import FaultKind, Faults
from bench.lab.virtual_s3.flash_memory import FlashMemory
from bench.lab.virtual_s3.registers import Registers

_BLOCK_HEADER = 16


class _Status(enum.Enum):
    """Outcomes as (ROM's code, stub's code)."""

    OK = (0x00, 0x00)
    BAD_LENGTH = (0x05, 0xC0)
    BAD_CHECKSUM = (0x07, 0xC1)
    UNKNOWN_COMMAND = (0x05, 0xC3)
    NOT_FLASHING = (0x06, 0xC6)
    FLASH_WRITE = (0x08, 0xC4)
    INFLATE = (0x0B, 0xC7)


class _Failed(Exception):
    def __init__(self, status: _Status) -> None:
        self.status = status


class Chip(Protocol):
    """What the loader can do to the chip it runs on."""

    def send(self, data: bytes) -> None:
        """Send bytes to the host."""

    def run_application(self) -> None:
        """Leave the loader."""

    def lose_line(self, *, for_good: bool) -> None:
        """Break the connection."""


class Loader:
    """Answers esptool, from a reset into download mode to the next reset."""

    def __init__(
        self, chip: Chip, memory: FlashMemory, registers: Registers, faults: Faults
    ) -> None:
        """Start as the ROM loader."""
        self._chip = chip
        self._memory = memory
        self._registers = registers
        self._faults = faults
        self._frames = slip.Decoder()
        self._stub = False
        self._mute = False
        self._then: Callable[[], None] | None = None  # done after the answer went out
        self._write: _Write | None = None
        self._reading: _Reading | None = None
        self.blocks = 0
        self._commands: dict[int, Callable[[bytes, int], bytes | int | None]] = {
            0x02: self._flash_begin,
            0x03: self._flash_data,
            0x04: self._flash_end,
            0x05: self._nothing,  # MEM_BEGIN: the stub's code is not run here, so it is not kept
            0x06: self._mem_end,
            0x07: self._mem_data,
            0x09: self._write_register,
            0x0A: self._read_register,
            0x0B: self._nothing,  # SPI_SET_PARAMS
            0x0D: self._nothing,  # SPI_ATTACH
            0x0F: self._nothing,  # CHANGE_BAUDRATE: the line has none
            0x10: self._deflated_begin,
            0x11: self._flash_data,
            0x12: self._flash_end,
            0x13: self._md5,
            0x14: self._security_info,
        }
        self._rom_commands = {0x0E: self._read_slowly}
        self._stub_commands = {
            0xD0: self._erase_all,
            0xD1: self._erase_region,
            0xD2: self._read_flash,
            0xD3: self._run_user_code,
        }

    def receive(self, data: bytes) -> None:
        """Take bytes from the host."""
        for packet in self._frames.feed(data):
            if self._mute or self._faults.has(FaultKind.NO_SYNC):
                return
            if self._reading is not None:
                self._continue_reading(packet)
            elif len(packet) >= 8 and packet[0] == 0:
                self._answer(packet)

    def _answer(self, packet: bytes) -> None:
        _, command, size, given = struct.unpack_from("<BBHI", packet)
        data = packet[8 : 8 + size]
        if command == 0x08:  # SYNC is answered eight times; the stub tells itself by value 0
            value = 0 if self._stub else 0x20120707
            for _ in range(8):
                self._reply(command, value, b"", _Status.OK)
            return
        extra = self._stub_commands if self._stub else self._rom_commands
        handler = self._commands.get(command) or extra.get(command)
        if handler is None or (command == 0x14 and self._faults.has(FaultKind.WRONG_CHIP)):
            self._reply(command, 0, b"", _Status.UNKNOWN_COMMAND)
            return
        self._then = None
        try:
            result = handler(data, given)
        except struct.error:
            self._reply(command, 0, b"", _Status.BAD_LENGTH)
        except _Failed as failure:
            self._reply(command, 0, b"", failure.status)
        else:
            if self._mute or result is None:
                return
            if isinstance(result, int):
                self._reply(command, result, b"", _Status.OK)
            else:
                self._reply(command, 0, result, _Status.OK)
            if self._then is not None:
                self._then()

    def _reply(self, command: int, value: int, data: bytes, status: _Status) -> None:
        code = status.value[1 if self._stub else 0]
        data += bytes([status is not _Status.OK, code]) + (b"" if self._stub else bytes(2))
        header = struct.pack("<BBHI", 1, command, len(data), value)
        self._chip.send(slip.encode(header + data))

    # Memory and registers

    def _nothing(self, data: bytes, given: int) -> bytes:
        return b""

    def _mem_data(self, data: bytes, given: int) -> bytes:
        self._payload(data, given)
        return b""

    def _mem_end(self, data: bytes, given: int) -> bytes:
        stay, _ = struct.unpack("<II", data)
        if not stay:
            self._then = self._start_stub
        return b""

    def _start_stub(self) -> None:
        self._stub = True
        self._chip.send(slip.encode(b"OHAI"))

    def _write_register(self, data: bytes, given: int) -> bytes:
        for address, value, mask, _ in struct.iter_unpack("<IIII", data):
            self._registers.write(address, value, mask)
        return b""

    def _read_register(self, data: bytes, given: int) -> int:
        return self._registers.read(*struct.unpack("<I", data))

    def _security_info(self, data: bytes, given: int) -> bytes:
        return struct.pack("<I8BII", 0, *bytes(8), CHIP_ID_ESP32S3, 0)

    # Writing flash

    def _flash_begin(self, data: bytes, given: int) -> bytes:
        size, _, _, offset = struct.unpack_from("<IIII", data)
        self._memory.erase(offset, size)
        self._write = _Write(offset, None)
        return b""

    def _deflated_begin(self, data: bytes, given: int) -> bytes:
        size, _, _, offset = struct.unpack_from("<IIII", data)
        self._memory.erase(offset, size)
        self._write = _Write(offset, zlib.decompressobj())
        return b""

    def _flash_data(self, data: bytes, given: int) -> bytes | None:
        if self._write is None:
            raise _Failed(_Status.NOT_FLASHING)
        if self._misbehaves():
            return None
        if self._faults.strikes(FaultKind.NOISE, self.blocks):
            given ^= 0x01
        payload = self._payload(data, given)
        if self._write.inflate is not None:
            try:
                payload = self._write.inflate.decompress(payload)
            except zlib.error as error:
                raise _Failed(_Status.INFLATE) from error
        if payload and self._faults.strikes(FaultKind.CORRUPT, self.blocks):
            payload = bytes([payload[0] ^ 0x01]) + payload[1:]
        if not self._memory.write(self._write.offset, payload):
            raise _Failed(_Status.FLASH_WRITE)
        self._write.offset += len(payload)
        self.blocks += 1
        return b""

    def _misbehaves(self) -> bool:
        if self._faults.strikes(FaultKind.MUTE, self.blocks):
            self._mute = True
        elif self._faults.strikes(FaultKind.DROP, self.blocks):
            self._chip.lose_line(for_good=False)
        elif self._faults.strikes(FaultKind.GONE, self.blocks):
            self._chip.lose_line(for_good=True)
        else:
            return False
        return True

    def _flash_end(self, data: bytes, given: int) -> bytes:
        (stay,) = struct.unpack("<I", data)
        self._write = None
        if not self._stub:
            self._then = self._chip.run_application
        elif not stay:
            self._then = self._return_to_rom
        return b""

    def _return_to_rom(self) -> None:
        self._stub = False

    def _payload(self, data: bytes, given: int) -> bytes:
        (size,) = struct.unpack_from("<I", data)
        payload = data[_BLOCK_HEADER:]
        if len(payload) != size:
            raise _Failed(_Status.BAD_LENGTH)
        if checksum(payload) != given & 0xFF:
            raise _Failed(_Status.BAD_CHECKSUM)
        return payload

    # Reading and erasing flash

    def _md5(self, data: bytes, given: int) -> bytes:
        offset, size, _, _ = struct.unpack("<IIII", data)
        digest = self._memory.md5(offset, size)
        return digest if self._stub else digest.hex().encode()

    def _read_slowly(self, data: bytes, given: int) -> bytes:
        offset, size = struct.unpack("<II", data)
        return self._memory.read(offset, size)

    def _read_flash(self, data: bytes, given: int) -> bytes:
        self._reading = _Reading(*struct.unpack("<IIII", data))
        self._then = self._send_blocks
        return b""

    def _continue_reading(self, acknowledgement: bytes) -> None:
        reading = self._reading
        assert reading is not None
        reading.acknowledged = int.from_bytes(acknowledgement[:4], "little")
        self._send_blocks()
        if reading.acknowledged >= reading.size:
            digest = hashlib.md5(self._memory.read(reading.offset, reading.size)).digest()
            self._chip.send(slip.encode(digest))
            self._reading = None

    def _send_blocks(self) -> None:
        reading = self._reading
        assert reading is not None
        while reading.sent < reading.size and (
            reading.sent - reading.acknowledged < reading.window * reading.block
        ):
            count = min(reading.block, reading.size - reading.sent)
            self._chip.send(slip.encode(self._memory.read(reading.offset + reading.sent, count)))
            reading.sent += count

    def _erase_all(self, data: bytes, given: int) -> bytes:
        self._memory.erase(0, self._memory.SIZE)
        return b""

    def _erase_region(self, data: bytes, given: int) -> bytes:
        self._memory.erase(*struct.unpack("<II", data))
        return b""

    def _run_user_code(self, data: bytes, given: int) -> None:
        self._chip.run_application()


class _Write:
    """A flash write in progress; ``inflate`` is None for plain data."""

    def __init__(self, offset: int, inflate: zlib._Decompress | None) -> None:
        self.offset = offset
        self.inflate = inflate


class _Reading:
    """A flash read in progress: at most ``window`` blocks are unacknowledged."""

    def __init__(self, offset: int, size: int, block: int, window: int) -> None:
        self.offset = offset
        self.size = size
        self.block = block
        self.window = window
        self.sent = 0
        self.acknowledged = 0
