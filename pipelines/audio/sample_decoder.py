"""Protocol and base of decoders: incremental, at the listener's pace."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Final, Protocol

import numpy as np

from pipelines.errors import UndecodableAudioError

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    import numpy.typing as npt

PIECE_BYTES: Final = 32_768
"""Audio is taken in this much at a time. Every size of a raw sample on one or two channels divides it."""

BLOCK_SAMPLES: Final = 16_384
"""A block ends once it has so many samples a channel: a millisecond or two of decoding."""

MAX_PIECE_SECONDS: Final = 1_800
"""What one piece may unpack to.

Silence packs best. FLAC's streamable subset (RFC 9639, section 7) spends 11 bytes or more on 4,608 samples, which
makes 1,720 s of a piece at 8 kHz; Opus at rest spends 3 bytes on 120 ms, which makes 1,310 s. A piece that holds more
was made to fill memory, or to keep the service busy.
"""


NO_BLOCK: Final[npt.NDArray[np.float32]] = np.zeros((0, 1), np.float32)
"""What ends audio of which nothing is left to decode."""


class SampleDecoder(Protocol):
    """Turns bytes into samples at their own rate."""

    @property
    def sample_rate_hz(self) -> int:
        """Rate of the samples; known once there are any."""

    @property
    def is_damaged(self) -> bool:
        """True if damage was found that was not told."""

    def decode(self, data: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Yield what ``data`` completes in blocks, float32 ``[samples, channels]``.

        A block is decoded when it is asked for: what is held does not grow with what ``data`` unpacks to, and who
        works on one block before he asks for the next can let others work in between. In place of a piece without
        samples, such as metadata, there may be an empty block.

        Raises:
            UndecodableAudioError: ``data`` is not in the promised encoding, or unpacks to too much.
        """

    def flush(self) -> npt.NDArray[np.float32]:
        """Decode the rest at the end of the audio, float32 ``[samples, channels]``."""

    def take_damage(self) -> list[str]:
        """Return a sentence for each new kind of damage; damaged audio was left out."""


class PieceDecoder(abc.ABC):
    """A :class:`SampleDecoder` for one encoding."""

    sample_rate_hz: int = 0
    is_damaged: bool = False

    def __init__(self) -> None:
        self._damage: dict[str, bool] = {}
        """Whether each kind was told already: a stream tells each once, however often it is damaged."""

    def decode(self, data: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Decode ``data`` piece by piece; see :class:`SampleDecoder`."""
        whole = memoryview(data)
        for start in range(0, len(data), PIECE_BYTES):
            has_samples = yield from self._blocks(bytes(whole[start : start + PIECE_BYTES]))
            if not has_samples and start + PIECE_BYTES < len(data):
                # Others are served also while metadata is skipped.
                yield NO_BLOCK

    @abc.abstractmethod
    def decode_piece(self, piece: bytes) -> Iterable[npt.NDArray[np.float32]]:
        """Yield finished audio, float32 ``[samples, channels]``, in any blocks.

        Args:
            piece: at most :data:`PIECE_BYTES` bytes.
        """

    @abc.abstractmethod
    def flush(self) -> npt.NDArray[np.float32]:
        """Decode the rest at the end of the audio, float32 ``[samples, channels]``."""

    def note_damage(self, sentence: str) -> None:
        """Note a kind of damage."""
        self.is_damaged = not self._damage.setdefault(sentence, False) or self.is_damaged

    def take_damage(self) -> list[str]:
        """Return the new kinds of damage; see :class:`SampleDecoder`."""
        self.is_damaged = False
        untold = [sentence for sentence, told in self._damage.items() if not told]
        self._damage = dict.fromkeys(self._damage, True)
        return untold

    def _pieces_at_once(self) -> int:
        """Return the number of pieces that the next one may complete."""
        return 1

    def _blocks(self, piece: bytes) -> Generator[npt.NDArray[np.float32], None, bool]:
        """Yield finished audio in large blocks; return whether there was any."""
        waiting: list[npt.NDArray[np.float32]] = []
        samples = total = 0
        limit_seconds = MAX_PIECE_SECONDS * self._pieces_at_once()
        for block in self.decode_piece(piece):
            samples += len(block)
            total += len(block)
            if total > limit_seconds * self.sample_rate_hz:
                raise UndecodableAudioError(
                    f"{len(piece):,} bytes of the audio unpack to over {MAX_PIECE_SECONDS // 60} minutes: "
                    "leave long silence out, or send LINEAR_PCM"
                )
            waiting.append(block)
            if samples >= BLOCK_SAMPLES:
                yield np.concatenate(waiting)
                waiting, samples = [], 0
        if samples:
            yield waiting[0] if len(waiting) == 1 else np.concatenate(waiting)
        return total > 0
