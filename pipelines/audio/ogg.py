"""Takes the packets out of an Ogg stream (RFC 3533) as its bytes arrive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Iterator

_CAPTURE: Final = b"OggS"
_HEADER_BYTES = 27
_BEGINS_STREAM = 2
_MAX_PACKET_BYTES = 1 << 20

_NAMES: Final = {
    b"\x01vorbis": "Vorbis",
    b"Speex   ": "Speex",
    b"\x7fFLAC": "FLAC",
    b"\x80theora": "Theora",
    b"fishead\0": "Skeleton",
    b"OVP80": "VP8",
}
"""What a logical stream holds, by the beginning of its first packet."""

DAMAGED = "a part of the Ogg stream is damaged and was left out"
SECOND_STREAM = "the Ogg stream holds more than one stream of audio at the same time: only the first one is heard"


class OggPacketReader:
    """Reassembly of packets, one logical stream at a time.

    Streams may follow one another. Of several at the same time, such as audio and video, the first is read whose
    first packet begins as wanted.

    Args:
        head: what the first packet of a wanted stream begins with.
    """

    def __init__(self, head: bytes) -> None:
        self._head = head
        self._buffer = bytearray()
        self._packet = bytearray()
        self._serial: int | None = None
        self._has_audio = False
        self._others: set[bytes] = set()
        self.damage: list[str] = []
        """What was found wrong; the caller empties it."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield the packets that ``data`` completes.

        Raises:
            UndecodableAudioError: this is no Ogg stream, it holds nothing wanted, or a packet is larger than 1 MiB.
        """
        self._buffer += data
        while (page := self._next_page()) is not None:
            yield from self._packets(*page)

    def flush(self) -> Iterator[bytes]:
        """Yield the packets that are whole in a last page that is not."""
        held = self._buffer
        if self._serial is None and not held:
            return
        if len(held) >= _HEADER_BYTES and len(held) >= (begin := _HEADER_BYTES + held[26]):
            lacing, body = bytes(held[_HEADER_BYTES:begin]), bytes(held[begin:])
            while lacing and sum(lacing) > len(body):
                lacing = lacing[:-1]
            yield from self._packets(held[5], bytes(held[14:18]), lacing, body)
        if self._serial is None:
            raise UndecodableAudioError("the Ogg audio ends inside its header: send all of it")
        if held or self._packet:
            self.damage.append("the Ogg stream breaks off inside a page: what came of it is heard")

    def _next_page(self) -> tuple[int, bytes, bytes, bytes] | None:
        """Take a page away; return its flags, serial number, lacing values and body."""
        held = self._buffer
        if not self._find_page():
            return None
        if len(held) < _HEADER_BYTES or len(held) < _HEADER_BYTES + held[26]:
            return None
        lacing = bytes(held[_HEADER_BYTES : _HEADER_BYTES + held[26]])
        begin = _HEADER_BYTES + len(lacing)
        end = begin + sum(lacing)
        if len(held) < end:
            return None
        page = held[5], bytes(held[14:18]), lacing, bytes(held[begin:end])
        del held[:end]
        return page

    def _find_page(self) -> bool:
        """Go on to the next page where something else lies before it."""
        held = self._buffer
        if _CAPTURE.startswith(held[:4]):
            return len(held) >= len(_CAPTURE)
        if self._serial is None:
            raise UndecodableAudioError(
                "the audio is no Ogg stream: send Opus in an Ogg container, or another encoding"
            )
        self.damage.append(DAMAGED)
        self._packet.clear()
        found = held.find(_CAPTURE)
        del held[: found if found >= 0 else max(0, len(held) - len(_CAPTURE) + 1)]
        return found >= 0

    def _packets(self, flags: int, serial: bytes, lacing: bytes, body: bytes) -> Iterator[bytes]:
        number = int.from_bytes(serial, "little")
        begins = bool(flags & _BEGINS_STREAM) or body.startswith(self._head)
        if begins and self._begins(number, body):
            self._serial, self._has_audio = number, False
            self._packet.clear()
        elif self._serial is None and not begins:
            raise self._nothing_wanted()
        elif number != self._serial:
            return
        else:
            self._has_audio = True
        yield from self._split(lacing, body)

    def _begins(self, serial: int, body: bytes) -> bool:
        """Return whether a stream begins that is to be read."""
        if not body.startswith(self._head):
            self._others.add(next((start for start in _NAMES if body.startswith(start)), b""))
            return False
        if self._serial not in {None, serial} and not self._has_audio:
            # All streams that are sent at the same time begin before there is anything of any.
            self.damage.append(SECOND_STREAM)
            return False
        return True

    def _nothing_wanted(self) -> UndecodableAudioError:
        found = ", ".join(sorted(_NAMES[start] for start in self._others if start))
        name = self._head.decode()
        if found:
            return UndecodableAudioError(f"this is Ogg with {found}, which is not served: send Opus in Ogg")
        return UndecodableAudioError(f"the Ogg stream holds no Opus audio: its first packet is no {name}")

    def _split(self, lacing: bytes, body: bytes) -> Iterator[bytes]:
        position = 0
        for length in lacing:
            self._packet += body[position : position + length]
            position += length
            if len(self._packet) > _MAX_PACKET_BYTES:
                raise UndecodableAudioError("an Ogg packet of over 1 MiB is no Opus audio")
            # A lacing value of 255 says that the packet goes on (RFC 3533, section 5).
            if length < 255:
                packet = bytes(self._packet)
                self._packet.clear()
                yield packet
