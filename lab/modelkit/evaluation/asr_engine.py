"""Runs the recognizer of an engine directory on recordings, without a service."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import jiwer
import numpy as np
import soxr

import vivavoce
from engines.asr.recognizers import load_recognizer
from engines.asr.serving.utterance import SAMPLE_RATE, Utterance
from modelkit.errors import DataError, EngineError
from modelkit.evaluation.recordings import read_clip
from modelkit.text_files import read_text
from modelkit.triton_models import MODEL_REPOSITORY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from engines.asr.serving.recognizer import Recognizer

_PARAMETER = re.compile(r'parameters\s*:?\s*\{\s*key:\s*"([^"]*)"\s*,?\s*value:?\s*\{\s*string_value:\s*"([^"]*)"')
_ON_THE_CPU = {"device": "cpu"}
_ARGUMENTS = {"model_config": "{}", "model_instance_kind": "CPU", "model_instance_device_id": "0"}


@dataclass(frozen=True, slots=True)
class Transcribed:
    """One recording and its text.

    Attributes:
        path: of the recording.
        text: what was recognized.
        tokens: of the recognizer.
        frames: encoder frames of the tokens; None where the recognizer does not tell them.
        errors: wrong, missing and additional words; None without a transcript.
        words: of the transcript.
    """

    path: Path
    text: str
    tokens: list[int]
    frames: list[int] | None
    errors: int | None
    words: int

    def to_json(self) -> str:
        """Return one JSON object."""
        told: dict[str, object] = {"file": str(self.path), "text": self.text, "tokens": self.tokens}
        if self.frames is not None:
            told["frames"] = self.frames
        if self.errors is not None:
            told |= {"errors": self.errors, "words": self.words}
        return json.dumps(told, ensure_ascii=False)

    def to_line(self) -> str:
        """Return a line for people."""
        errors = "" if self.errors is None else f"  ({self.errors} of {self.words} words wrong)"
        return f"{self.path}: {self.text}{errors}"


def run_engine(engine: Path, files: Sequence[Path], normalize: Callable[[str], str]) -> Iterator[Transcribed]:
    """Transcribe recordings with the recognizer of an engine directory, one after the other.

    Raises:
        EngineError: the engine cannot be loaded.
        DataError: a file is no recording, or longer than the recognizer takes.
    """
    recognizer = _load(engine)
    for path in files:
        utterance = _utterance(path, recognizer.max_seconds)
        (tokens,) = recognizer.transcribe([utterance], thorough=True)
        text = recognizer.text(tokens)
        beside = path.with_suffix(".txt")
        errors, words = _errors(normalize(read_text(beside)), normalize(text)) if beside.is_file() else (None, 0)
        frames = getattr(recognizer, "token_frames", lambda _: None)(utterance)
        yield Transcribed(path, text, list(tokens), frames, errors, words)


def summed_errors(done: Sequence[Transcribed]) -> float | None:
    """Return the word error rate of all recordings with a transcript, or None without one."""
    words = sum(one.words for one in done)
    return sum(one.errors or 0 for one in done) / words if words else None


def _load(engine: Path) -> Recognizer:
    model = engine / "triton" / "asr"
    own = model / "1" / "model.py"
    if own.exists() and own.read_bytes() != (MODEL_REPOSITORY / "asr" / "1" / "model.py").read_bytes():
        raise EngineError(f"{engine} brings code of its own: serve it with --engine-code, and judge the service")
    parameters = dict(_PARAMETER.findall(read_text(model / "config.pbtxt"))) | _ON_THE_CPU
    try:
        return load_recognizer(model / "1", _ARGUMENTS, parameters)
    except (OSError, ValueError, KeyError) as error:
        raise EngineError(f"{engine} cannot be loaded: {error}") from error


def _utterance(path: Path, max_seconds: float) -> Utterance:
    try:
        clip = read_clip(path)
    except (vivavoce.VivavoceError, OSError) as error:
        raise DataError(f"{path} is no recording that can be read: {error}") from error
    samples = soxr.resample(clip.samples, clip.sample_rate_hz, SAMPLE_RATE)
    if len(samples) > max_seconds * SAMPLE_RATE:
        raise DataError(f"{path} is longer than the {max_seconds:g} s that the recognizer takes: cut it")
    utterance = Utterance()
    utterance.append(np.asarray(samples, np.float32))
    return utterance


def _errors(reference: str, hypothesis: str) -> tuple[int, int]:
    if not reference:
        return len(hypothesis.split()), 0
    found = jiwer.process_words(reference, hypothesis)
    return found.substitutions + found.deletions + found.insertions, len(reference.split())
