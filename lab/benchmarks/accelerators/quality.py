"""Quality of the engines with each contender: what callers get, and not how far logits are apart."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import jiwer
import numpy as np
import soxr

from benchmarks.accelerators.contenders import BERTS, Contender, float32_engine
from benchmarks.sla.material import DEMONSTRATION, read_items, samples
from benchmarks.speech_out.report import words
from benchmarks.speech_out.sentences import sentences
from benchmarks.words import WORDS
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.serving.utterance import Utterance
from engines.build.moonshine import TARGET as RECOGNIZER
from engines.tts.synthesizer import Part, speak
from engines.tts.voice import Voice
from engines.tts.waveform import SAMPLE_RATE
from modelkit.evaluation.local import LocalEngines
from modelkit.evaluation.nlu import evaluate_nlu
from modelkit.evaluation.qa import evaluate_qa
from modelkit.evaluation.text_data import read_labelled, read_questions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

_Item = TypeVar("_Item")
_HEARD_HZ = 16_000


def judge(name: str, contender: Contender, data: Mapping[str, Path | None], count: int) -> dict[str, object]:
    """Judges an engine with a contender.

    Args:
        name: of the network.
        contender: what computes it.
        data: labelled utterances (``nlu``) and questions (``qa``); None: the demonstration's recordings alone.
        count: how many utterances, questions or sentences.

    Returns:
        Measures by name; none where the contender cannot be put into the engine, or nothing to judge by was given.
    """
    if name in BERTS:
        file = data["nlu" if name == "intent_slot_bert" else "qa"]
        return {} if file is None else _judge_texts(name, contender, file, count)
    if name == "asr":
        return {"wer": _word_errors(*_recognized(contender))}
    return {} if contender.float32 else {"wer_heard_again": _word_errors(*_spoken(contender, count))}


def _judge_texts(name: str, contender: Contender, file: Path, count: int) -> dict[str, object]:
    with tempfile.TemporaryDirectory(prefix="vivavoce-float32-") as folder:
        engines = [float32_engine(name, Path(folder))] if contender.float32 else []
        local = LocalEngines(engines, accelerator=contender.accelerator)
        if name == "intent_slot_bert":
            utterances = _some(read_labelled(file), count)
            found = evaluate_nlu(local, utterances, (), concurrency=1, on_progress=lambda *_: None)
            wanted = ("intent_accuracy", "slot_f1")
        else:
            questions = _some(read_questions(file), count)
            found = evaluate_qa(local, questions, concurrency=1, on_progress=lambda *_: None)
            wanted = ("f1", "answer_or_not_accuracy")
        scores = asyncio.run(found).scores
    return {key: scores[key] for key in wanted}


def _some(items: Sequence[_Item], count: int) -> list[_Item]:
    """Picks so many, spread over all."""
    return [items[place] for place in np.linspace(0, len(items) - 1, min(count, len(items))).astype(int)]


def _recognized(contender: Contender) -> tuple[list[str], list[str]]:
    items = read_items(DEMONSTRATION)
    recognizer = MoonshineRecognizer(RECOGNIZER, accelerator=contender.accelerator)
    return [item.text for item in items], [_hear(recognizer, samples(item.path) / np.float32(32_768)) for item in items]


def _spoken(contender: Contender, count: int) -> tuple[list[str], list[str]]:
    voice, recognizer = Voice(1, contender.accelerator), MoonshineRecognizer(RECOGNIZER)
    texts, heard = sentences(count, seed=1), []
    for text in texts:
        audio = np.concatenate(list(speak(voice, (Part(text),), seed=1)))
        quiet = np.zeros(_HEARD_HZ // 4, np.float32)
        heard.append(_hear(recognizer, np.concatenate([soxr.resample(audio, SAMPLE_RATE, _HEARD_HZ), quiet])))
    return [words(text) for text in texts], [words(text) for text in heard]


def _hear(recognizer: MoonshineRecognizer, audio: NDArray[Any]) -> str:
    utterance = Utterance()
    utterance.append(audio.astype(np.float32))
    (tokens,) = recognizer.transcribe([utterance])
    return recognizer.text(tokens)


def _word_errors(said: list[str], heard: list[str]) -> float:
    errors = jiwer.process_words(said, heard, reference_transform=WORDS, hypothesis_transform=WORDS)
    return round(float(errors.wer), 4)
