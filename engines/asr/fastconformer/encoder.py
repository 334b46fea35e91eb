"""The encoder of many streams on onnxruntime, a chunk at a time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from engines.asr.fastconformer.features import FRAME_SAMPLES, LogMel, normalized
from engines.asr.fastconformer.names import SUBSAMPLED

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from engines.asr.fastconformer.shape import Shape

    Floats = NDArray[np.float32]

_ABSENT = np.float32(-1e9)
"""Added to the attention to a frame that there is not."""


@dataclass(slots=True)
class Stream:
    """Encoder state of one utterance.

    Attributes:
        chunks: chunks that were read.
        subsampled: last frames before each convolution that subsamples, shapes by ``Shape.subsampled``; None before
            the first chunk.
        cached: what the layers keep, in the form of :class:`Layers`; None before the first chunk.
    """

    chunks: int = 0
    subsampled: Sequence[Floats] | None = None
    cached: Any = None


@dataclass(frozen=True, slots=True)
class Chunk:
    """The next chunk of an utterance.

    Attributes:
        stream: state before it.
        audio: all samples so far, float32 ``[samples]``.
        ends: True if the audio is all there will be, and the chunk may be shorter.
        prompt: language of a network with prompts.
        features: of the whole utterance, where they are normalized over it; see :meth:`Encoder.normalized`.
    """

    stream: Stream
    audio: Floats
    ends: bool = False
    prompt: int = 0
    features: Floats | None = None


class Layers(Protocol):
    """The layers of the encoder, with what they keep of each stream."""

    def run(
        self, inputs: Mapping[str, Floats], cached: Sequence[Any], keeps: Sequence[bool]
    ) -> tuple[list[Floats], list[Any]]:
        """Run one step over several streams.

        Args:
            inputs: those of ``network.EncoderStep`` before its layers, by name.
            cached: what the layers keep of each stream; None before the first chunk.
            keeps: for each stream whether ``cached`` is used again. It is of no more use otherwise.

        Returns:
            The encoded frames and the last frames before each convolution that subsamples; and what the layers keep of
            each stream afterwards.
        """


class Encoder:
    """Reads chunks of many streams at once, whatever their age."""

    def __init__(self, shape: Shape, layers: Layers) -> None:
        self._shape = shape
        self._layers = layers
        self._features = LogMel(shape.mel_bins)
        self._fresh = [np.zeros(sizes, np.float32) for sizes in shape.subsampled().values()]

    def frames_of(self, samples: int) -> int:
        """Return the encoder frames of an utterance of so many samples."""
        mels = samples // FRAME_SAMPLES
        return _lengths(mels)[2] if mels else 0

    def normalized(self, audio: Floats) -> Floats | None:
        """Return a whole utterance's features, or None without normalization.

        They are float32 ``[mels, bins]``.
        """
        if not self._shape.normalizes or len(audio) < FRAME_SAMPLES:
            return None
        return normalized(self._features.frames(audio, 0, len(audio) // FRAME_SAMPLES))

    def read(self, chunks: Sequence[Chunk]) -> tuple[list[Floats], list[Stream]]:
        """Read one chunk of each of several streams.

        Returns:
            The encoder frames of each, float32 ``[frames, width]``, and its state afterwards. The state before is of no
            more use, but where a chunk ends its utterance.
        """
        described = [self._describe(chunk) for chunk in chunks]
        inputs = {name: np.stack([own[name] for own in described]) for name in described[0]}
        subsampled = [chunk.stream.subsampled or self._fresh for chunk in chunks]
        inputs |= {name: np.stack(parts) for name, parts in zip(SUBSAMPLED, zip(*subsampled, strict=True), strict=True)}
        (encoded, *after), cached = self._layers.run(
            inputs, [chunk.stream.cached for chunk in chunks], [chunk.ends for chunk in chunks]
        )
        streams = [
            # Copies: a view would keep the arrays of all rows.
            Stream(chunk.stream.chunks + 1, [part[row].copy() for part in after], cached[row])
            for row, chunk in enumerate(chunks)
        ]
        counts = [self._count(chunk) for chunk in chunks]
        return [encoded[row, :count] for row, count in enumerate(counts)], streams

    def _count(self, chunk: Chunk) -> int:
        """Return the encoder frames that a chunk holds."""
        frames, done = self._shape.chunk_frames, chunk.stream.chunks * self._shape.chunk_frames
        return min(frames, max(0, self.frames_of(len(chunk.audio)) - done)) if chunk.ends else frames

    def _describe(self, chunk: Chunk) -> dict[str, Floats]:
        """Return the inputs of one row beside its state."""
        shape, index = self._shape, chunk.stream.chunks
        first, end = shape.mels_until(index), shape.mels_until(index + 1)
        mels = len(chunk.audio) // FRAME_SAMPLES if chunk.ends else end
        sound = np.zeros((shape.chunk_mels, shape.mel_bins), np.float32)
        offset = shape.lead if index == 0 else 0
        if chunk.features is None:
            heard = self._features.frames(chunk.audio, first, min(end, mels))
        else:
            heard = chunk.features[first : min(end, mels)]
        sound[offset : offset + len(heard)] = heard
        one, two, three = _lengths(mels) if chunk.ends else (np.iinfo(np.int64).max,) * 3
        frames = shape.chunk_frames
        # Where the frames of this chunk stand in the utterance, after each convolution: those before its beginning and
        # after its end are none.
        first_one = index * 4 * frames + np.arange(4 * frames) - 3
        first_two = index * 2 * frames + np.arange(2 * frames) - 1
        seen = index * frames - shape.left_frames + np.arange(shape.left_frames + frames)
        inputs = {
            "mels": sound,
            "keep1": ((first_one >= 0) & (first_one < one)).astype(np.float32),
            "keep2": ((first_two >= 0) & (first_two < two)).astype(np.float32),
            "bias": np.where((seen >= 0) & (seen < three), np.float32(0), _ABSENT),
        }
        if shape.prompts:
            inputs["prompt"] = np.eye(1, shape.prompts, chunk.prompt, dtype=np.float32)[0]
        return inputs


def _lengths(mels: int) -> tuple[int, int, int]:
    """Return the frames after each of the three convolutions."""
    one = mels // 2 + 1
    two = one // 2 + 1
    return one, two, two // 2 + 1
