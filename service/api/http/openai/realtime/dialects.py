"""Dialects of the protocol: today's, and the beta's."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from service.api.http.openai.realtime.session_form import TRANSCRIPTION, to_beta

if TYPE_CHECKING:
    from service.api.http.openai.realtime.client_events import ClientEvent, Meant

    Told = tuple[tuple[str, dict[str, Any]], ...]
    """Types of events, and their members."""

_BETA_NAMES = {
    "response.output_text.delta": "response.text.delta",
    "response.output_text.done": "response.text.done",
    "response.output_audio.delta": "response.audio.delta",
    "response.output_audio.done": "response.audio.done",
    "response.output_audio_transcript.delta": "response.audio_transcript.delta",
    "response.output_audio_transcript.done": "response.audio_transcript.done",
    "conversation.item.added": "conversation.item.created",
}
_BETA_CONTENTS = {"output_text": "text", "output_audio": "audio"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Today's protocol."""

    def read(self, event: ClientEvent) -> tuple[Meant, ...]:
        """Return what an event of the client means."""
        return (event,)

    def write(self, kind: str, members: dict[str, Any]) -> tuple[Dialect, Told]:
        """Return the next dialect, and an event as the client reads it, if it does."""
        return self, () if kind == "conversation.created" else ((kind, members),)

    def end(self) -> Told:
        """Return what is told at the end of the client's audio."""
        return ()


@dataclass(frozen=True, slots=True)
class BetaDialect(Dialect):
    """The beta's protocol: other names, and flat sessions."""

    def write(self, kind: str, members: dict[str, Any]) -> tuple[Dialect, Told]:
        """Return an event as the client reads it; see `Dialect`."""
        if kind == "conversation.item.done":
            return self, ()
        if "session" in members:
            if kind == "session.created" and members["session"]["type"] == TRANSCRIPTION:
                kind = "transcription_session.created"
            members = {**members, "session": to_beta(members["session"])}
        if "item" in members:
            members = {**members, "item": _beta_item(members["item"])}
        if "response" in members:
            modality = members["response"]["output_modalities"]
            modalities = ["text", "audio"] if modality == ["audio"] else ["text"]
            members = {**members, "response": {**members["response"], "modalities": modalities}}
        return self, ((_BETA_NAMES.get(kind, kind), members),)


def _beta_item(item: dict[str, Any]) -> dict[str, Any]:
    contents = [{**one, "type": _BETA_CONTENTS.get(one["type"], one["type"])} for one in item.get("content", ())]
    return {**item, "content": contents} if contents else item
