"""Takes the packets out of an Ogg stream (RFC 3533) as its bytes arrive."""

from __future__ import annotations

from pipelines.errors import UndecodableAudioError

_CAPTURE = b"OggS"
_HEADER_BYTES = 27
_MAX_PACKET_BYTES = 1 << 20


class OggPacketReader:
    """Reassembles packets from pages. One logical stream is expected; pages may be cut anywhere."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._packet = bytearray()

    @property
    def pending(self) -> bool:
        """Whether bytes are held that do not make up a whole page or packet yet."""
        return bool(self._buffer or self._packet)

    def feed(self, data: bytes) -> list[bytes]:
        """Returns the packets that ``data`` completes.

        Raises:
            UndecodableAudioError: this is no Ogg stream, or a packet is larger than 1 MiB.
        """
        self._buffer += data
        packets: list[bytes] = []
        while (page := self._next_page()) is not None:
            lacing, body = page
            packets += self._split(lacing, body)
        return packets

    def _next_page(self) -> tuple[bytes, bytes] | None:
        held = self._buffer
        if not _CAPTURE.startswith(held[:4]) and held[:4] != _CAPTURE:
            raise UndecodableAudioError(
                "the audio is no Ogg stream: send Opus in an Ogg container, or another encoding"
            )
        if len(held) < _HEADER_BYTES or len(held) < _HEADER_BYTES + held[26]:
            return None
        lacing = bytes(held[_HEADER_BYTES : _HEADER_BYTES + held[26]])
        begin = _HEADER_BYTES + len(lacing)
        end = begin + sum(lacing)
        if len(held) < end:
            return None
        body = bytes(held[begin:end])
        del held[:end]
        return lacing, body

    def _split(self, lacing: bytes, body: bytes) -> list[bytes]:
        packets, position = [], 0
        for length in lacing:
            self._packet += body[position : position + length]
            position += length
            if len(self._packet) > _MAX_PACKET_BYTES:
                raise UndecodableAudioError("an Ogg packet of over 1 MiB is no Opus audio")
            # A lacing value of 255 says that the packet goes on (RFC 3533, section 5).
            if length < 255:
                packets.append(bytes(self._packet))
                self._packet.clear()
        return packets
