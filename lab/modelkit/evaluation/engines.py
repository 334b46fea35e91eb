"""What is judged, as the tasks see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engines.bert.intent_decoding import Understanding
    from modelkit.evaluation.partials import Followed
    from modelkit.evaluation.recordings import Clip
    from vivavoce import PhraseHints


@dataclass(frozen=True, slots=True)
class Turn:
    """One reply to something that was said.

    Attributes:
        transcript: the words that were recognized.
        intent: name of the intent; ``none`` where nothing fits.
        slots: ``(name, value)`` of each, in the order in which they were said.
    """

    transcript: str
    intent: str
    slots: tuple[tuple[str, str], ...]


class TextEngines(Protocol):
    """Understands and answers what is written."""

    async def understand(self, text: str) -> Understanding:
        """Finds intent and slots."""

    async def answer(self, question: str, document: str) -> str:
        """Finds the answer; "" where the document holds none."""


class SpeechEngines(Protocol):
    """Recognizes and understands what is spoken."""

    async def hear(self, clip: Clip, hints: Sequence[PhraseHints], *, one_utterance: bool) -> list[Turn]:
        """Listens to a recording.

        Args:
            clip: the recording.
            hints: words that are likely to be said.
            one_utterance: the whole recording is one turn, as with push-to-talk.

        Returns:
            The turns; none where nobody spoke.
        """


class FollowingEngines(Protocol):
    """Recognizes what is spoken while it is spoken."""

    async def follow(self, clip: Clip) -> list[Followed]:
        """Listens to a recording at the pace of speech; returns its turns with all that was told of them."""

    async def texts(self, clip: Clip) -> list[str]:
        """Listens to a recording as fast as it is taken; returns the final texts."""
