"""Writes the device's header from the protocol's definition.

Run ``python -m bench.link.header`` after a change of protocol.py; a test holds the two together.
"""

from __future__ import annotations

from enum import IntEnum
from pathlib import Path

from bench.link import protocol
from bench.paths import project_root

_C_TYPES = {
    "u8": "uint8_t",
    "u16": "uint16_t",
    "u32": "uint32_t",
    "u64": "uint64_t",
    "i32": "int32_t",
    "f64": "double",
}
_BYTES = {"u8": 1, "u16": 2, "u32": 4, "u64": 8, "i32": 4, "f64": 8}


def header_path() -> Path:
    """Return where the header stands."""
    return project_root() / "firmware" / "runner" / "protocol.h"


def header_text() -> str:
    """Return the C++ header: constants, enumerations, one struct with pack and unpack a layout."""
    parts = [
        "// Generated from bench/link/protocol.py by `python -m bench.link.header`: do not edit.",
        "#pragma once",
        "",
        "#include <cstddef>",
        "#include <cstdint>",
        "",
        '#include "bytes.h"',
        "",
        "namespace bench {",
        "namespace protocol {",
        "",
        f"constexpr uint8_t kVersion = {protocol.VERSION};",
        f"constexpr uint8_t kMark = 0x{protocol.MARK:02X};",
        f"constexpr size_t kFrameOverhead = {protocol.FRAME_OVERHEAD};",
        f"constexpr size_t kCrcBytes = {protocol.CRC_BYTES};",
        f"constexpr uint32_t kSequenceWindow = {protocol.SEQUENCE_WINDOW};",
        f"constexpr uint32_t kMaxWindow = {protocol.MAX_WINDOW};",
        f"constexpr uint8_t kNoMemory = 0x{protocol.NO_MEMORY:02X};",
        f"constexpr uint8_t kPoison = 0x{protocol.POISON:02X};",
        f"constexpr uint8_t kDescription = 0x{protocol.DESCRIPTION:02X};",
        f"constexpr uint8_t kReply = 0x{protocol.REPLY:02X};",
        "",
        *_enum("Type", protocol.Type),
        *_enum("Status", protocol.Status),
        *_enum("Kernel", protocol.Kernel),
    ]
    for layout in protocol.LAYOUTS:
        parts += _struct(layout)
    parts += ["}  // namespace protocol", "}  // namespace bench", ""]
    return "\n".join(parts)


def _enum(name: str, values: type[IntEnum]) -> list[str]:
    return [
        f"enum class {name} : uint8_t {{",
        *(f"  {_camel(value.name)} = {value.value}," for value in values),
        "};",
        "",
    ]


def _camel(name: str) -> str:
    return "k" + "".join(word.capitalize() for word in name.split("_"))


def _struct(layout: protocol.Layout) -> list[str]:
    members, packs, unpacks = [], [], []
    offset = 0
    for name, kind in layout.fields:
        members.append(f"  {_C_TYPES[kind]} {name};")
        packs.append(f"    put_{kind}(to + {offset}, {name});")
        unpacks.append(f"    {name} = get_{kind}(from + {offset});")
        offset += _BYTES[kind]
    return [
        f"struct {layout.name} {{",
        f"  static constexpr size_t kBytes = {layout.size};",
        *members,
        "",
        "  void pack(uint8_t* to) const {",
        *packs,
        "  }",
        "",
        "  void unpack(const uint8_t* from) {",
        *unpacks,
        "  }",
        "};",
        "",
    ]


if __name__ == "__main__":
    header_path().write_text(header_text(), encoding="utf-8")
