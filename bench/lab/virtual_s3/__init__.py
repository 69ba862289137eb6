"""A virtual ESP32-S3 board: ROM loader, flash, reset lines and an application, behind RFC 2217.

Unmodified esptool and pytest-embedded connect to it, flash it, reset it and talk to its
application, so that the whole path to a board can be tried, and broken, without one.
"""

from bench.lab.virtual_s3.chip import Counters
from bench.lab.virtual_s3.faults import Fault, FaultKind
from bench.lab.virtual_s3.server import VirtualS3
from bench.lab.virtual_s3.stand_in import write_build_folder

__all__ = [
    "Counters",
    "Fault",
    "FaultKind",
    "VirtualS3",
    "write_build_folder",
]
