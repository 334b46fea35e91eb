"""Voices of Piper: a VITS network, with the phonemes of espeak-ng.

The files are those that Piper's training writes: ``NAME.onnx`` and ``NAME.onnx.json``. Phonemes come from the package
``piper-tts`` (GPL-3.0 or later), which users install beside the service; nothing else of it is used.
"""

from __future__ import annotations

import importlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import soxr

from engines.accelerators.choice import AcceleratorError
from engines.session import ONNX_RUNTIME, load_session
from engines.tts.voice import cut
from engines.tts.waveform import SAMPLE_RATE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from engines.accelerators.choice import Accelerator

NETWORK, CONFIG = "voice.onnx", "voice.onnx.json"
"""Names of the two files in the folder of a model's version."""

_PAD, _BEGIN, _END = "_", "^", "$"
_INPUTS = {"input", "input_lengths", "scales"}
_PEAK = 0.95
_MAX_GAIN = 4.0


class VoiceFileError(ValueError):
    """A voice file that cannot be spoken with; the message names the cure."""


@dataclass(frozen=True, slots=True)
class PiperConfig:
    """Configuration of a voice, from its JSON file.

    Attributes:
        language: code of two or three letters.
        espeak_voice: name of the rules by which espeak-ng pronounces.
        sample_rate: samples a second.
        ids: numbers of each phoneme.
        length: of each sound; 1 as the voice was trained.
        speakers: how many voices the network has.
    """

    language: str
    espeak_voice: str
    sample_rate: int
    ids: Mapping[str, tuple[int, ...]]
    length: float
    speakers: int


def read_config(path: Path) -> PiperConfig:
    """Read a voice's JSON file.

    Raises:
        VoiceFileError: it is damaged, or that of another make.
    """
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        espeak, inference = told["espeak"]["voice"], told.get("inference", {})
        ids = {phoneme: tuple(map(int, numbers)) for phoneme, numbers in told["phoneme_id_map"].items()}
        length = float(inference.get("length_scale", 1.0))
        language = str(told.get("language", {}).get("family") or espeak).lower().split("-")[0]
        config = PiperConfig(
            language, str(espeak), int(told["audio"]["sample_rate"]), ids, length, int(told.get("num_speakers", 1))
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise VoiceFileError(f"{path} is not the JSON file of a Piper voice ({error!r}): download it again") from error
    if told.get("phoneme_type", "espeak") != "espeak" or not {_PAD, _BEGIN, _END} <= ids.keys():
        raise VoiceFileError(f"{path} is of a voice without espeak-ng's phonemes: take another voice")
    if not 8_000 <= config.sample_rate <= 48_000:
        raise VoiceFileError(f"{path} names a sample rate of {config.sample_rate}: download the file again")
    return config


class PiperVoice:
    """Speaks words and phonemes (``engines.tts.synthesizer.Speaker``).

    Attributes:
        name: of the voice.
        language: code of its language.
    """

    def __init__(
        self,
        network: Path,
        config: PiperConfig,
        threads: int = 1,
        name: str = "",
        accelerator: Accelerator = ONNX_RUNTIME,
    ) -> None:
        """Load a voice.

        Args:
            network: an ONNX file.
            config: of it.
            threads: cores that one text may use.
            name: of the voice.
            accelerator: what computes.

        Raises:
            AcceleratorError: the accelerator cannot be used here.
            VoiceFileError: the file is damaged or of another make, or ``piper-tts`` is not installed.
        """
        self.name, self.language = name, config.language
        self._config = config
        try:
            self._session = load_session(network, threads, accelerator=accelerator)
        except AcceleratorError:
            raise
        except Exception as error:  # the library raises classes of its own
            raise VoiceFileError(f"{network} is no network that can be loaded ({error}): download it again") from error
        names = {one.name for one in self._session.get_inputs()}
        if not names >= _INPUTS:
            raise VoiceFileError(f"{network} has the inputs {', '.join(sorted(names))}: it is not a voice of Piper")
        self._takes_speaker = "sid" in names
        self._phonemizer = _phonemizer()

    def pronounce(self, text: str) -> str:
        """Return a text's phonemes, as espeak-ng has them."""
        sentences = self._phonemizer.phonemize(self._config.espeak_voice, text)
        return " ".join("".join(sentence) for sentence in sentences)

    def transcribe(self, phonemes: str) -> str:
        """Return the phonemes that the voice knows."""
        return "".join(sign for sign in phonemes if sign in self._config.ids)

    def speak(self, phonemes: str, speed: float, noise: np.random.Generator) -> Iterator[npt.NDArray[np.float32]]:
        """Yield the samples of a run of phonemes, as they are ready.

        Args:
            phonemes: in the voice's alphabet.
            speed: 1 for the voice's own, 2 for twice as fast.
            noise: unused: the network has its own, which no seed reaches, and is asked for none.
        """
        del noise
        for run in cut(phonemes):
            ids = [*self._config.ids[_BEGIN], *self._config.ids[_PAD]]
            for sign in run:
                if sign in self._config.ids:
                    ids += [*self._config.ids[sign], *self._config.ids[_PAD]]
            ids += self._config.ids[_END]
            # The same text and seed give the same samples: without noise there is nothing to draw.
            feeds: dict[str, npt.NDArray[Any]] = {
                "input": np.array([ids], np.int64),
                "input_lengths": np.array([len(ids)], np.int64),
                "scales": np.array([0.0, self._config.length / speed, 0.0], np.float32),
            }
            if self._takes_speaker:
                feeds["sid"] = np.array([0], np.int64)
            (samples, *_) = self._session.run(None, feeds)
            spoken = soxr.resample(samples.reshape(-1).astype(np.float32), self._config.sample_rate, SAMPLE_RATE)
            if not np.isfinite(spoken).all():
                raise VoiceFileError("the voice gives samples that are no numbers: download it again")
            peak = float(np.abs(spoken).max(initial=0.0))
            spoken = spoken * min(_MAX_GAIN, _PEAK / peak) if peak else spoken
            for start in range(0, len(spoken), SAMPLE_RATE):
                yield spoken[start : start + SAMPLE_RATE].astype(np.float32)


def load(folder: Path, threads: int, accelerator: Accelerator) -> PiperVoice:
    """Load a voice; see :func:`engines.tts.voices.load_voice`."""
    card = json.loads((folder / "voice.json").read_text(encoding="utf-8"))
    return PiperVoice(folder / NETWORK, read_config(folder / CONFIG), threads, str(card.get("name", "")), accelerator)


def _phonemizer() -> Any:  # noqa: ANN401 - a package without types
    try:
        return importlib.import_module("piper.phonemize_espeak").EspeakPhonemizer()
    except ImportError as error:
        raise VoiceFileError(
            "Piper's voices need espeak-ng's phonemes: run pip install 'vivavoce-server[piper]' (GPL-3.0)"
        ) from error
