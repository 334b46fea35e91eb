"""Protocols and data of models; implemented by ``pipelines.models.triton``.

``due`` is a deadline everywhere: the time on the running loop's clock, in seconds, after which an answer is of no use,
so that a model may refuse to begin with it; None: no deadline.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from pipelines.data.recognition import NO_OPTIONS, Hypothesis, PhraseHint, RecognitionOptions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy as np
    import numpy.typing as npt

    from pipelines.data.predictions import AnswerSpan, IntentPrediction
    from pipelines.models.languages import Languages


class SpeechSequence(Protocol):
    """One utterance, or a part of a long one, under recognition."""

    async def send(
        self, audio: npt.NDArray[np.float32], *, decode: bool, end: bool, due: float | None = None
    ) -> Hypothesis:
        """Send the next audio, float32 ``[samples]`` at 16 kHz, one call at a time.

        Args:
            audio: may be empty.
            decode: ask for the text of all audio sent so far, now.
            end: nothing follows; the answer is final and the model forgets the sequence.
            due: deadline, see the module.

        Raises:
            ModelError: the model did not take it.
        """


class Recognizer(Protocol):
    """Speech recognition."""

    @property
    def languages(self) -> Languages:
        """Languages that it serves."""

    def open_sequence(self, options: RecognitionOptions = NO_OPTIONS) -> SpeechSequence:
        """Begin a sequence. Nothing is sent before its first audio."""


class IntentModel(Protocol):
    """Intent classification and slot filling."""

    @property
    def hints(self) -> tuple[PhraseHint, ...]:
        """Phrase hints of the domain, as far as known."""

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        """Raise ModelError when the model does not answer."""


class AnswerModel(Protocol):
    """Extractive question answering."""

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        """Raise ModelError when the model does not answer."""


class PunctuationModel(Protocol):
    """Capitals and punctuation for texts that have none."""

    async def punctuate(self, texts: Sequence[str]) -> list[str]:
        """Write up to 64 texts; raise ModelError when the model does not answer."""


class Engines(Protocol):
    """All the models that a turn needs."""

    @property
    def recognizer(self) -> Recognizer:
        """Speech recognition."""

    @property
    def intents(self) -> IntentModel:
        """Intent classification and slot filling."""

    @property
    def answers(self) -> AnswerModel:
        """Extractive question answering."""

    def get(self, role: str, variant: str | None = None) -> Any:  # noqa: ANN401 - a model of any engine
        """Return the model of a role; see ``pipelines.models.contracts``.

        Args:
            role: what the model does.
            variant: which engine of the role; None: the one that was chosen, or the one that serves without a choice.
        """


class TurnModels(Engines, Protocol):
    """Versions of the models that one turn uses throughout."""

    @property
    def versions(self) -> Mapping[str, int]:
        """The version of each engine that the turn has used so far."""

    def release(self) -> None:
        """Say that the turn is over. May be called twice."""


class Models(Engines, Protocol):
    """All models; used directly, each request takes today's version."""

    def begin_turn(self, variants: Mapping[str, str] | None = None) -> TurnModels:
        """Keep today's versions for one turn, until it is released.

        Args:
            variants: the variant that is chosen for each role; a role that is left out has no choice.
        """
