"""Questions and answers of a conversation, for follow-up questions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.data.messages import Reply, Status
from pipelines.data.stages import QA
from pipelines.stages.follow_ups import MAX_EXCHANGES, Exchange

if TYPE_CHECKING:
    from pipelines.data.answers import AnswerSearch
    from pipelines.data.messages import Message


class Exchanges:
    """The latest questions that were replied to.

    Attributes:
        latest: the latest last.
    """

    def __init__(self) -> None:
        self.latest: tuple[Exchange, ...] = ()

    def note(self, message: Message) -> None:
        """Take note of what the caller is told."""
        if isinstance(message, Reply) and message.transcript and message.status is not Status.PARTIAL:
            search: AnswerSearch | None = message.results.get(QA)  # type: ignore[assignment]
            if search is not None:
                self.add(message.transcript, search)

    def add(self, question: str, search: AnswerSearch) -> None:
        """Add a question and what came of it."""
        answer = search.answer.text if search.answer is not None else ""
        self.latest = (*self.latest, Exchange(search.asked or question, answer))[-MAX_EXCHANGES:]
