"""Sizes of an imported network, as its card states them."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from engines.asr.fastconformer.features import FRAME_SAMPLES, FRAME_TAIL_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Mapping

SUBSAMPLING = 8
"""Mel frames of one encoder frame."""
FRAME_SECONDS = 0.08
"""Duration of one encoder frame: what word times are rounded to."""


_FLAGS = ("has_ctc", "normalizes")


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of a network and its look-ahead.

    Attributes:
        mel_bins: of the features.
        layers: of the encoder.
        width: of its layers.
        heads: of its attention.
        channels: of the convolutions that subsample.
        kernel: frames of the convolution inside a layer.
        left_frames: encoder frames before the chunk that attention sees; a whole number of chunks.
        look_ahead_frames: encoder frames of a chunk after its first.
        pieces: tokens, without the blank.
        predictor_layers: LSTM layers of the transducer; 0 without one.
        predictor_width: their width.
        max_symbols: tokens that the transducer may emit in one frame.
        has_ctc: True if there is a CTC head.
        prompts: languages of a prompt; 0 for a network without one.
        normalizes: True if features are normalized over the whole utterance, which is decoded anew for every text.
    """

    mel_bins: int
    layers: int
    width: int
    heads: int
    channels: int
    kernel: int
    left_frames: int
    look_ahead_frames: int
    pieces: int
    predictor_layers: int = 0
    predictor_width: int = 0
    max_symbols: int = 10
    has_ctc: bool = False
    prompts: int = 0
    normalizes: bool = False

    @classmethod
    def of(cls, card: Mapping[str, Any]) -> Shape:
        """Read the sizes from a card's ``shape``.

        Raises:
            ValueError: one is missing, or is no number of this kind.
        """
        stated = card.get("shape")
        fields = {field.name: field for field in dataclasses.fields(cls)}
        if not isinstance(stated, dict) or not set(stated) <= set(fields):
            raise ValueError("the card of the recognizer states no sizes that are known: import the engine again")
        try:
            read: dict[str, Any] = {name: one is True if name in _FLAGS else int(one) for name, one in stated.items()}
            shape = cls(**read)
        except TypeError as error:
            raise ValueError(f"the card of the recognizer lacks sizes ({error}): import the engine again") from error
        if min(shape.mel_bins, shape.layers, shape.width, shape.heads, shape.channels, shape.kernel, shape.pieces) < 1:
            raise ValueError("a size on the card of the recognizer is below 1: import the engine again")
        return shape

    @property
    def blank(self) -> int:
        """Token that stands for no token."""
        return self.pieces

    @property
    def chunk_frames(self) -> int:
        """Encoder frames of a chunk."""
        return self.look_ahead_frames + 1

    @property
    def chunk_mels(self) -> int:
        """Mel frames of a chunk."""
        return SUBSAMPLING * self.chunk_frames

    @property
    def chunk_seconds(self) -> float:
        """Duration of a chunk."""
        return self.chunk_frames * FRAME_SECONDS

    @property
    def lead(self) -> int:
        """Mel frames by which the first chunk is shorter than the others."""
        return SUBSAMPLING - 1

    def mels_until(self, chunks: int) -> int:
        """Return the mel frames that so many chunks hold."""
        return max(0, chunks * self.chunk_mels - self.lead)

    def samples_until(self, chunks: int) -> int:
        """Return the samples that the mel frames of so many chunks need."""
        mels = self.mels_until(chunks)
        return (mels - 1) * FRAME_SAMPLES + FRAME_TAIL_SAMPLES if mels else 0

    def whole_chunks(self, samples: int) -> int:
        """Return the chunks whose mel frames so many samples complete."""
        mels = (samples - FRAME_TAIL_SAMPLES) // FRAME_SAMPLES + 1 if samples >= FRAME_TAIL_SAMPLES else 0
        return (mels + self.lead) // self.chunk_mels

    def freqs(self) -> tuple[int, int, int]:
        """Return the frequencies before each of the three convolutions."""
        first = self.mel_bins // 2 + 1
        return self.mel_bins, first, first // 2 + 1

    def state_bytes(self) -> int:
        """Return the size of a stream's state."""
        once, by_layer = (sum(map(math.prod, part.values())) for part in (self.subsampled(), self.cached()))
        return 4 * (once + self.layers * by_layer)

    def subsampled(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of the last frames before each convolution."""
        mels, first, second = self.freqs()
        return {"sub0": (1, 1, mels), "sub1": (self.channels, 1, first), "sub2": (self.channels, 1, second)}

    def cached(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes of what one layer keeps of one stream."""
        kept = (self.heads, self.left_frames, self.width // self.heads)
        return {"keys": kept, "values": kept, "conv": (self.kernel - 1, self.width)}
