"""A loaded version of an engine, counted while it is used: what nobody holds can be unloaded."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from pipelines.models.ports import NO_OPTIONS

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Iterator, Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.models.embedding_port import EmbeddingModel, Embeddings
    from pipelines.models.ports import (
        AnswerModel,
        AnswerSpan,
        Hypothesis,
        IntentModel,
        IntentPrediction,
        PhraseHint,
        PunctuationModel,
        RecognitionOptions,
        Recognizer,
        SpeechSequence,
    )
    from pipelines.models.synthesis_port import SpeechPart, Synthesizer
    from pipelines.models.turn_end_port import EndOfTurnModel, TurnEnd

ModelT = TypeVar("ModelT")


@dataclass(slots=True, eq=False)
class ServedVersion(Generic[ModelT]):
    """A loaded version of an engine.

    Attributes:
        number: which one.
        model: where its requests go.
        turns_begun: turns that began with it and used it.
        holders: turns, sequences and requests that use it now.
    """

    number: int
    model: ModelT
    turns_begun: int = 0
    holders: int = 0
    _unused: asyncio.Event = field(default_factory=asyncio.Event)

    def hold(self) -> None:
        """Says that somebody uses it, until :meth:`release`."""
        self.holders += 1
        self._unused.clear()

    def release(self) -> None:
        """Takes one :meth:`hold` back."""
        self.holders -= 1
        if not self.holders:
            self._unused.set()

    @contextlib.contextmanager
    def held(self) -> Iterator[ModelT]:
        """Holds it while the body runs."""
        self.hold()
        try:
            yield self.model
        finally:
            self.release()

    async def until_unused(self) -> None:
        """Waits until nobody uses it."""
        if self.holders:
            await self._unused.wait()


class HeldRecognizer:
    """A recognizer whose version is held by every sequence that has begun."""

    def __init__(self, version: ServedVersion[Recognizer]) -> None:
        self._version = version

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> HeldSequence:
        """Begins a sequence; see ``pipelines.models.ports.Recognizer``."""
        return HeldSequence(self._version, options)


class HeldSequence:
    """A sequence that holds its version from its first request to the answer to its last."""

    def __init__(self, version: ServedVersion[Recognizer], options: RecognitionOptions) -> None:
        self._sequence: SpeechSequence = version.model.open_sequence(options)
        self._version = version
        self._holds = False

    async def send(
        self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool, due: float | None = None
    ) -> Hypothesis:
        """Sends the next audio; see ``pipelines.models.ports.SpeechSequence``."""
        if not self._holds:
            self._holds = True
            self._version.hold()
        try:
            return await self._sequence.send(audio, decode=decode, end=end, due=due)
        finally:
            if end:
                self._holds = False
                self._version.release()


class HeldIntents:
    """Intents whose version is held by every request."""

    def __init__(self, version: ServedVersion[IntentModel]) -> None:
        self._version = version

    @property
    def hints(self) -> tuple[PhraseHint, ...]:
        """Phrase hints of the engine; see ``pipelines.models.ports.IntentModel``."""
        return self._version.model.hints

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        """Finds intent and slots; see ``pipelines.models.ports.IntentModel``."""
        with self._version.held() as model:
            return await model.predict(text, due)


class HeldAnswers:
    """Answers whose version is held by every request."""

    def __init__(self, version: ServedVersion[AnswerModel]) -> None:
        self._version = version

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        """Looks for an answer; see ``pipelines.models.ports.AnswerModel``."""
        with self._version.held() as model:
            return await model.find(question, document, due)


class HeldPunctuation:
    """Punctuation whose version is held by every request."""

    def __init__(self, version: ServedVersion[PunctuationModel]) -> None:
        self._version = version

    async def punctuate(self, texts: Sequence[str]) -> list[str]:
        """Writes texts; see ``pipelines.models.ports.PunctuationModel``."""
        with self._version.held() as model:
            return await model.punctuate(texts)


class HeldEmbeddings:
    """Sentence embeddings whose version is held by every request."""

    def __init__(self, version: ServedVersion[EmbeddingModel]) -> None:
        self._version = version

    async def embed(self, texts: Sequence[str], due: float | None = None) -> Embeddings:
        """Embeds texts; see ``pipelines.models.embedding_port.EmbeddingModel``."""
        with self._version.held() as model:
            return await model.embed(texts, due)


class HeldSynthesizer:
    """Speech synthesis whose version is held by every request, until its last samples are taken."""

    def __init__(self, version: ServedVersion[Synthesizer]) -> None:
        self._version = version

    async def speak(
        self, parts: Sequence[SpeechPart], voice: str, seed: int
    ) -> AsyncGenerator[npt.NDArray[np.float32], None]:
        """Speaks parts; see ``pipelines.models.ports.Synthesizer``."""
        with self._version.held() as model:
            async with contextlib.aclosing(model.speak(parts, voice, seed)) as speech:
                async for samples in speech:
                    yield samples


class HeldEndOfTurn:
    """Detection of the end of a turn whose version is held by every request."""

    def __init__(self, version: ServedVersion[EndOfTurnModel]) -> None:
        self._version = version

    async def judge(self, samples: npt.NDArray[np.float32], text: str, due: float | None = None) -> TurnEnd:
        """Judges a pause; see ``pipelines.models.turn_end_port.EndOfTurnModel``."""
        with self._version.held() as model:
            return await model.judge(samples, text, due)
