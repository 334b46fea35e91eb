from __future__ import annotations

import numpy as np
import pytest
import soundfile

from benchmarks.speechsquad import voices
from benchmarks.speechsquad.voices import SPEAKERS, Recordings, Speaker, SynthesizerMissingError, trim


@pytest.fixture
def _recipe(monkeypatch):
    monkeypatch.setattr(voices, "recipe", lambda: {"synthesizer": "1"})


def test_silence_is_cut_off_and_the_level_is_one():
    tone = np.sin(np.arange(1000)).astype(np.float32) * 0.2
    trimmed = trim(np.pad(tone, (300, 700)))
    assert 990 <= len(trimmed) <= 1000
    assert np.abs(trimmed).max() == pytest.approx(0.5)


@pytest.mark.usefixtures("_recipe")
def test_a_recording_is_made_once_for_each_speaker_and_text(tmp_path, monkeypatch):
    made: list[tuple[str, object]] = []

    def speak(_, text, speaker):
        made.append((text, speaker))
        return np.zeros(160, np.float32)

    monkeypatch.setattr(Recordings, "_speak", speak)
    recordings = Recordings(tmp_path / "cache")
    paths = {recordings.find(text, speaker) for text in ("a", "b") for speaker in SPEAKERS for _ in range(2)}
    assert len(paths) == len(made) == 2 * len(SPEAKERS)
    assert {path.name for path in paths} == {path.name for path in (tmp_path / "cache").iterdir()}
    assert soundfile.info(next(iter(paths))).samplerate == 16_000


@pytest.mark.usefixtures("_recipe")
def test_a_recording_that_fails_leaves_nothing_that_looks_finished(tmp_path, monkeypatch):
    def write(path, *_, **__):
        path.write_bytes(b"half")
        raise OSError("disk full")

    monkeypatch.setattr(Recordings, "_speak", lambda *_: np.zeros(160, np.float32))
    monkeypatch.setattr(voices.soundfile, "write", write)
    with pytest.raises(OSError, match="disk full"):
        Recordings(tmp_path).find("a", SPEAKERS[0])
    assert not list(tmp_path.glob("*.flac"))


def test_a_missing_synthesizer_says_how_to_install_it(monkeypatch):
    def absent(package):
        raise voices.PackageNotFoundError(package)

    monkeypatch.setattr(voices, "version", absent)
    with pytest.raises(SynthesizerMissingError, match=r"pip install '.\[speechsquad\]'"):
        voices.recipe()


def test_speakers_differ_in_tempo_and_pitch_and_speak_the_same_every_time(tmp_path):
    pytest.importorskip("piper", reason="needs the extra speechsquad")

    recordings = Recordings(tmp_path)

    def said(speaker: Speaker) -> np.ndarray:
        path = recordings.find("Where is it?", speaker)
        samples, _ = soundfile.read(path, dtype="int16")
        path.unlink()
        return samples

    plain, again, faster, higher = map(said, [Speaker(1.0, 1.0)] * 2 + [Speaker(1.3, 1.0), Speaker(1.0, 1.2)])
    assert np.array_equal(plain, again)
    assert len(faster) < 0.9 * len(plain)
    assert len(higher) == pytest.approx(len(plain), rel=0.1)
    assert pitch(higher) > 1.1 * pitch(plain)


def pitch(samples: np.ndarray) -> float:
    """Mean frequency, in Hz, of a spectrum below 1 kHz weighted by its power."""
    power = np.abs(np.fft.rfft(samples)) ** 2
    frequencies = np.fft.rfftfreq(len(samples), 1 / 16_000)
    below = frequencies < 1000
    return float(np.average(frequencies[below], weights=power[below]))
