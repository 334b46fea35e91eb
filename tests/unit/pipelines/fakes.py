"""Models that answer by arithmetic, so that what a conversation does with them can be told exactly."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pipelines.data.predictions import AnswerSpan, IntentPrediction, SlotSpan
from pipelines.data.recognition import NO_OPTIONS, Alternative, Hypothesis, PhraseHint, Timing
from pipelines.errors import ModelError
from pipelines.models.languages import ENGLISH, Languages
from pipelines.models.turn_end_port import TurnEnd
from tests.unit.pipelines.speech.fake_synthesizer import FakeSynthesizer

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.recognition import RecognitionOptions
    from pipelines.models.synthesis_port import SpeechPart

INSTANT = Timing(0.0, 0.001)


@dataclass
class FakeModels:
    """Recognizes one word a second of audio, and answers with the first word of the document.

    Attributes:
        recognition_seconds, understanding_seconds, answering_seconds: how long each model takes.
        fail: names of the models that refuse: ``asr``, ``nlu``, ``qa``, ``punctuation``, ``end_of_turn``.
        sequences: every sequence that was opened.
        words: what is recognized in all audio, if it is not one word a second.
        answers_anything: whether documents hold answers.
        judging_seconds: how long judging a pause takes.
        judgements: probabilities that the turn is over, one a pause that is judged; the last lasts for ever.
        judged: samples and text of every pause that was judged.
        languages: that recognition serves, of every variant.
        language: that every voice speaks.
        prepared: how often its configuration was read.
    """

    recognition_seconds: float = 0.05
    understanding_seconds: float = 0.01
    answering_seconds: float = 0.02
    fail: set[str] = field(default_factory=set)
    error: ModelError = field(default_factory=lambda: ModelError("out of order"))
    sequences: list[FakeSequence] = field(default_factory=list)
    understood: list[str] = field(default_factory=list)
    punctuated: list[list[str]] = field(default_factory=list)
    synthesizer: FakeSynthesizer = field(default_factory=FakeSynthesizer)
    words: str = ""
    answers_anything: bool = True
    judging_seconds: float = 0.03
    judgements: list[float] = field(default_factory=lambda: [0.5])
    judged: list[tuple[int, str]] = field(default_factory=list)
    turns_begun: int = 0
    turns_released: int = 0
    languages: Languages = ENGLISH
    language: str = "en"
    prepared: int = 0

    @property
    def recognizer(self) -> FakeModels:
        return self

    @property
    def intents(self) -> FakeModels:
        return self

    @property
    def answers(self) -> FakeModels:
        return self

    def get(self, role: str, variant: str | None = None) -> FakeModels:
        return self

    @property
    def versions(self) -> dict[str, int]:
        return {"asr": 1}

    def begin_turn(self, variants: object = None) -> FakeModels:
        self.turns_begun += 1
        return self

    def release(self) -> None:
        self.turns_released += 1

    @property
    def open_sequences(self) -> list[FakeSequence]:
        return [sequence for sequence in self.sequences if sequence.requests and not sequence.ended]

    async def prepare(self) -> None:
        """Reads nothing: there is no configuration."""
        if "prepare" in self.fail:
            raise self.error
        self.prepared += 1

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> FakeSequence:
        sequence = FakeSequence(self, options)
        self.sequences.append(sequence)
        return sequence

    hints: tuple[PhraseHint, ...] = ()

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        self.understood.append(text)
        await asyncio.sleep(self.understanding_seconds)
        if "nlu" in self.fail:
            raise self.error
        return IntentPrediction("count", 0.9, (SlotSpan("first", 0, len(text.split(maxsplit=1)[0])),), INSTANT)

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        await asyncio.sleep(self.answering_seconds)
        if "qa" in self.fail:
            raise self.error
        if not self.answers_anything:
            return AnswerSpan(None, None, 0.1, INSTANT)
        return AnswerSpan(0, len(document.split(maxsplit=1)[0]), 0.8, INSTANT)

    def speak(self, parts: Sequence[SpeechPart], voice: str, seed: int) -> AsyncGenerator[np.ndarray, None]:
        return self.synthesizer.speak(parts, voice, seed)

    async def judge(self, samples: npt.NDArray[np.float32], text: str, due: float | None = None) -> TurnEnd:
        self.judged.append((len(samples), text))
        probability = self.judgements.pop(0) if len(self.judgements) > 1 else self.judgements[0]
        await asyncio.sleep(self.judging_seconds)
        if "end_of_turn" in self.fail:
            raise self.error
        return TurnEnd(probability, INSTANT)

    async def punctuate(self, texts: Sequence[str]) -> list[str]:
        self.punctuated.append(list(texts))
        if "punctuation" in self.fail:
            raise self.error
        return [f"{text.capitalize()}." for text in texts]


@dataclass
class FakeSequence:
    models: FakeModels
    options: RecognitionOptions
    samples: int = 0
    requests: int = 0
    decoded: int = 0
    under_way: int = 0
    ended: bool = False

    async def send(
        self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool, due: float | None = None
    ) -> Hypothesis:
        assert not self.ended, "audio after the end"
        assert not self.under_way, "two requests of a sequence at once"
        self.under_way += 1
        self.requests += 1
        self.samples += len(audio)
        try:
            await asyncio.sleep(self.models.recognition_seconds)
        finally:
            self.under_way -= 1
        self.ended = self.ended or end
        if "asr" in self.models.fail:
            raise self.models.error
        new = self.samples - self.decoded
        if decode or end or new >= 6400:
            self.decoded = self.samples
        words = self.models.words or " ".join(f"w{second}" for second in range(self.decoded // 16000 + 1))
        timing = INSTANT if new else Timing(0.003, 0.0)
        count = self.options.alternatives
        alternatives = tuple(Alternative(f"{words} or {n}" if n else words, 0.5**n / 2) for n in range(count))
        language = self.options.language or self.models.languages.default
        settled = decode or end
        return Hypothesis(words, self.decoded, end, timing, alternatives, is_settled=settled, language=language)


class ScriptedVoice:
    """Judges windows by a script: pairs of seconds and probability, the last of which lasts for ever."""

    def __init__(self, *script: tuple[float, float]) -> None:
        self._probabilities = [probability for seconds, probability in script for _ in range(round(seconds / 0.032))]

    def probabilities(self, windows: npt.NDArray[np.float32]) -> list[float]:
        return [self._next() for _ in windows]

    def _next(self) -> float:
        return self._probabilities.pop(0) if len(self._probabilities) > 1 else self._probabilities[0]
