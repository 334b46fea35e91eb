"""Engines that answer from a table, and recordings to put to them."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import soundfile

from engines.bert.intent_decoding import Understanding

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from modelkit.evaluation.engines import Turn
    from modelkit.evaluation.recordings import Clip
    from vivavoce import PhraseHints

RATE = 16_000


def silent(done: int, total: int) -> None:
    """Wants to know nothing of the progress."""


def write_tone(path: Path, seconds: float = 0.2, amplitude: float = 0.25, rate: int = RATE) -> None:
    """Writes a recording whose length tells it from others."""
    time = np.arange(round(seconds * rate)) / rate
    soundfile.write(path, (amplitude * np.sin(2 * np.pi * 440 * time)).astype(np.float32), rate)


@dataclass
class TextTable:
    """Knows what to say to each text; ``none`` and "" to others."""

    understood: Mapping[str, Understanding] = field(default_factory=dict)
    answers: Mapping[tuple[str, str], str] = field(default_factory=dict)

    async def understand(self, text: str) -> Understanding:
        return self.understood.get(text, Understanding("none", 0.0, ()))

    async def answer(self, question: str, document: str) -> str:
        return self.answers.get((question, document), "")


@dataclass
class SpeechTable:
    """Tells recordings apart by their number of samples, and remembers how they were put to it."""

    turns: Mapping[int, Sequence[Turn]]
    heard: list[tuple[Clip, tuple[PhraseHints, ...], bool]] = field(default_factory=list)

    async def hear(self, clip: Clip, hints: Sequence[PhraseHints], *, one_utterance: bool) -> list[Turn]:
        self.heard.append((clip, tuple(hints), one_utterance))
        return list(self.turns.get(len(clip.samples), ()))


def write_commands(folder: Path, labels: Mapping[str, object], seconds: Mapping[str, float]) -> None:
    """Writes a folder of commands about coffee."""
    (folder / "audio").mkdir(parents=True)
    for name, length in seconds.items():
        write_tone(folder / "audio" / name, length)
    (folder / "labels.json").write_text(json.dumps(labels))
    (folder / "sentences.txt").write_text("a small latte please\nmake me a large mocha with milk\n")
    (folder / "slot_values.json").write_text(json.dumps({"drink": ["latte", "mocha"], "size": ["small", "large"]}))
