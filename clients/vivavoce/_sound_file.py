"""Sound files, read from beginning to end. Loads a native library, libsndfile: import it only where a file is read."""

from __future__ import annotations

import io
import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from vivavoce._errors import NotAudio

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
        """Says no, whatever the file is."""
        return False

    def mono_blocks(self, sample_count: int) -> Iterator[NDArray[np.float32]]:
        """Yields what is left, -1 to 1, as arrays of shape [sample_count], the last one shorter; channels averaged."""
        # What `read` returns tells the end, not the header: an MP3 file that was cut off promises more than it holds.
        while len(block := self.read(sample_count, dtype="float32", always_2d=True)):
            yield block.mean(axis=1, dtype=np.float32)

    def count_samples(self) -> int:
        """Returns the number of samples in each channel, 0 where the header tells of some and none follow.

        To count them, a file that does not tell is read.
        """
        blocks = self.mono_blocks(_COUNTED_AT_ONCE)
        counted = len(next(blocks, ()))
        if counted and self.frames < _UNKNOWN_LENGTH:
            return int(self.frames)
        return counted + sum(map(len, blocks))


@contextmanager
def open_sound(source: Path | bytes) -> Iterator[SoundFile]:
    """Opens a file, or the content of one, and closes it at the end.

    Raises:
        NotAudio: It cannot be read, now or later on.
    """
    try:
        with SoundFile(io.BytesIO(source) if isinstance(source, bytes) else _name(source)) as file:
            yield file
    except soundfile.LibsndfileError as error:
        reason = error.error_string.rstrip(".")
        told = "The audio" if isinstance(source, bytes) else source
        raise NotAudio(f"{told} cannot be read as audio ({reason}); choose a WAV, FLAC, Ogg or MP3 file.") from error


def _name(path: Path) -> str | bytes:
    """Returns the path as soundfile takes it: where names are bytes, they need not be UTF-8; its str must be."""
    return os.fsencode(path) if os.name == "posix" else str(path)
