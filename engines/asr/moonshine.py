"""Moonshine tiny on onnxruntime: batched encoder, batched decoder with its keys and values kept in place.

Jeffries et al. 2024, "Moonshine: Speech Recognition for Live Transcription and Voice Commands". The two graphs are
built by ``modelkit.moonshine``; ``modelkit.moonshine_graph`` describes their inputs and outputs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import onnxruntime as ort
from numpy.typing import NDArray

from engines.asr.batching import group_by_length
from engines.asr.decoder import DecoderBatch, EncodedBatch
from engines.asr.decoding import decode_greedily
from engines.asr.engine import SAMPLE_RATE, Utterance
from engines.asr.tokenizer import load_tokenizer

MIN_SAMPLES = SAMPLE_RATE // 10
"""Shorter utterances hold no word and have an empty transcript; the encoder itself needs 895 samples."""

# Speech has fewer tokens than this; more are a sign of a loop (Moonshine paper, section 3.2).
_TOKENS_PER_SECOND = 6.5
_EXTRA_TOKENS = 6
# Bounds of one batch: keys and values of the cross attention take 14 kB a frame, logits 131 kB a drafted token.
_MAX_ENCODER_FRAMES = 700
_MAX_ENCODER_PADDING = 0.1
_MAX_DECODER_FRAMES = 4096
_MAX_DRAFTED_TOKENS = 512
_SAMPLES_PER_FRAME = 384


class MoonshineRecognizer:
    """Transcribes whole utterances of English, many at a time."""

    def __init__(self, folder: Path, threads: int = 1) -> None:
        """Loads the model.

        Args:
            folder: Holds ``encoder.onnx``, ``decoder.onnx`` and ``tokenizer.bin``.
            threads: Threads that work on one batch.

        Raises:
            FileNotFoundError: a file is missing; the text says how to build it.
        """
        for name in ("encoder.onnx", "decoder.onnx", "tokenizer.bin"):
            if not (folder / name).is_file():
                raise FileNotFoundError(f"{folder / name} is missing; build it with: python -m modelkit.moonshine")
        self._tokenizer = load_tokenizer(folder / "tokenizer.bin")
        self._encoder = _load(folder / "encoder.onnx", threads)
        self._decoder = _load(folder / "decoder.onnx", threads)

    def text(self, tokens: Sequence[int]) -> str:
        """Returns the text of ``tokens``."""
        return self._tokenizer.decode(tokens)

    def transcribe(self, utterances: Sequence[Utterance]) -> list[list[int]]:
        """Returns the tokens of each utterance; drafts make it faster and change nothing else."""
        transcripts: list[list[int]] = [[] for _ in utterances]
        audible = [i for i, utterance in enumerate(utterances) if len(utterance.audio) >= MIN_SAMPLES]
        for batch in _decoder_batches([utterances[i] for i in audible]):
            rows = [audible[i] for i in batch]
            batch_utterances = [utterances[i] for i in rows]
            for row, tokens in zip(rows, self._transcribe_batch(batch_utterances), strict=True):
                transcripts[row] = tokens
        return transcripts

    def _transcribe_batch(self, utterances: Sequence[Utterance]) -> list[list[int]]:
        """Transcribes utterances that fit into one decoder batch."""
        limits = [token_limit(len(utterance.audio)) for utterance in utterances]
        predictor = DecoderBatch(self._decoder, self._encode([u.audio for u in utterances]), max(limits) + 1)
        hypotheses = decode_greedily(predictor, [utterance.draft for utterance in utterances], limits)
        return [hypothesis.tokens for hypothesis in hypotheses]

    def _encode(self, audio: Sequence[NDArray[np.float32]]) -> EncodedBatch:
        """Encodes utterances, those of similar length together."""
        frames = [len(samples) // _SAMPLES_PER_FRAME for samples in audio]
        groups = group_by_length(frames, _MAX_ENCODER_FRAMES, _MAX_ENCODER_PADDING)
        encoded = [(group, self._encode_group([audio[i] for i in group])) for group in groups]
        if len(encoded) == 1:
            # Rows are still in the order of the group; the caller's order is restored without copying when it is the same.
            group, batch = encoded[0]
            return batch if group == sorted(group) else batch.reordered(group)
        return EncodedBatch.merged(len(audio), encoded)

    def _encode_group(self, audio: Sequence[NDArray[np.float32]]) -> EncodedBatch:
        counts = np.array([len(samples) for samples in audio], np.int64)
        padded = np.zeros((len(audio), counts.max()), np.float32)
        for row, samples in zip(padded, audio, strict=True):
            row[: len(samples)] = samples
        *cross, mask = self._encoder.run(None, {"audio": padded, "sample_counts": counts})
        return EncodedBatch(cross, mask)


def token_limit(samples: int) -> int:
    """Returns the most tokens that an utterance of so many samples may have."""
    return math.ceil(samples / SAMPLE_RATE * _TOKENS_PER_SECOND) + _EXTRA_TOKENS


def _decoder_batches(utterances: Sequence[Utterance]) -> Iterator[list[int]]:
    """Yields indices of utterances that are decoded together."""
    frames = [len(utterance.audio) // _SAMPLES_PER_FRAME for utterance in utterances]
    for group in group_by_length(frames, _MAX_DECODER_FRAMES, max_padding=1.0):
        steps = [len(utterances[i].draft) + 1 for i in group]
        for part in group_by_length(steps, _MAX_DRAFTED_TOKENS, max_padding=1.0):
            yield sorted(group[i] for i in part)


def _load(path: Path, threads: int) -> ort.InferenceSession:
    options = ort.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Idle threads must sleep: the other models share the cores.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    # Every batch has another shape; an arena or a memory plan for each would only grow.
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    return ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
