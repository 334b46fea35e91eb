"""Synthetic turns: sentences in the voice of ``tts`` or of flite, at many speeds and pitches, levels and noises."""

from __future__ import annotations

import random
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
import soundfile
import soxr

from engines.tts.speaking import Part, speak
from engines.tts.voice import Voice
from engines.tts.waveform import SAMPLE_RATE as VOICE_RATE
from modelkit.errors import TrainingError
from modelkit.turn.pauses import SAMPLE_RATE, Recording
from modelkit.turn.texts import SAYINGS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy.typing as npt

    from modelkit.turn.texts import Source

MAX_WORDS = 16
FLITE_VOICES = ("slt", "rms", "awb", "kal16")
_STRETCHES = (0.85, 1.15)
_SPEEDS, _PITCHES = (0.85, 1.2), (0.78, 1.1)
_GAINS_DB, _SNRS_DB = (-20.0, 3.0), (12.0, 45.0)
_BEFORE, _AFTER = 0.4, 2.5
_QUESTION_WORDS = frozenset(
    ("what", "who", "when", "where", "why", "how", "which", "is", "are", "do", "does", "did", "can", "could", "will")
)


def sentences(sources: Sequence[Source], most: int, seed: int) -> list[str]:
    """Draws sentences of each source, and takes all of our own.

    Args:
        sources: see :func:`modelkit.turn.texts.read_sources`.
        most: of each source.
        seed: of what is drawn.
    """
    rng = random.Random(seed)
    drawn = [line for line in SAYINGS.read_text(encoding="utf-8").splitlines() if line.strip()]
    for source in sources[1:]:
        short = [words for words in source.utterances if len(words) <= MAX_WORDS]
        drawn += [" ".join(words) for words in rng.sample(short, min(most, len(short)))]
    rng.shuffle(drawn)
    return drawn


class Speaker(Protocol):
    """A voice, or several that take turns."""

    name: str

    def speak(self, text: str, rng: np.random.Generator, number: int) -> tuple[npt.NDArray[np.float32], int]:
        """Speaks a sentence; returns its samples and their rate in Hz."""


class OurVoice:
    """The voice of ``tts``, at many speeds."""

    name = "synthetic"

    def __init__(self) -> None:
        self._voice = Voice(1)

    def speak(self, text: str, rng: np.random.Generator, number: int) -> tuple[npt.NDArray[np.float32], int]:
        """See :class:`Speaker`."""
        part = Part(text, speed=float(rng.uniform(*_SPEEDS)))
        return np.concatenate([np.zeros(0, np.float32), *speak(self._voice, [part], seed=number)]), VOICE_RATE


class Flite:
    """The voices of the synthesizer flite (Debian: ``apt-get install flite``), in turn.

    Raises:
        TrainingError: it is not installed.
    """

    name = "flite"

    def __init__(self) -> None:
        self._program = shutil.which("flite")
        if self._program is None:
            raise TrainingError("flite is not installed: `apt-get install flite`, or leave --flite out")

    def speak(self, text: str, rng: np.random.Generator, number: int) -> tuple[npt.NDArray[np.float32], int]:
        """See :class:`Speaker`."""
        assert self._program is not None
        stretch = f"duration_stretch={rng.uniform(*_STRETCHES):.2f}"
        with tempfile.TemporaryDirectory() as folder:
            target = str(Path(folder, "speech.wav"))
            voice = FLITE_VOICES[number % len(FLITE_VOICES)]
            command = [self._program, "-voice", voice, "--setf", stretch, "-t", text, "-o", target]
            subprocess.run(command, check=True, capture_output=True)  # noqa: S603 - sentences of our own data
            samples, rate = soundfile.read(target, dtype="float32")
        return samples, int(rate)


def speak_all(texts: Sequence[str], speaker: Speaker, noise: npt.NDArray[np.float32] | None) -> Iterator[Recording]:
    """Yields a turn for each text, each in a way of its own.

    Args:
        texts: sentences.
        speaker: who speaks.
        noise: sound at 16 kHz that every third turn has in its background; None for hiss in all of them.
    """
    for number, text in enumerate(texts):
        rng = np.random.default_rng(number)
        mark = "?" if text.split()[0].lower() in _QUESTION_WORDS else "."
        spoken, rate = speaker.speak(text.rstrip(".?!") + mark, rng, number)
        # To play faster or slower changes the pitch: other speakers, of a kind.
        at_rate = soxr.resample(spoken, rate, SAMPLE_RATE / float(rng.uniform(*_PITCHES)))
        name = f"{speaker.name}-{number}"
        recording = Recording.of(name, _noisy(at_rate, None if number % 3 else noise, rng))
        if len(recording.spoken):
            yield recording


def _noisy(
    speech: npt.NDArray[np.float32], noise: npt.NDArray[np.float32] | None, rng: np.random.Generator
) -> npt.NDArray[np.float32]:
    silences = [np.zeros(round(seconds * SAMPLE_RATE), np.float32) for seconds in (_BEFORE, _AFTER)]
    whole = np.concatenate([silences[0], speech, silences[1]]) * 10 ** (rng.uniform(*_GAINS_DB) / 20)
    background = rng.standard_normal(len(whole), np.float32)
    if noise is not None and len(noise) > len(whole):
        at = int(rng.integers(0, len(noise) - len(whole)))
        background = noise[at : at + len(whole)]
    level = np.sqrt(np.mean(np.square(whole)) / np.mean(np.square(background))) * 10 ** (-rng.uniform(*_SNRS_DB) / 20)
    mixed: npt.NDArray[np.float32] = (whole + level * background).astype(np.float32)
    return mixed
