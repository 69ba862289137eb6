"""The MAC of a board, as people write it."""

from __future__ import annotations

import re

from bench.errors import BenchError


def parse_mac(text: str) -> bytes:
    """Return the six bytes of ``aa:bb:cc:dd:ee:ff``, in capitals or small letters.

    Raises:
        BenchError: The text is no such thing.
    """
    if not re.fullmatch(r"[0-9a-fA-F]{2}(:[0-9a-fA-F]{2}){5}", text):
        raise BenchError(f"{text!r} is no MAC: write six bytes as aa:bb:cc:dd:ee:ff")
    return bytes.fromhex(text.replace(":", ""))
