"""CPU time of one step of an imported recognizer, alone and in batches."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.asr.fastconformer.loading import load_recognizer
from engines.asr.fastconformer.shape import Shape
from engines.asr.recognizers import read_card
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance

if TYPE_CHECKING:
    from pathlib import Path

_ROUNDS = 8


@dataclass(frozen=True, slots=True)
class StepCost:
    """Cost of recognizing streams that reach their chunks together.

    Attributes:
        rows: streams.
        core_seconds: CPU time for one second of one stream's speech, median of the rounds.
        tokens: tokens a second of speech that were found.
    """

    rows: int
    core_seconds: float
    tokens: float


def measure(engine: Path, rows: int, threads: int = 1) -> StepCost:
    """Let so many streams of noise say one chunk after the other."""
    folder = engine / "triton" / "asr" / "1"
    card = read_card(folder)
    shape = Shape.of(card)
    recognizer = load_recognizer(folder, card, threads)
    noise = np.random.default_rng(1)
    utterances = [Utterance() for _ in range(rows)]
    seconds = []
    for _ in range(_ROUNDS + 1):
        for utterance in utterances:
            utterance.append((0.1 * noise.standard_normal(round(shape.chunk_seconds * SAMPLE_RATE))).astype(np.float32))
        began = time.process_time()
        texts = recognizer.transcribe(utterances, thorough=False)
        seconds.append(time.process_time() - began)
    # The first round loads and plans, and its chunk is shorter.
    spoken = shape.chunk_seconds * rows
    heard = shape.chunk_seconds * rows * (_ROUNDS + 1)
    return StepCost(rows, float(np.median(seconds[1:])) / spoken, sum(map(len, texts)) / heard)
