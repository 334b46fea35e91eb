from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from modelkit.errors import TrainingError
from modelkit.turn import pauses, synthetic
from modelkit.turn.texts import SAYINGS, Source

if TYPE_CHECKING:
    import numpy.typing as npt

RATE = 24_000


class Humming:
    """Hums for a tenth of a second a letter."""

    name = "hum"

    def __init__(self) -> None:
        self.said: list[str] = []

    def speak(self, text: str, rng: np.random.Generator, number: int) -> tuple[npt.NDArray[np.float32], int]:
        self.said.append(text)
        time = np.arange(len(text) * RATE // 10) / RATE
        return (0.3 * np.sin(2 * np.pi * 200 * time)).astype(np.float32), RATE


@pytest.fixture(autouse=True)
def _all_but_hiss_is_speech(monkeypatch: pytest.MonkeyPatch) -> None:
    def windows(samples: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
        levels = np.sqrt(np.mean(np.square(samples[: len(samples) // 512 * 512].reshape(-1, 512)), axis=1))
        return levels > 0.5 * levels.max()

    monkeypatch.setattr(pauses, "speech_windows", windows)


def test_sentences_are_spoken_as_such_with_silence_around_them():
    speaker = Humming()
    first, second = synthetic.speak_all(["is it late", "Stop."], speaker, None)
    assert speaker.said == ["is it late?", "Stop."]
    assert (first.name, second.name) == ("hum-0", "hum-1")
    assert len(first.spoken) > len(second.spoken)
    (end,) = pauses.find_pauses(first)
    assert end.is_end
    assert end.seconds == pytest.approx(2.5, abs=0.1)


def test_the_same_sentences_sound_the_same_and_each_otherwise():
    once, again = (list(synthetic.speak_all(["hello there", "hello there"], Humming(), None)) for _ in range(2))
    assert np.array_equal(once[0].samples, again[0].samples)
    assert not np.array_equal(once[0].samples[:8_000], once[1].samples[:8_000])


def test_every_third_turn_has_noise_behind_it():
    noise = np.tile(np.array([1, -1], np.float32), 8 * 16_000)
    turns = list(synthetic.speak_all(["hello there"] * 3, Humming(), noise))
    # Noise that alternates has all of its power at the highest frequency.
    shares = [abs(np.sum(t.samples[:4_000:2] - t.samples[1:4_001:2])) / np.abs(t.samples[:4_001]).sum() for t in turns]
    assert shares[0] > 0.99
    assert max(shares[1:]) < 0.2


def test_sentences_are_drawn_from_all_sources_beside_our_own():
    ours = Source((("yes",),), 1.0, is_ours=True)
    long = tuple("word" for _ in range(synthetic.MAX_WORDS + 1))
    other = Source((("turn", "it", "on"), ("stop",), long), 1.0)
    drawn = synthetic.sentences([ours, other], 5, 1)
    own = SAYINGS.read_text().splitlines()
    assert sorted(drawn) == sorted([*own, "turn it on", "stop"])
    assert drawn == synthetic.sentences([ours, other], 5, 1) != synthetic.sentences([ours, other], 5, 2)


def test_a_synthesizer_that_is_not_there_is_told_with_what_brings_it(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PATH", "")
    with pytest.raises(TrainingError, match="apt-get install flite"):
        synthetic.Flite()
