"""Probes: example requests, and the check of their answers."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from pipelines.audio.formats import MODEL_RATE_HZ, SPEECH_RATE_HZ
from pipelines.errors import ModelError
from pipelines.models.synthesis_port import DEFAULT_VOICE, SpeechPart

if TYPE_CHECKING:
    import numpy.typing as npt

    from pipelines.models.embedding_port import EmbeddingModel
    from pipelines.models.ports import (
        AnswerModel,
        IntentModel,
        PunctuationModel,
        Recognizer,
        SpeechSequence,
    )
    from pipelines.models.speaker_port import SpeakerModel
    from pipelines.models.synthesis_port import Synthesizer
    from pipelines.models.turn_end_port import EndOfTurnModel

ModelT_contra = TypeVar("ModelT_contra", contravariant=True)

_SAME_WORDS = 0.75
_SAME_SECONDS = 0.25
_CHUNK_SAMPLES = round(0.4 * MODEL_RATE_HZ)
_END_SECONDS = 5.0
_EVEN = 0.5
_LENGTH_TOLERANCE = 1e-3


class MalformedAnswerError(ValueError):
    """A model's answer has not the form that its contract promises."""


class Probe(Protocol[ModelT_contra]):
    """One example for models of one kind."""

    async def ask(self, model: ModelT_contra) -> bool:
        """Ask a model, and return whether the answer is right.

        Without a label any answer is right that has the right form.

        Raises:
            MalformedAnswerError: the answer has the wrong form.
            ModelError: there is no answer.
        """


@dataclass(frozen=True, slots=True)
class IntentProbe:
    """An utterance.

    Attributes:
        text: what is said.
        intent: the expected intent; None when any will do.
        slots: name, start and end of each expected slot; None when any will do.
    """

    text: str
    intent: str | None = None
    slots: frozenset[tuple[str, int, int]] | None = None

    async def ask(self, model: IntentModel) -> bool:
        """See :class:`Probe`."""
        found = await model.predict(self.text)
        if not found.intent or not 0 <= found.confidence <= 1:
            raise MalformedAnswerError("an intent has no name, or a confidence that is no probability")
        if any(not slot.name or not 0 <= slot.start < slot.end <= len(self.text) for slot in found.slots):
            raise MalformedAnswerError("a slot has no name, or a place outside the text")
        slots = frozenset((slot.name, slot.start, slot.end) for slot in found.slots)
        return self.intent in {None, found.intent} and self.slots in (None, slots)


@dataclass(frozen=True, slots=True)
class AnswerProbe:
    """A question.

    Attributes:
        question: what is asked.
        document: where the answer is looked for.
        answer: the expected answer, None when the document holds none.
        labelled: whether ``answer`` counts.
    """

    question: str
    document: str
    answer: str | None = None
    labelled: bool = True

    async def ask(self, model: AnswerModel) -> bool:
        """See :class:`Probe`."""
        found = await model.find(self.question, self.document)
        if not 0 <= found.score <= 1:
            raise MalformedAnswerError("an answer has a score that is no probability")
        if found.start is None or found.end is None:
            return not self.labelled or self.answer is None
        if not 0 <= found.start < found.end <= len(self.document):
            raise MalformedAnswerError("an answer lies outside its document")
        if not self.labelled:
            return True
        given, wanted = _words(self.document[found.start : found.end]), _words(self.answer or "")
        return bool(given and wanted) and (" ".join(wanted) in " ".join(given) or " ".join(given) in " ".join(wanted))


@dataclass(frozen=True, slots=True, eq=False)
class SpeechProbe:
    """A recording.

    Attributes:
        audio: float32 ``[samples]`` at 16 kHz.
        text: what is said; None when any text will do.
    """

    audio: npt.NDArray[np.float32]
    text: str | None = None

    async def ask(self, model: Recognizer) -> bool:
        """See :class:`Probe`."""
        sequence = model.open_sequence()
        try:
            for start in range(0, len(self.audio), _CHUNK_SAMPLES):
                await sequence.send(self.audio[start : start + _CHUNK_SAMPLES], decode=False, end=False)
        except BaseException:
            # Until its END, a sequence keeps its version from being unloaded. A model that hangs is not waited for.
            await asyncio.wait((asyncio.create_task(_end(sequence)),), timeout=_END_SECONDS)
            raise
        found = await sequence.send(np.zeros(0, np.float32), decode=True, end=True)
        if not found.is_final or found.covered_samples != len(self.audio):
            raise MalformedAnswerError("a transcript does not cover its utterance")
        if self.text is None:
            return True
        return difflib.SequenceMatcher(None, _words(found.text), _words(self.text)).ratio() >= _SAME_WORDS


@dataclass(frozen=True, slots=True)
class PunctuationProbe:
    """A text without capitals and punctuation.

    Attributes:
        text: what is written.
        punctuated: the expected text; None when any marks and capitals will do.
    """

    text: str
    punctuated: str | None = None

    async def ask(self, model: PunctuationModel) -> bool:
        """See :class:`Probe`."""
        written = await model.punctuate([self.text])
        if len(written) != 1 or _words(written[0]) != _words(self.text):
            raise MalformedAnswerError("a punctuated text has other words than the text")
        return self.punctuated in {None, written[0]}


@dataclass(frozen=True, slots=True)
class EmbeddingProbe:
    """A text to embed."""

    text: str

    async def ask(self, model: EmbeddingModel) -> bool:
        """See :class:`Probe`."""
        _check_vector((await model.embed([self.text])).vectors)
        return True


@dataclass(frozen=True, slots=True, eq=False)
class SpeakerProbe:
    """A window of sound to embed, float32 ``[samples]`` at 16 kHz."""

    samples: npt.NDArray[np.float32]

    async def ask(self, model: SpeakerModel) -> bool:
        """See :class:`Probe`."""
        _check_vector((await model.embed([self.samples])).vectors)
        return True


@dataclass(frozen=True, slots=True)
class SynthesisProbe:
    """A text to speak.

    Attributes:
        text: what is spoken.
        seconds: how long that takes; None when any time will do.
        voice: name of the voice.
    """

    text: str
    seconds: float | None = None
    voice: str = DEFAULT_VOICE

    async def ask(self, model: Synthesizer) -> bool:
        """See :class:`Probe`."""
        pieces = [piece async for piece in model.speak((SpeechPart(self.text),), self.voice, 0)]
        if any(piece.dtype != np.float32 or piece.ndim != 1 for piece in pieces):
            raise MalformedAnswerError("speech is not float32 on one channel")
        if any(len(piece) and not np.abs(piece).max() <= 1 for piece in pieces):
            raise MalformedAnswerError("speech has samples beyond full scale")
        spoken = sum(len(piece) for piece in pieces) / SPEECH_RATE_HZ
        if not spoken:
            raise MalformedAnswerError("a text is not spoken at all")
        return self.seconds is None or abs(spoken - self.seconds) <= _SAME_SECONDS * self.seconds


@dataclass(frozen=True, slots=True, eq=False)
class PauseProbe:
    """A pause.

    Attributes:
        audio: sound up to now, the pause included, float32 ``[samples]`` at 16 kHz.
        text: recognized words so far.
        is_over: whether the turn is over; None when any judgement will do.
    """

    audio: npt.NDArray[np.float32]
    text: str
    is_over: bool | None = None

    async def ask(self, model: EndOfTurnModel) -> bool:
        """See :class:`Probe`."""
        found = await model.judge(self.audio, self.text)
        if not 0 <= found.probability <= 1:
            raise MalformedAnswerError("the end of a turn has a score that is no probability")
        return self.is_over in {None, found.probability >= _EVEN}


def _check_vector(vectors: npt.NDArray[np.float32]) -> None:
    lengths = np.linalg.norm(vectors, axis=-1)
    if lengths.shape != (1,) or not abs(lengths[0] - 1) < _LENGTH_TOLERANCE:
        raise MalformedAnswerError("an embedding is not one vector of length 1")


async def _end(sequence: SpeechSequence) -> None:
    with contextlib.suppress(ModelError):
        await sequence.send(np.zeros(0, np.float32), decode=False, end=True)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
