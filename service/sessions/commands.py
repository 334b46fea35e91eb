"""Commands to a conversation, as doors read them from callers' requests."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Mapping

    from pipelines.dialog.tools import ToolResult
    from pipelines.session.config import ConversationUpdate
    from pipelines.session.conversation import Conversation
    from service.admission.quotas import Quotas


@dataclass(frozen=True, slots=True)
class AddAudio:
    """Audio in the encoding of the config."""

    audio: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class AddText:
    """A typed turn."""

    text: str = field(repr=False)
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class EndUtterance:
    """End of the utterance under way."""

    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Update:
    """Change of the configuration, and of session parameters; None: they stay."""

    update: ConversationUpdate
    parameters: Mapping[str, str] | None = None


@dataclass(frozen=True, slots=True)
class ReportPlayback:
    """Progress of the caller's playback of a reply."""

    turn: int
    seconds: float
    finished: bool = False


@dataclass(frozen=True, slots=True)
class CancelReply:
    """Stop the speech of a turn; turn 0: the present one and those waiting."""

    turn: int


@dataclass(frozen=True, slots=True)
class StopReply:
    """Stop the speech of a turn, of which the caller has played so much."""

    turn: int
    seconds: float


@dataclass(frozen=True, slots=True)
class PressKeys:
    """Keys of a telephone."""

    keys: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class TakeResult:
    """Result of a tool."""

    result: ToolResult


Immediate = EndUtterance | Update | ReportPlayback | CancelReply | StopReply | PressKeys | TakeResult
Command = AddAudio | AddText | Immediate


def act(conversation: Conversation, command: Immediate) -> None:
    """Carry out a command that waits for nothing.

    Raises:
        InvalidInputError: it cannot be carried out.
    """
    match command:
        case EndUtterance(request_id):
            conversation.end_utterance(request_id)
        case Update(update, parameters):
            conversation.update(update)
            if parameters is not None:
                conversation.dialog.change(parameters)
        case ReportPlayback(turn, seconds, finished):
            conversation.speech.report_playback(turn, seconds, finished=finished)
        case CancelReply(turn):
            conversation.speech.cancel(turn)
        case StopReply(turn, seconds):
            conversation.speech.stop_at(turn, seconds)
        case PressKeys(keys):
            conversation.dialog.press(keys)
        case TakeResult(result):
            conversation.dialog.take(result)


def perform(conversation: Conversation, command: Command, quotas: Quotas) -> Awaitable[None] | None:
    """Carry out a command; return a wait for the sake of back-pressure, if any.

    Raises:
        InvalidInputError: it cannot be carried out.
        QuotaError: the caller's principal has sent more than he may.
    """
    match command:
        case AddAudio(audio):
            return conversation.add_audio(audio)
        case AddText():
            return add_text(conversation, command, quotas)
        case _:
            act(conversation, command)
            return None


async def add_text(conversation: Conversation, command: AddText, quotas: Quotas) -> None:
    """Carry out a typed turn, with back-pressure."""
    await quotas.typed_turn()
    await conversation.add_text(command.text, command.request_id)
