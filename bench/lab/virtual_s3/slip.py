"""SLIP frames (RFC 1055), in which the loader's packets travel."""

from __future__ import annotations

_END, _ESCAPE = b"\xc0", b"\xdb"


def encode(packet: bytes) -> bytes:
    """Return ``packet`` as one frame."""
    body = packet.replace(_ESCAPE, b"\xdb\xdd").replace(_END, b"\xdb\xdc")
    return _END + body + _END


class Decoder:
    """Collects frames from a stream that may be cut anywhere."""

    def __init__(self) -> None:
        """Start between frames."""
        self._partial: bytearray | None = None

    def feed(self, data: bytes) -> list[bytes]:
        """Return the packets that ``data`` completes; bytes outside of frames are dropped."""
        packets = []
        for index, part in enumerate(data.split(_END)):
            if index:
                if self._partial:
                    packets.append(self._unescape(bytes(self._partial)))
                    self._partial = None
                else:
                    self._partial = bytearray()
            if self._partial is not None:
                self._partial += part
        return packets

    @staticmethod
    def _unescape(body: bytes) -> bytes:
        return body.replace(b"\xdb\xdc", _END).replace(b"\xdb\xdd", _ESCAPE)
