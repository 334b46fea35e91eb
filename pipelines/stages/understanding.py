"""The understanding stage: what the speaker wants, and with which details."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pipelines.stages.registry import NLU

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.models.ports import IntentModel, SlotSpan, Timing, TurnModels
    from pipelines.session.config import ConversationConfig
    from pipelines.stages.registry import StageRequest

NO_INTENT = "none"
"""Name of the intent of an utterance that fits none of the model's."""


@dataclass(frozen=True, slots=True)
class Slot:
    """One detail of an intent.

    Attributes:
        name: the slot's name.
        value: of a closed slot the one of its values that is meant, as its list writes it; else a normal form: lower
            case, single spaces, no punctuation around it.
        text: as it stands in the transcript.
        start: first code point in the transcript.
        end: one past the last code point.
    """

    name: str
    value: str
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Understanding:
    """What the speaker wants.

    Attributes:
        intent: its name, :data:`NO_INTENT` when nothing fits.
        confidence: probability of the most likely intent, 0 to 1.
        slots: the details in the order in which they were said.
        timing: what it cost; None when there was nothing to compute.
    """

    intent: str = NO_INTENT
    confidence: float = 0.0
    slots: tuple[Slot, ...] = ()
    timing: Timing | None = None


class UnderstandingStage:
    """Intent and slots of every turn; see ``pipelines.stages.registry.Stage``."""

    name: ClassVar[str] = NLU
    after: ClassVar[tuple[str, ...]] = ()
    of_no_text: ClassVar[Understanding] = Understanding()

    def wanted(self, config: ConversationConfig) -> bool:  # noqa: ARG002 - every conversation has intents
        """See ``pipelines.stages.registry.Stage``."""
        return True

    async def run(self, request: StageRequest, models: TurnModels) -> AsyncIterator[Understanding]:
        """See ``pipelines.stages.registry.Stage``."""
        yield await understand(models.intents, request.text, request.due)


async def understand(model: IntentModel, text: str, due: float | None = None) -> Understanding:
    """Finds intent and slots of ``text``, before ``due`` on the loop's clock.

    Raises:
        ModelError: the model does not answer.
    """
    prediction = await model.predict(text, due)
    slots = tuple(_slot(text, span) for span in sorted(prediction.slots, key=lambda span: span.start))
    return Understanding(prediction.intent, prediction.confidence, slots, prediction.timing)


def _slot(text: str, span: SlotSpan) -> Slot:
    said = text[span.start : span.end]
    value = span.value or " ".join(said.lower().split()).strip(".,;:!?\"'()")
    return Slot(span.name, value, said, span.start, span.end)
