"""Recordings as a source of audio, and the pace of speech."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from vivavoce._config import AudioFormat
from vivavoce._errors import NotAudio

if TYPE_CHECKING:
    import os
    from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator

    import numpy as np
    from numpy.typing import NDArray

CHUNK_SECONDS = 0.1
MIN_SAMPLE_RATE_HZ = 8_000
MAX_SAMPLE_RATE_HZ = 48_000


@dataclass(frozen=True, slots=True)
class Recording:
    """An audio file, read piece by piece. Made by `read_audio`."""

    path: Path
    """The file."""
    sample_rate_hz: int
    """Samples a second."""
    duration_seconds: float
    """How long it lasts. A file that was cut off may promise more than it holds."""

    @property
    def format(self) -> AudioFormat:
        """The format to announce for the chunks: 16-bit PCM, mono, at the file's own sample rate."""
        return AudioFormat(sample_rate_hz=self.sample_rate_hz)

    def chunks(self, chunk_seconds: float = CHUNK_SECONDS) -> Iterator[NDArray[np.float32]]:
        """Yields the samples, -1 to 1, as arrays of shape [n], the channels averaged. The last one may be shorter.

        Raises:
            NotAudio: The file is damaged further on.
        """
        from vivavoce._sound_file import open_sound  # noqa: PLC0415 - loads libsndfile, which only files need

        with open_sound(self.path) as sound:
            yield from sound.mono_blocks(max(1, round(chunk_seconds * self.sample_rate_hz)))


def read_audio(path: str | os.PathLike[str]) -> Recording:
    """Opens a recording in any format that libsndfile reads: WAV, FLAC, Ogg (Vorbis, Opus), MP3, AIFF and more.

    Args:
        path: The file. Its sample rate must be 8,000 to 48,000 Hz.

    Raises:
        FileNotFoundError: There is no such file.
        NotAudio: It holds no audio, or none that can be streamed.
        ModuleNotFoundError: The package soundfile is not installed.
    """
    from vivavoce._sound_file import open_sound  # noqa: PLC0415 - loads libsndfile, which only files need

    path = Path(path)
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {path}; check the name.")
    with open_sound(path) as sound:
        sample_rate_hz, sample_count = sound.samplerate, sound.count_samples()
    if sample_count == 0:
        raise NotAudio(f"{path} holds no samples; choose another recording.")
    if not MIN_SAMPLE_RATE_HZ <= sample_rate_hz <= MAX_SAMPLE_RATE_HZ:
        raise NotAudio(f"{path} has {sample_rate_hz} samples a second; convert it to one of 8000 to 48000.")
    return Recording(path, sample_rate_hz, sample_count / sample_rate_hz)


async def pace(
    chunks: Iterable[NDArray[np.float32]],
    sample_rate_hz: int,
    *,
    clock: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
) -> AsyncGenerator[NDArray[np.float32], None]:
    """Yields chunks at the pace of speech: each in the moment in which a microphone would have finished recording it.

    The moments are counted from the start, so that small delays do not add up; after a long one, what is due follows at
    once.

    Args:
        chunks: Samples, as arrays of shape [n] or [n, channels].
        sample_rate_hz: Samples a second and channel.
        clock: Tells the time in seconds.
        sleep: Waits for seconds.
    """
    start, sample_count = clock(), 0
    for chunk in chunks:
        sample_count += len(chunk)
        await sleep(max(0.0, start + sample_count / sample_rate_hz - clock()))
        yield chunk
