"""How a host's modem lines reach a board's reset and boot pins."""

from __future__ import annotations

import enum


class Wiring(enum.Enum):
    """The two ways in which ESP32-S3 boards are connected."""

    UART = "uart"  # a USB-to-UART bridge with two transistors, or an RFC 2217 server to one
    USB_JTAG = "usb-jtag"  # the chip's own USB-Serial/JTAG
