"""Moonshine's front end and encoder on onnxruntime, in batches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from engines.asr.moonshine.decoder import EncodedBatch
from engines.asr.moonshine.features import CHANNELS, MIN_SAMPLES, FeatureCache, encoder_frames
from engines.asr.serving.batching import group_by_length
from engines.asr.serving.utterance import SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.asr.serving.utterance import Utterance
    from engines.session import Network

# Bounds of one batch. The encoder gains little from batches, so that they pay only without padding.
_MAX_FRONT_END_SAMPLES = 30 * SAMPLE_RATE
_MAX_ENCODER_FRAMES = 700
_MAX_ENCODER_PADDING = 0.1


class Encoder:
    """Encoder that keeps the features of each utterance in its state.

    Args:
        front_end: audio to features.
        encoder: features to what the decoder attends to.
    """

    def __init__(self, front_end: Network, encoder: Network) -> None:
        self._front_end, self._encoder = front_end, encoder

    def extend(self, utterances: Sequence[Utterance]) -> None:
        """Run the front end over the audio that it has not seen."""
        for utterance in utterances:
            if utterance.state is None:
                utterance.state = FeatureCache()
        audio = [utterance.audio[utterance.state.next_sample :] for utterance in utterances]
        sizes = [len(samples) for samples in audio]
        for group in group_by_length(sizes, _MAX_FRONT_END_SAMPLES, max_padding=0.5):
            padded = np.zeros((len(group), max(sizes[group[0]], MIN_SAMPLES)), np.float32)
            for row, i in zip(padded, group, strict=True):
                row[: sizes[i]] = audio[i]
            outputs = self._front_end.run(None, {"audio": padded})
            for i, *row_outputs in zip(group, *outputs, strict=True):
                utterances[i].state.extend(sizes[i], *row_outputs)

    def encode(self, utterances: Sequence[Utterance]) -> EncodedBatch:
        """Encode utterances, those of similar length together."""
        groups = group_by_length(frames_of(utterances), _MAX_ENCODER_FRAMES, _MAX_ENCODER_PADDING)
        encoded = [(group, self._encode_group([utterances[i] for i in group])) for group in groups]
        if len(encoded) == 1 and groups[0] == sorted(groups[0]):
            return encoded[0][1]
        return EncodedBatch.merged(encoded)

    def _encode_group(self, utterances: Sequence[Utterance]) -> EncodedBatch:
        counts = np.array([utterance.state.frames for utterance in utterances], np.int64)
        padded = np.zeros((len(utterances), CHANNELS, counts.max()), np.float32)
        for row, utterance in zip(padded, utterances, strict=True):
            row[:, : utterance.state.frames] = utterance.state.features
        means, deviations = np.array([utterance.state.statistics() for utterance in utterances], np.float32).T
        inputs = {"features": padded, "feature_counts": counts, "means": means, "deviations": deviations}
        *cross, mask = self._encoder.run(None, inputs)
        return EncodedBatch(cross, mask)


def frames_of(utterances: Sequence[Utterance]) -> list[int]:
    """Return how many encoder frames each utterance has."""
    return [encoder_frames(utterance.state.frames) for utterance in utterances]
