"""Voice of the package ``hibari-tts``: American English, 24 kHz.

Its network (6 M parameters, INT8) and its pronunciation rules come in the package's wheel; the rest is computed here.
Version and hash are pinned: the package has one author, and another network would speak with another voice. The package
would download its other voices when one names them. Nothing here does.
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from engines.session import ONNX_RUNTIME, load_session
from engines.tts.phonemes import has_sound, to_voice
from engines.tts.trimming import trimmed
from engines.tts.waveform import Spectra, render

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import numpy.typing as npt

    from engines.accelerators.choice import Accelerator

VOICE = "heart"
"""Name of the voice in the package."""
NETWORK_SHA256 = "5f70741d4e900f4e85d0037498736cc1b3e1b9a63a13546a5da1e63abf4fccd8"

MAX_PHONEMES = 400
"""The network was trained on no longer runs; what is longer is spoken in several."""

_GAIN = np.float32(1.8)
"""Brings the voice, which speaks at -25 dB below full scale, to -20 dB; its peaks then reach 0.8."""
_PEAK = np.float32(0.99)
_CUTS = (". ", "! ", "? ", "; ", ": ", ", ", "— ", " ")
_MARKUP = str.maketrans(dict.fromkeys("[]", " "))
"""Square brackets would mean phonemes to the package's rules."""


class VoiceFilesError(RuntimeError):
    """Voice files of another version; the message names the cure."""


class Voice:
    """Speaks words and phonemes.

    Args:
        threads: cores that the network may use for one run.
        accelerator: what computes.

    Attributes:
        name: of the voice.

    Raises:
        VoiceFilesError: the package is not installed, or is another version.
        AcceleratorError: the accelerator cannot be used here.
    """

    name = VOICE

    def __init__(self, threads: int = 1, accelerator: Accelerator = ONNX_RUNTIME) -> None:
        network = network_path()
        if hashlib.sha256(network.read_bytes()).hexdigest() != NETWORK_SHA256:
            raise VoiceFilesError("the network of hibari-tts is not that of version 0.2.1: install hibari-tts==0.2.1")
        self._session = load_session(network, threads, accelerator=accelerator)
        self._vocabulary: dict[str, int] = json.loads(network.with_name("vocab.json").read_text(encoding="utf-8"))
        self._pronounce = _pronunciation()
        # The lexicon is a million objects that stay: going through them would hold every text up.
        gc.collect()
        gc.freeze()

    def pronounce(self, text: str) -> str:
        """Return a text's phonemes in the voice's alphabet; "" for none."""
        return self._pronounce(text.translate(_MARKUP))

    def transcribe(self, phonemes: str) -> str:
        """Return phonemes of the International Phonetic Alphabet in the voice's own."""
        return "".join(sign for sign in to_voice(phonemes) if sign in self._vocabulary)

    def speak(self, phonemes: str, speed: float, noise: np.random.Generator) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the samples of a run of phonemes, as they are ready.

        Args:
            phonemes: in the voice's alphabet.
            speed: 1 for the voice's own, 2 for twice as fast.
            noise: for the breath in it.
        """
        for run in cut(phonemes):
            if has_sound(run):
                for block in trimmed(render(self._spectra(run, speed), noise)):
                    yield np.clip(block * _GAIN, -_PEAK, _PEAK)

    def _spectra(self, phonemes: str, speed: float) -> Spectra:
        ids = [0, *(self._vocabulary[sign] for sign in phonemes if sign in self._vocabulary), 0]
        feeds = {"ids": np.array([ids], np.int64), "speed": np.array([speed], np.float32)}
        return Spectra(*(output[0] for output in self._session.run(None, feeds)))


def load(folder: Path, threads: int, accelerator: Accelerator) -> Voice:
    """Load the voice; see :func:`engines.tts.voices.load_voice`."""
    del folder
    return Voice(threads, accelerator)


def cut(phonemes: str, most: int = MAX_PHONEMES) -> Sequence[str]:
    """Cut a run that is too long, after a mark or between words."""
    runs = []
    rest = phonemes.strip()
    while len(rest) > most:
        ends = (rest.rfind(mark, 0, most) + len(mark) for mark in _CUTS if rest.rfind(mark, 0, most) > 0)
        end = next(ends, most)
        runs.append(rest[:end].strip())
        rest = rest[end:].strip()
    return [*runs, rest] if rest else runs


def network_path() -> Path:
    """Return the file of the network.

    Raises:
        VoiceFilesError: the package is not installed.
    """
    return _assets() / "hibari.onnx"


def _assets() -> Path:
    spec = importlib.util.find_spec("hibari")
    if spec is None or spec.origin is None:
        raise VoiceFilesError("hibari-tts is not installed: run `make setup`, or `pip install '.[serve]'`")
    return Path(spec.origin).parent / "assets"


def _pronunciation() -> Callable[[str], str]:
    """Load the rules and dictionaries that tell how words are pronounced."""
    from hibari.g2p import G2P  # noqa: PLC0415 - takes a third of a second, and is needed inside Triton alone

    rules: Callable[[str], str] = G2P()
    # Loads what it reads unknown words with, which the first caller would wait for.
    rules("Vivavoce.")
    return rules
