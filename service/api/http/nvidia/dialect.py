"""Transcription for NVIDIA's client: its events, and ours as it reads them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from service.api.http.openai.realtime import client_events as events
from service.api.http.openai.realtime.dialects import Dialect
from service.api.http.openai.realtime.session_form import as_format, to_beta

if TYPE_CHECKING:
    from service.api.http.openai.realtime.dialects import Told
    from service.api.http.openai.realtime.session_form import Session

PARAMETERS = "input_audio_params"
_KEYS = frozenset((PARAMETERS, "recognition_config", "word_boosting", "endpointing_config"))
_COMPLETED = "conversation.item.input_audio_transcription.completed"


@dataclass(frozen=True, slots=True)
class NvidiaDialect(Dialect):
    """Dialect of a client that commits every piece and awaits all words at the end.

    Attributes:
        session: as the client wants it.
        texts: what was transcribed.
        item_id: the last item.
    """

    session: Session = dataclasses.field(default_factory=dict)
    texts: tuple[str, ...] = ()
    item_id: str = "item_none"

    def read(self, event: events.ClientEvent) -> tuple[events.Meant, ...]:
        """Return what an event means; see `Dialect`."""
        match event:
            case events.CommitAudio():
                return ()
            case events.AppendAudio() if str(event.runtime_config.get("force_eou", "")).lower() == "true":
                return event, events.ForceCommit(event.event_id)
            case events.UpdateTranscriptionSession():
                return (events.UpdateTranscriptionSession(event.event_id, normalized(event.session)),)
        return (event,)

    def write(self, kind: str, members: dict[str, Any]) -> tuple[Dialect, Told]:
        """Return an event as the client reads it; see `Dialect`."""
        if "session" in members and "audio" in members["session"]:
            asked = {name: one for name, one in self.session.items() if name != "client_secret"}
            members = {**members, "session": {**asked, **to_beta(members["session"])}}
        if kind != _COMPLETED:
            return self, ((kind, members),)
        texts = (*self.texts, members["transcript"]) if members["transcript"] else self.texts
        return dataclasses.replace(self, texts=texts, item_id=members["item_id"]), ((kind, members),)

    def end(self) -> Told:
        """Tell that nothing follows, with all that was said."""
        last = {"item_id": self.item_id, "content_index": 0, "transcript": " ".join(self.texts), "is_last_result": True}
        return ((_COMPLETED, last),)


def chosen(event: events.ClientEvent, before: Dialect, usual: Dialect) -> Dialect:
    """Return the dialect of a client after an event, by which NVIDIA's is known."""
    if not isinstance(event, events.UpdateTranscriptionSession):
        return before
    return usual if _KEYS.isdisjoint(event.session) else NvidiaDialect(event.session)


def normalized(session: Session) -> Session:
    """Return a session whose parameters of audio are a format."""
    found = {name: value for name, value in session.items() if name != PARAMETERS}
    asked = session.get(PARAMETERS)
    names = {"sample_rate_hz": "rate", "num_channels": "channels"}
    told = {names[name]: one for name, one in asked.items() if name in names and one} if isinstance(asked, dict) else {}
    if told:
        usual = as_format(session.get("input_audio_format", {"type": "audio/any"}), "input_audio_format")
        found["input_audio_format"] = {**usual, **told}
    return found
