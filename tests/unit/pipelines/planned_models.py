"""Models that answer as the plan of a random conversation says, and note what is asked in a wrong way."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.data.predictions import AnswerSpan, IntentPrediction, SlotSpan
from pipelines.data.recognition import NO_OPTIONS, Hypothesis
from pipelines.errors import ModelError
from pipelines.models.languages import ENGLISH
from pipelines.models.turn_end_port import TurnEnd
from tests.unit.pipelines.fakes import INSTANT

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pipelines.data.recognition import RecognitionOptions
    from tests.unit.pipelines.conversation_plans import Plan

SPEECH, SILENCE = 1.0, 0.0


class Models:
    """Answers as the plan says, one drawn time and fate after another, and notes what has been asked."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._asked = 0
        self.sequences: list[Sequence] = []
        self.held = 0
        self.under_way = 0
        self.wrongs: list[str] = []
        self.settles = plan.settles

    recognizer = intents = answers = property(lambda self: self)
    versions: dict[str, int] = {"asr": 1}  # noqa: RUF012 - nobody changes it
    hints = ()
    languages = ENGLISH

    def get(self, role: str, variant: str | None = None) -> Models:
        return self

    def begin_turn(self, variants: object = None) -> Models:
        self.held += 1
        return Holding(self)

    async def work(self) -> None:
        number, self._asked = self._asked, self._asked + 1
        self.under_way += 1
        try:
            await asyncio.sleep(self._plan.model_seconds[number % len(self._plan.model_seconds)])
        finally:
            self.under_way -= 1
        fate = self._plan.model_fates[number % len(self._plan.model_fates)]
        if fate == "fails":
            raise ModelError("out of order")
        if fate == "breaks":
            raise ZeroDivisionError

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> Sequence:
        self.sequences.append(Sequence(self))
        return self.sequences[-1]

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        await self.work()
        return IntentPrediction("count", 0.9, (SlotSpan("first", 0, 1),), INSTANT)

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        await self.work()
        return AnswerSpan(0, 5, 0.8, INSTANT)

    async def judge(self, samples: npt.NDArray[np.float32], text: str, due: float | None = None) -> TurnEnd:
        if not 0 < len(samples) <= 8 * 16_000 or not text:
            self.wrongs.append("a pause of which there is nothing to judge")
        judgements = self._plan.judgements
        probability = judgements[self._asked % len(judgements)]
        await self.work()
        return TurnEnd(probability, INSTANT)


class Holding:
    """The models of one turn; released once."""

    versions: dict[str, int] = {"asr": 1}  # noqa: RUF012 - nobody changes it
    hints = ()

    def __init__(self, models: Models) -> None:
        self.recognizer = self.intents = self.answers = models
        self._released = False

    def get(self, role: str, variant: str | None = None) -> Models:
        return self.recognizer

    def release(self) -> None:
        self.recognizer.held -= not self._released
        self._released = True


@dataclass
class Sequence:
    """One sequence of the recognizer."""

    models: Models
    samples: int = 0
    asked: int = 0
    ends: int = 0
    busy: bool = False

    async def send(
        self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool, due: float | None = None
    ) -> Hypothesis:
        if self.ends:
            self.models.wrongs.append("a request after the END")
        if self.busy:
            self.models.wrongs.append("two requests of a sequence at once")
        self.asked += 1
        self.ends += end
        self.busy = True
        try:
            await self.models.work()
        finally:
            self.busy = False
        self.samples += len(audio)
        words = " ".join(
            f"w{second}" if self.asked > 1 else f"v{second}" for second in range(self.samples // 16_000 + 1)
        )
        return Hypothesis(words, self.samples, end, INSTANT, is_settled=end or (decode and self.models.settles))


class Voice:
    """Hears what the test says is being sent."""

    def __init__(self) -> None:
        self.probability = SILENCE

    def probabilities(self, windows: npt.NDArray[np.float32]) -> list[float]:
        return [self.probability] * len(windows)
