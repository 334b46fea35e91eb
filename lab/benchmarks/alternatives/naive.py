"""The naive baseline: the same models in one process, one utterance after another.

Recognition is moonshine-voice's own ``Transcriber``, understanding and answering are PyTorch networks in float32, run
eagerly. An utterance is recognized when it is over, and nothing else is computed until it is understood and answered.
It stands behind the service's own contract and endpointing (:mod:`benchmarks.alternatives.naive_service`), so that
the same callers can talk to it.
"""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Literal, TypeVar

import numpy as np

from benchmarks.alternatives.naive_engines import Answerer, Transcriber, Understander
from pipelines.data.predictions import AnswerSpan, IntentPrediction
from pipelines.data.recognition import NO_OPTIONS, Hypothesis, Timing
from pipelines.models.languages import ENGLISH

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    import numpy.typing as npt

    from pipelines.data.recognition import PhraseHint, RecognitionOptions

    T = TypeVar("T")

_NOTHING = Timing(0.0, 0.0)


class NaiveModels:
    """The port ``pipelines.models.ports.Models``, with one thread that computes and one lock that an utterance takes.

    Args:
        intents: engine directory for intents, with ``training/``.
        answers: likewise for answers.
    """

    def __init__(self, intents: Path, answers: Path) -> None:
        self.transcribe = Transcriber()
        self.understand = Understander(intents)
        self.answer = Answerer(answers)
        self.lock = asyncio.Lock()
        # The event loop must go on reading audio meanwhile.
        self.worker = ThreadPoolExecutor(1, "models")

    @property
    def recognizer(self) -> Utterance:
        """Speech recognition, apart from any turn."""
        return self._apart()

    @property
    def intents(self) -> Utterance:
        """Intents, apart from any turn."""
        return self._apart()

    @property
    def answers(self) -> Utterance:
        """Answers, apart from any turn."""
        return self._apart()

    def get(self, role: str, variant: str | None = None) -> Utterance:  # noqa: ARG002 - the port's
        """Returns the models, whatever the role, apart from any turn."""
        return self._apart()

    def begin_turn(self, variants: Mapping[str, str] | None = None) -> Utterance:  # noqa: ARG002 - the port's
        """Begins an utterance, which waits for the lock when it has something to compute."""
        return Utterance(self)

    def _apart(self) -> Utterance:
        utterance = Utterance(self)
        utterance.release()
        return utterance


class Utterance:
    """All the models, for one utterance: from its end until its release no other one is computed."""

    def __init__(self, models: NaiveModels) -> None:
        self._models = models
        self.languages = ENGLISH
        self._taking: asyncio.Future[Literal[True]] | None = None
        self._released = False

    @property
    def recognizer(self) -> Utterance:
        """Speech recognition."""
        return self

    @property
    def intents(self) -> Utterance:
        """Intents."""
        return self

    @property
    def answers(self) -> Utterance:
        """Answers."""
        return self

    def get(self, role: str, variant: str | None = None) -> Utterance:  # noqa: ARG002 - the port's
        """Returns the models, whatever the role."""
        return self

    @property
    def hints(self) -> tuple[PhraseHint, ...]:
        """It knows of no domain."""
        return ()

    @property
    def versions(self) -> Mapping[str, int]:
        """There is but one version of anything."""
        return {}

    def release(self) -> None:
        """Says that the utterance is replied to, and lets the next one have the models."""
        if not self._released and self._taking is not None:
            self._taking.add_done_callback(lambda _: self._models.lock.release())
        self._released = True

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> Recording:  # noqa: ARG002 - the port's
        """Begins to collect audio; hints, alternatives and times of words are not served."""
        return Recording(self)

    async def recognize(self, audio: npt.NDArray[np.float32]) -> Hypothesis:
        """Recognizes all of it, float32 ``[samples]`` at 16 kHz."""
        text, timing = await self._compute(self._models.transcribe, audio)
        return Hypothesis(text, len(audio), is_final=True, timing=timing)

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:  # noqa: ARG002 - the port's
        """Finds intent and slots; see ``pipelines.models.ports.IntentModel``."""
        (intent, confidence, slots), timing = await self._compute(self._models.understand, text)
        return IntentPrediction(intent, confidence, slots, timing)

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:  # noqa: ARG002 - the port's
        """Looks for an answer; see ``pipelines.models.ports.AnswerModel``."""
        (start, end, score), timing = await self._compute(self._models.answer, question, document)
        return AnswerSpan(None, None, score, timing) if start < 0 else AnswerSpan(start, end, score, timing)

    async def _compute(self, work: Callable[..., T], *given: object) -> tuple[T, Timing]:
        """Takes the lock, unless the utterance has it, and runs ``work`` on the thread."""
        asked = time.monotonic()
        if not self._released:
            if self._taking is None:
                self._taking = asyncio.ensure_future(self._models.lock.acquire())
            # Whoever gives up waiting must not take the lock from the utterance's other work.
            await asyncio.shield(self._taking)

        def run() -> tuple[T, Timing]:
            began = time.monotonic()
            result = work(*given)
            return result, Timing(began - asked, time.monotonic() - began)

        return await asyncio.get_running_loop().run_in_executor(self._models.worker, run)


class Recording:
    """The port ``pipelines.models.ports.SpeechSequence``: audio that is recognized when it is over, and not before."""

    def __init__(self, utterance: Utterance) -> None:
        self._utterance = utterance
        self._audio: list[npt.NDArray[np.float32]] = []

    async def send(
        self,
        audio: npt.NDArray[np.float32],
        *,
        decode: bool,  # noqa: ARG002 - the port's
        end: bool,
        due: float | None = None,  # noqa: ARG002
    ) -> Hypothesis:
        """Takes audio in; see ``pipelines.models.ports.SpeechSequence``."""
        self._audio.append(audio)
        if end:
            return await self._utterance.recognize(np.concatenate(self._audio))
        return Hypothesis("", 0, is_final=False, timing=_NOTHING)
