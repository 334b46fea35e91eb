"""Sequential reading of sound files. Loads libsndfile: import it on demand.

What libsndfile cannot read is read by PyAV where that is installed.
"""

from __future__ import annotations

import io
import os
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Protocol

import numpy as np

from vivavoce._errors import NotAudio
from vivavoce._file_repair import HEAD_BYTES, TAIL_BYTES, needs_mending, parts, wav_end

try:
    import soundfile
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "Reading recordings needs the package soundfile; install it with `pip install soundfile`.", name="soundfile"
    ) from error

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

# What libsndfile says of a file that does not tell its length (SF_COUNT_MAX), as FLAC that was written to a pipe.
_UNKNOWN_LENGTH = 2**63 - 1
_COUNTED_AT_ONCE = 4_096


class SoundFile(soundfile.SoundFile):  # type: ignore[misc]  # soundfile has no types.
    """A file that is not sought in.

    Behind every block that it reads from a seekable file, soundfile seeks to where it is. In a FLAC file of unknown
    length this fails at the end, and the last block is lost; in an MP3 file the decoder may lose its place.
    """

    def seekable(self) -> bool:
        """Say no, whatever the file is."""
        return False

    def mono_blocks(self, sample_count: int) -> Iterator[NDArray[np.float32]]:
        """Yield the rest, -1 to 1, as arrays of shape [sample_count], mixed to mono."""
        # What `read` returns tells the end, not the header: an MP3 file that was cut off promises more than it holds.
        while len(block := self.read(sample_count, dtype="float32", always_2d=True)):
            yield block.mean(axis=1, dtype=np.float32)

    def count_samples(self) -> int:
        """Return the number of frames; 0 where the header tells of some and none follow.

        To count them, a file that does not tell is read.
        """
        blocks = self.mono_blocks(_COUNTED_AT_ONCE)
        counted = len(next(blocks, ()))
        if counted and self.frames < _UNKNOWN_LENGTH:
            return int(self.frames)
        return counted + sum(map(len, blocks))


class Sound(Protocol):
    """A file that is open."""

    @property
    def samplerate(self) -> int:
        """Samples a second."""

    def mono_blocks(self, sample_count: int) -> Iterator[NDArray[np.float32]]:
        """Yield what is left; see `SoundFile`."""

    def count_samples(self) -> int:
        """Return the number of samples; see `SoundFile`."""


class _Sequence:
    """Files that follow one another."""

    def __init__(self, files: list[SoundFile]) -> None:
        self._files = files
        self.samplerate = int(files[0].samplerate)

    def mono_blocks(self, sample_count: int) -> Iterator[NDArray[np.float32]]:
        for file in self._files:
            yield from file.mono_blocks(sample_count)

    def count_samples(self) -> int:
        return sum(file.count_samples() for file in self._files)


@contextmanager
def open_sound(source: Path | bytes) -> Iterator[Sound]:
    """Open a file, or the content of one, and close it at the end.

    Raises:
        NotAudio: It cannot be read, now or later on.
    """
    with ExitStack() as stack:
        try:
            yield _opened(source, stack)
        except soundfile.LibsndfileError as error:
            raise _not_audio(source, error.error_string.rstrip("."), "") from error


def _opened(source: Path | bytes, stack: ExitStack) -> Sound:
    """Open a file with the library that reads it."""
    if needs_mending(*_ends(source)):
        whole = source if isinstance(source, bytes) else source.read_bytes()
        files = [stack.enter_context(SoundFile(io.BytesIO(part))) for part in parts(whole)]
        if len({file.samplerate for file in files}) > 1:
            raise _not_audio(source, "files of several sample rates follow one another", "")
        return _Sequence(files)
    try:
        file: SoundFile = stack.enter_context(SoundFile(_sndfile_source(source)))
    except soundfile.LibsndfileError as error:
        return _opened_with_libav(source, error.error_string.rstrip("."), stack)
    return file


def _opened_with_libav(source: Path | bytes, reason: str, stack: ExitStack) -> Sound:
    try:
        from vivavoce._libav_file import open_with_libav  # noqa: PLC0415 - loads PyAV, which few files need

        return stack.enter_context(open_with_libav(source))
    except ModuleNotFoundError as error:
        raise _not_audio(source, reason, ", or install PyAV for WebM, MP4 and AAC: `pip install av`") from error
    except ValueError as error:
        raise _not_audio(source, reason, "") from error


def _not_audio(source: Path | bytes, reason: str, cure: str) -> NotAudio:
    told = "The audio" if isinstance(source, bytes) else source
    return NotAudio(f"{told} cannot be read as audio ({reason}); choose a WAV, FLAC, Ogg, MP3 or MP4 file{cure}.")


def _sndfile_source(source: Path | bytes) -> io.BytesIO | str | bytes:
    return io.BytesIO(source) if isinstance(source, bytes) else _name(source)


def _ends(source: Path | bytes) -> tuple[bytes, bytes, bytes]:
    """Return the parts of a file that tell whether it must be mended."""
    with io.BytesIO(source) if isinstance(source, bytes) else source.open("rb") as file:
        head = file.read(HEAD_BYTES)
        file.seek(wav_end(head))
        behind = file.read(HEAD_BYTES)
        file.seek(max(0, file.seek(0, os.SEEK_END) - TAIL_BYTES))
        return head, behind, file.read()


def _name(path: Path) -> str | bytes:
    """Return the path as soundfile takes it, also where it is not UTF-8."""
    return os.fsencode(path) if os.name == "posix" else str(path)
