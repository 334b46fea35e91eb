"""Recordings of calls in FLAC, encrypted at rest.

The caller is on the left, the agent on the right.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from pyflac import StreamEncoder

from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from pathlib import Path

    from pipelines.audio.formats import AudioFormat
    from service.sessions.session_cipher import SessionCipher

logger = logging.getLogger(__name__)

SUFFIX = ".flac.aes"
DEFAULT_DAYS = 30.0
SWEEP_SECONDS = 3_600.0
_BLOCK_BYTES = 64 << 10
_LENGTH_BYTES = 4
_END = -1
"""In place of the number of a block: the samples of the whole."""
_NUMBERS = slice(18, 26)
"""Bytes of FLAC's header that end with the number of samples."""
_BEHIND_SAMPLES = MODEL_RATE_HZ
"""How long what was heard waits for what is spoken at the same time."""
_DAY_SECONDS = 86_400


@dataclass(frozen=True, slots=True)
class Recording:
    """Recording of all calls of a service.

    Attributes:
        recordings: where they are kept.
        announcement: said before the caller is recorded.
    """

    recordings: Recordings
    announcement: str


class BrokenRecordingError(Exception):
    """A recording that is of another key, was changed, or has no end."""


class Recordings:
    """Folder of recordings.

    Args:
        folder: made where it is not there.
        cipher: encrypts them.
        days: after which a recording is deleted.
    """

    def __init__(self, folder: Path, cipher: SessionCipher, days: float = DEFAULT_DAYS) -> None:
        self._folder, self._cipher, self._days = folder, cipher, days
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)

    def begin(self, session: str, audio_format: AudioFormat) -> Recorder:
        """Begin a recording of a session's; both sides have one format."""
        name = f"{_session_name(session)}.{time.time():.0f}.{secrets.token_hex(4)}{SUFFIX}"
        return Recorder(self._folder / name, self._cipher, audio_format)

    def of_session(self, session: str) -> list[Path]:
        """Return the recordings of a session, the oldest first."""
        return sorted(self._folder.glob(f"{_session_name(session)}.*{SUFFIX}"))

    def read(self, path: Path) -> bytes:
        """Return a recording as FLAC.

        Raises:
            BrokenRecordingError: it is of another key, was changed, or has no end.
        """
        found: list[bytes] = []
        data, number = path.read_bytes(), 0
        while data:
            size = int.from_bytes(data[:_LENGTH_BYTES], "big")
            block, data = data[_LENGTH_BYTES : _LENGTH_BYTES + size], data[_LENGTH_BYTES + size :]
            if (end := self._cipher.decrypt(block, _place(path, _END))) is not None:
                return _with_length(b"".join(found), int.from_bytes(end, "big"))
            plain = self._cipher.decrypt(block, _place(path, number))
            if plain is None:
                raise BrokenRecordingError(
                    f"{path.name} is of another key, or was changed: give its VIVAVOCE_SESSION_KEY"
                )
            found.append(plain)
            number += 1
        raise BrokenRecordingError(f"{path.name} has no end: its call is under way, or its service was killed")

    def delete(self, session: str) -> int:
        """Delete the recordings of a session; return how many there were."""
        paths = self.of_session(session)
        for path in paths:
            path.unlink(missing_ok=True)
        return len(paths)

    def sweep(self) -> None:
        """Delete what is older than it may be."""
        for path in self._folder.glob(f"*{SUFFIX}"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - self._days * _DAY_SECONDS:
                    path.unlink()

    async def watch(self) -> None:
        """Sweep now and every hour, until it is cancelled."""
        while True:
            await asyncio.to_thread(self.sweep)
            await asyncio.sleep(SWEEP_SECONDS)


class Recorder:
    """One recording, in the time of what is heard.

    Args:
        path: of its file.
        cipher: encrypts it.
        audio_format: of both sides.
    """

    def __init__(self, path: Path, cipher: SessionCipher, audio_format: AudioFormat) -> None:
        self._path, self._cipher = path, cipher
        self._decoders = AudioDecoder(audio_format), AudioDecoder(audio_format)
        self._sides = [np.zeros(0, np.float32), np.zeros(0, np.float32)]
        self._encoded = bytearray()
        self._encoder = StreamEncoder(MODEL_RATE_HZ, self._take)
        self._blocks = self._samples = 0
        self._file = path.open("xb")
        path.chmod(0o600)

    def listen(self) -> None:
        """Begin with the caller's side, where the agent's is."""
        self._sides[0] = np.zeros(len(self._sides[1]), np.float32)

    def hear(self, audio: bytes) -> None:
        """Take what the caller says."""
        self._add(0, audio)
        if len(self._sides[0]) >= 2 * _BEHIND_SAMPLES:
            self._encode(len(self._sides[0]) - _BEHIND_SAMPLES)

    def speak(self, audio: bytes) -> None:
        """Take what the agent says, as it is sent."""
        late = len(self._sides[0]) - len(self._sides[1])
        if late > 0:
            self._sides[1] = np.pad(self._sides[1], (0, late))
        self._add(1, audio)

    def close(self) -> None:
        """Write the end."""
        for side, decoder in enumerate(self._decoders):
            with contextlib.suppress(InvalidInputError):
                self._sides[side] = np.concatenate([self._sides[side], decoder.flush()])
        self._encode(max(map(len, self._sides)))
        self._encoder.finish()
        self._write(bytes(self._encoded), self._blocks)
        self._write(self._samples.to_bytes(8, "big"), _END)
        self._file.close()

    def _add(self, side: int, audio: bytes) -> None:
        # What the conversation refuses too ends no recording.
        with contextlib.suppress(InvalidInputError):
            self._sides[side] = np.concatenate([self._sides[side], *self._decoders[side].decode(audio)])

    def _encode(self, count: int) -> None:
        if not count:
            return
        columns = [np.pad(side[:count], (0, max(0, count - len(side)))) for side in self._sides]
        self._sides = [side[count:] for side in self._sides]
        self._samples += count
        self._encoder.process((np.clip(np.stack(columns, 1), -1, 1) * 32_767).astype(np.int16))
        while len(self._encoded) >= _BLOCK_BYTES:
            block, self._encoded = self._encoded[:_BLOCK_BYTES], self._encoded[_BLOCK_BYTES:]
            self._write(bytes(block), self._blocks)
            self._blocks += 1

    def _take(self, data: bytes, *_: int) -> None:
        self._encoded += data

    def _write(self, plain: bytes, number: int) -> None:
        block = self._cipher.encrypt(plain, _place(self._path, number))
        self._file.write(len(block).to_bytes(_LENGTH_BYTES, "big") + block)


def _session_name(session: str) -> str:
    """Return how the names of a session's files begin, by its hash."""
    return hashlib.sha256(session.encode()).hexdigest()[:32]


def _with_length(flac: bytes, samples: int) -> bytes:
    """Return FLAC with its length in the header (RFC 9639, section 8.2)."""
    numbers = int.from_bytes(flac[_NUMBERS], "big") | samples
    return flac[: _NUMBERS.start] + numbers.to_bytes(8, "big") + flac[_NUMBERS.stop :]


def _place(path: Path, number: int) -> bytes:
    return f"{path.name}:{number}".encode()
