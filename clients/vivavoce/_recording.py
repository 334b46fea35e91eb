"""Recordings as a source of audio, and the pace of speech."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from vivavoce._config import AudioFormat
from vivavoce._errors import InvalidRequest, NotAudio

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

CHUNK_SECONDS = 0.1
MIN_SAMPLE_RATE_HZ = 8_000
MAX_SAMPLE_RATE_HZ = 48_000
_NO_PATH = Path("<audio>")


@dataclass(frozen=True, slots=True)
class Recording:
    """An audio file, read piece by piece. Made by `read_audio`."""

    path: Path
    """The file; `<audio>` where its content was given."""
    sample_rate_hz: int
    """Samples a second."""
    duration_seconds: float
    """How long it lasts. A file that was cut off may promise more than it holds."""
    content: bytes | None = field(default=None, repr=False)
    """The content of the file where that was given; None: it is read from `path`."""

    @property
    def format(self) -> AudioFormat:
        """Format of the chunks: 16-bit PCM, mono, at the file's own sample rate."""
        return AudioFormat(sample_rate_hz=self.sample_rate_hz)

    def chunks(self, chunk_seconds: float = CHUNK_SECONDS) -> Iterator[NDArray[np.float32]]:
        """Yield the samples, -1 to 1, as arrays of shape [n], mixed to mono.

        Raises:
            NotAudio: The file is damaged further on.
        """
        from vivavoce._sound_file import open_sound  # noqa: PLC0415 - loads libsndfile, which only files need

        with open_sound(self.path if self.content is None else self.content) as sound:
            yield from sound.mono_blocks(max(1, round(chunk_seconds * self.sample_rate_hz)))


def read_audio(source: str | os.PathLike[str] | bytes | bytearray | memoryview | BinaryIO) -> Recording:
    """Open a recording in any format that libsndfile or PyAV reads.

    Args:
        source: Path of the file, its content, or a binary file object, which is read to its end. The sample rate must
            be 8,000 to 48,000 Hz.

    Raises:
        FileNotFoundError: There is no such file.
        NotAudio: It holds no audio, or none that can be streamed.
        ModuleNotFoundError: The package soundfile is not installed.
        TypeError: `source` is none of these.
    """
    from vivavoce._sound_file import open_sound  # noqa: PLC0415 - loads libsndfile, which only files need

    found = _path_or_content(source)
    name = "The audio" if isinstance(found, bytes) else found
    with open_sound(found) as sound:
        sample_rate_hz, sample_count = sound.samplerate, sound.count_samples()
    if sample_count == 0:
        raise NotAudio(f"{name} holds no samples; choose another recording.")
    if not MIN_SAMPLE_RATE_HZ <= sample_rate_hz <= MAX_SAMPLE_RATE_HZ:
        raise NotAudio(f"{name} has {sample_rate_hz} samples a second; convert it to one of 8000 to 48000.")
    path, content = (_NO_PATH, found) if isinstance(found, bytes) else (found, None)
    return Recording(path, sample_rate_hz, sample_count / sample_rate_hz, content)


def _path_or_content(source: object) -> Path | bytes:
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        if not path.is_file():
            raise FileNotFoundError(f"There is no file {path}; check the name.")
        return path
    if isinstance(source, bytes | bytearray | memoryview):
        return bytes(source)
    content = source.read() if hasattr(source, "read") else None
    if isinstance(content, bytes):
        return content
    cure = "open the file with mode 'rb'" if isinstance(content, str) else "pass a path, bytes or a binary file"
    raise TypeError(f"A recording cannot be read from a {type(source).__name__}; {cure}.")


def pace(
    chunks: Iterable[NDArray[np.float32]],
    sample_rate_hz: int,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[NDArray[np.float32], None]:
    """Yield chunks at the pace of speech, as a microphone would.

    The moments are counted from the start, so that small delays do not add up; after a long one, what is due follows at
    once.

    Args:
        chunks: Samples, as arrays of shape [n] or [n, channels].
        sample_rate_hz: Samples a second and channel.
        clock: Tells the time in seconds.
        sleep: Waits for seconds.

    Raises:
        TypeError: `chunks` is no iterable of chunks.
        InvalidRequest: There are no such sample rates.
    """
    check_pace(chunks, sample_rate_hz)
    return _paced(chunks, sample_rate_hz, clock, sleep)


def check_pace(chunks: object, sample_rate_hz: float) -> None:
    """Check what flows at the pace of speech.

    Raises:
        TypeError: `chunks` is no iterable of chunks.
        InvalidRequest: There are no such sample rates.
    """
    if isinstance(chunks, Recording):
        raise TypeError("What is paced is chunks: write `pace(recording.chunks(), recording.sample_rate_hz)`.")
    if isinstance(chunks, str | os.PathLike):
        raise TypeError("What is paced is chunks: write `pace(read_audio(path).chunks(), sample_rate_hz)`.")
    if not isinstance(chunks, Iterable):
        raise TypeError(f"What is paced is a list or a generator of chunks, not {type(chunks).__name__}.")
    if not isinstance(sample_rate_hz, Real):
        raise TypeError(f"sample_rate_hz is a number, not {type(sample_rate_hz).__name__}.")
    if not sample_rate_hz > 0:
        raise InvalidRequest(f"A sample rate of {sample_rate_hz} cannot be; give one above 0.", field="sample_rate_hz")


async def _paced(
    chunks: Iterable[NDArray[np.float32]],
    sample_rate_hz: int,
    clock: Callable[[], float],
    sleep: Callable[[float], Awaitable[None]],
) -> AsyncGenerator[NDArray[np.float32], None]:
    start, sample_count = clock(), 0
    for chunk in chunks:
        sample_count += len(chunk)
        await sleep(max(0.0, start + sample_count / sample_rate_hz - clock()))
        yield chunk
