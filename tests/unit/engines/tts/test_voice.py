"""The voice itself, from the package that carries it."""

from __future__ import annotations

import socket

import numpy as np
import pytest

from engines.tts import voice as module
from engines.tts.synthesizer import Part, speak
from engines.tts.voice import MAX_PHONEMES, Voice, VoiceFilesError, cut


@pytest.fixture(scope="module")
def voice() -> Voice:
    return Voice()


def said(voice: Voice, *parts: Part, seed: int = 1) -> np.ndarray:
    return np.concatenate([np.zeros(0, np.float32), *speak(voice, parts, seed)])


def level_db(speech: np.ndarray) -> float:
    """Level of what is speech in it, not the silence between words."""
    frames = speech[: len(speech) // 240 * 240].reshape(-1, 240)
    powers = np.mean(np.square(frames), axis=1)
    return float(10 * np.log10(powers[powers > 10**-4.0].mean()))


@pytest.mark.parametrize(
    "text", ["Yes.", "The ferry leaves at nine.", "What would you like to do next?", "Good night!"]
)
def test_sentences_are_equally_loud_and_begin_at_once(voice: Voice, text: str):
    speech = said(voice, Part(text))
    assert -22.5 < level_db(speech) < -17.5
    assert np.abs(speech).max() < 1
    assert np.abs(speech[: 24 * 60]).max() > 0.005


def test_speech_is_the_same_for_the_same_seed(voice: Voice):
    assert np.array_equal(said(voice, Part("Good morning.")), said(voice, Part("Good morning.")))


@pytest.mark.parametrize("text", ["", " ", "...", "?!", "—", "[]", "🙂", "\x00"])
def test_nothing_to_say_is_silence(voice: Voice, text: str):
    assert not len(said(voice, Part(text)))


def test_words_that_no_dictionary_has_are_spoken(voice: Voice):
    assert len(said(voice, Part("Vivavoce Zbrlfk Xanthippocles"))) > 24_000


def test_brackets_are_no_phonemes(voice: Voice):
    assert voice.pronounce("[ferry](/kæt/)").startswith(voice.pronounce("ferry"))


def test_a_very_long_run_is_spoken_in_several(voice: Voice):
    runs = cut(voice.pronounce("and then the ferry went on to the next island " * 20))
    assert len(runs) > 2
    assert all(len(run) <= MAX_PHONEMES for run in runs)
    assert cut("a" * 1000, 400) == ["a" * 400, "a" * 400, "a" * 200]
    assert cut("ab, cd ef. gh", 8) == ["ab,", "cd ef.", "gh"]


def test_another_network_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "NETWORK_SHA256", "0" * 64)
    with pytest.raises(VoiceFilesError, match=r"install hibari-tts==0\.2\.1"):
        Voice()


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module.importlib.util, "find_spec", lambda _: None)
    with pytest.raises(VoiceFilesError, match="make setup"):
        Voice()


def test_nothing_is_looked_up_on_the_network(monkeypatch: pytest.MonkeyPatch):
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("the voice opens a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert len(said(Voice(), Part("Good morning, Xanthippocles.")))
