"""What is recognized: recordings, cut into utterances as the service would cut them."""

from __future__ import annotations

import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import soxr

from benchmarks.conversation import TWO_CITIES
from benchmarks.sla.material import DEMONSTRATION, RATE_HZ, read_items
from benchmarks.sla.material import samples as read_samples
from engines.build.moonshine import find_assets
from engines.tts.synthesizer import Part, speak
from engines.tts.voice import Voice
from engines.tts.waveform import SAMPLE_RATE as VOICE_RATE_HZ
from pipelines.turns.listening import PREROLL, SOFT_LIMIT, SOFT_PAUSE
from pipelines.turns.pausing import SPECULATION_WINDOWS
from pipelines.vad.endpointing import Boundary, Endpointer, EndpointingConfig
from pipelines.vad.voice_activity import WINDOW_SAMPLES, SileroModel, is_speech

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    Samples = NDArray[np.float32]

BECKETT = "Ever tried. Ever failed. No matter. Try again. Fail again. Fail better."
READINGS = {"two_cities.wav": TWO_CITIES, "beckett.wav": BECKETT}
"""The human recordings that come inside moonshine-voice, and what is read in them."""


DIGITS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True, slots=True)
class Recording:
    """A recording and what is known of it.

    Attributes:
        name: of its file.
        utterances: its pieces with speech, float32 ``[samples]`` at 16 kHz.
        text: what is said; None where nobody wrote it down.
        values: phrases that are in it for certain.
    """

    name: str
    utterances: tuple[Samples, ...]
    text: str | None = None
    values: tuple[str, ...] = ()


def readings(model: SileroModel) -> list[Recording]:
    """Returns the human recordings of :data:`READINGS`, cut at pauses.

    Raises:
        AssetsError: moonshine-voice is not installed, or not in the version that carries them.
    """
    folder = find_assets().parent
    return [Recording(name, tuple(cut(_load(folder / name), model)), text) for name, text in READINGS.items()]


def demonstration(model: SileroModel) -> list[Recording]:
    """Returns the recordings that come with the project; they are synthetic."""
    items = read_items(DEMONSTRATION)
    return [Recording(item.path.name, tuple(cut(_load(item.path), model)), item.text) for item in items]


def commands(folder: Path, count: int, model: SileroModel) -> list[Recording]:
    """Returns a sample of crowd-sourced commands, always the same one.

    Args:
        folder: holds ``labels.json`` and ``audio/``, as the Picovoice Speech-to-Intent Benchmark lays them out. The
            labels tell the values of slots, which stand in the recording word for word.
        count: how many.
        model: finds the speech.
    """
    labels = json.loads((folder / "labels.json").read_text(encoding="utf-8"))
    names = sorted(labels)
    chosen = sorted(random.Random(1).sample(names, min(count, len(names))))
    return [
        Recording(name, tuple(cut(_load(folder / "audio" / name), model)), values=tuple(labels[name]["slots"].values()))
        for name in chosen
    ]


def digit_strings(count: int, model: SileroModel) -> list[Recording]:
    """Returns numbers of four to ten digits in groups, as people tell them; the voice of ``tts`` says them."""
    drawn, voice, made = random.Random(1), Voice(1), []
    for number in range(count):
        digits = [drawn.choice(DIGITS) for _ in range(drawn.randint(4, 10))]
        text = ", ".join(" ".join(digits[at : at + 3]) for at in range(0, len(digits), 3))
        pieces = list(speak(voice, [Part(text, speed=drawn.uniform(0.85, 1.2))], seed=number))
        audio = np.asarray(soxr.resample(np.concatenate(pieces), VOICE_RATE_HZ, RATE_HZ), np.float32)
        made.append(Recording(f"digits-{number}", tuple(cut(np.pad(audio, RATE_HZ), model)), text))
    return made


def cut(audio: Samples, model: SileroModel) -> list[Samples]:
    """Cuts a recording at its silences with the service's own voice activity, endpointing and limits."""
    stream, endpointer, speech = model.new_stream(), Endpointer(EndpointingConfig()), False
    pieces, start, end = [], 0, 0
    windows = np.pad(audio, (0, -len(audio) % WINDOW_SAMPLES)).reshape(-1, 1, WINDOW_SAMPLES)
    for number, window in enumerate(windows, 1):
        heard = number * WINDOW_SAMPLES
        (probability,) = stream.probabilities(window)
        speech = is_speech(probability, was_speech=speech)
        endpointer, boundary = endpointer.push(speech=speech)
        if boundary is Boundary.START:
            onset = heard - (endpointer.windows_since_onset() or 1) * WINDOW_SAMPLES
            start = max(end, onset - PREROLL, 0)
        if endpointer.speaking and heard - start > SOFT_LIMIT and endpointer.trailing_silence >= SOFT_PAUSE:
            boundary, endpointer = Boundary.STOP, endpointer.end()
        if boundary is Boundary.STOP:
            end = min(heard, heard - (endpointer.trailing_silence - SPECULATION_WINDOWS) * WINDOW_SAMPLES)
            pieces.append(audio[start:end])
    return [*pieces, audio[start:]] if endpointer.speaking else pieces


def seconds(recordings: Iterable[Recording]) -> float:
    """Returns how long the utterances are together."""
    return sum(len(piece) for recording in recordings for piece in recording.utterances) / RATE_HZ


def _load(path: Path) -> Samples:
    return read_samples(path).astype(np.float32) / np.float32(32768)
