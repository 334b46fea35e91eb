"""Examples that a version is tried with: what is asked, and what makes the answer right."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import numpy as np

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.errors import ModelError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from pipelines.ports import AnswerModel, IntentModel, Recognizer, SpeechSequence

ModelT_contra = TypeVar("ModelT_contra", contravariant=True)

_SAME_WORDS = 0.75
_CHUNK_SAMPLES = round(0.4 * MODEL_RATE_HZ)
_END_SECONDS = 5.0


class MalformedAnswerError(ValueError):
    """A model's answer has not the form that its contract promises."""


class Probe(Protocol[ModelT_contra]):
    """One example for models of one kind."""

    async def ask(self, model: ModelT_contra) -> bool:
        """Asks a model, and returns whether the answer is right.

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


def default_probes(engine: str) -> Sequence[Probe[Any]]:
    """Returns examples without labels for an engine of this name."""
    return _DEFAULTS[engine]


def heartbeat(engine: str) -> Probe[Any]:
    """Returns the example that costs an engine of this name least, to see whether it answers at all."""
    return _HEARTBEATS[engine]


async def _end(sequence: SpeechSequence) -> None:
    with contextlib.suppress(ModelError):
        await sequence.send(np.zeros(0, np.float32), decode=False, end=True)


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())


def _murmur(seconds: float) -> npt.NDArray[np.float32]:
    """Noise that nobody would take for speech, the same every time."""
    noise = np.random.default_rng(7).standard_normal(round(seconds * MODEL_RATE_HZ))
    return (0.01 * noise).astype(np.float32)


_DOCUMENT = (
    "The lighthouse on the northern cape was built in 1848 and stands forty metres high. Its lamp was lit by oil until "
    "the winter of 1931, when a cable from the mainland brought electricity to the island."
)
_DEFAULTS: dict[str, tuple[Probe[Any], ...]] = {
    "asr": (SpeechProbe(_murmur(0.6)), SpeechProbe(_murmur(1.0))),
    "intent_slot": (
        IntentProbe("turn on the lights in the kitchen"),
        IntentProbe("What will the weather be like in Porto on Sunday?"),
        IntentProbe("hm"),
        IntentProbe("the treaty was signed in a railway carriage by people who did not trust each other"),
    ),
    "qa": (
        AnswerProbe("When was the lighthouse built?", _DOCUMENT, labelled=False),
        AnswerProbe("Who composed the opera?", _DOCUMENT, labelled=False),
        AnswerProbe("Where did the electricity come from?", " ".join([_DOCUMENT] * 6), labelled=False),
    ),
}
_HEARTBEATS: dict[str, Probe[Any]] = {
    "asr": SpeechProbe(_murmur(0.3)),
    "intent_slot": IntentProbe("hm"),
    "qa": AnswerProbe("When does it leave?", "The ferry leaves at nine.", labelled=False),
}
