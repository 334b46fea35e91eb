"""Which parts are spoken in one run. The real voice is met in ``test_voice.py``."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pytest

from engines.tts.synthesizer import MAX_CHARACTERS, MAX_PARTS, BadPartsError, Part, check_parts, speak

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass
class Recorder:
    """Speaks one sample for a sign."""

    runs: list[tuple[str, float]] = field(default_factory=list)

    def pronounce(self, text: str) -> str:
        return text.lower()

    def transcribe(self, phonemes: str) -> str:
        return f"/{phonemes}/"

    def speak(self, phonemes: str, speed: float, noise: np.random.Generator) -> Iterator[np.ndarray]:
        self.runs.append((phonemes, speed))
        yield noise.standard_normal(len(phonemes), dtype=np.float32)


def spoken(*parts: Part, seed: int = 1) -> tuple[Recorder, list[np.ndarray]]:
    voice = Recorder()
    return voice, list(speak(voice, parts, seed))


def test_parts_without_a_pause_are_one_run():
    voice, _ = spoken(Part("Say"), Part("tomato", "x"), Part(", please"), Part("."))
    assert voice.runs == [("say /x/, please.", 1.0)]


def test_a_pause_and_another_speed_end_a_run():
    voice, pieces = spoken(Part("One", pause_ms=1500), Part("two"), Part("three", speed=2.0), Part("four"))
    assert voice.runs == [("one", 1.0), ("two", 1.0), ("three", 2.0), ("four", 1.0)]
    assert [len(piece) for piece in pieces] == [3, 24_000, 12_000, 3, 5, 4]


def test_a_seed_fixes_the_samples():
    (_, first), (_, again), (_, other) = spoken(Part("one")), spoken(Part("one")), spoken(Part("one"), seed=2)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ([], "send 1 to 256"),
        ([Part("x")] * (MAX_PARTS + 1), "send 1 to 256"),
        ([Part("secret" * MAX_CHARACTERS)], "at most 2,000 characters"),
        ([Part("secret", speed=float("nan"))], "speed"),
        ([Part("secret", speed=0.4)], "0.5 to 2.0"),
        ([Part("secret", pause_ms=-1)], "pause"),
    ],
)
def test_what_cannot_be_spoken_is_refused_without_its_text(parts: list[Part], message: str):
    with pytest.raises(BadPartsError, match=message) as refused:
        check_parts(parts)
    assert "secret" not in str(refused.value)
