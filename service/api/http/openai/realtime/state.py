"""State of a session, and one step of it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from service.api.http.openai.realtime.items import Item, Items

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.data.messages import Reply, ReplyAudio
    from pipelines.errors import ModelError
    from service.api.http.openai.realtime.client_requests import ResponseRequest
    from service.api.http.openai.realtime.session_form import Session
    from service.api.http.openai.realtime.settings import Settings
    from service.sessions.commands import Command

COMMITTED, CLEARED = "commit", "clear"
"""Request ids of utterances that the client has ended, or drops."""


@dataclass(frozen=True, slots=True)
class Tell:
    """An event for the client."""

    kind: str
    members: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Play:
    """Audio for the client's track."""

    audio: ReplyAudio


@dataclass(frozen=True, slots=True)
class ChangePlayback:
    """Hold, resume or drop a reply on the client's track; turn None: drop all."""

    change: str
    turn: int | None = None


@dataclass(frozen=True, slots=True)
class AwaitSilence:
    """Call `timed_out` after so many seconds, instead of before; None: never."""

    seconds: float | None


Output = Tell | Play | ChangePlayback | AwaitSilence


@dataclass(frozen=True, slots=True)
class Moment:
    """Time of a step.

    Attributes:
        now: on the loop's clock.
        heard: samples of audio that the present conversation has taken in, 16 kHz.
        failure: why one of its stages failed last; None while none has.
    """

    now: float = 0.0
    heard: int = 0
    failure: ModelError | None = None


@dataclass(frozen=True, slots=True)
class Utterance:
    """One turn of the user.

    Attributes:
        item: the item that it becomes.
        before: words of the last transcript that may still change.
        told: words that were told.
        is_committed: whether the item was added.
        is_told: whether it was told that speech started.
    """

    item: Item
    before: tuple[str, ...] = ()
    told: tuple[str, ...] = ()
    is_committed: bool = False
    is_told: bool = False


@dataclass(frozen=True, slots=True)
class Response:
    """One response.

    Attributes:
        id: its name.
        modality: ``audio`` or ``text``.
        metadata: what the client has put on it.
        reply: what it tells; None while it is waited for, and of one that asks for a tool.
        item: the item that it adds; None before.
        is_whole: whether nothing of the reply is to follow but audio.
        is_spoken: whether all of its audio was told.
    """

    id: str
    modality: str
    metadata: Any = None
    reply: Reply | None = None
    item: Item | None = None
    is_whole: bool = True
    is_spoken: bool = False

    @property
    def turn(self) -> int:
        """Turn of its reply; 0 without one."""
        return self.reply.turn if self.reply else 0

    @property
    def speaks(self) -> bool:
        """True if its item is audio."""
        return self.item is not None and self.item.kind == "output_audio"


@dataclass(frozen=True, slots=True)
class State:
    """State of a session.

    Attributes:
        name: makes its ids unlike those of other sessions.
        session: its form.
        settings: the same, read.
        told: settings of the present conversation; where none is held, those of the next.
        on_track: whether audio goes on a track beside the events.
        held: whether a conversation is held.
        reopens: whether the present conversation ends for the sake of another kind of it.
        is_over: whether no audio follows.
        made: how many ids were made.
        items: what was said by whom.
        utterances: what is heard, by turn.
        responses: the one that is told, and those that wait for its end.
        requested: responses to typed turns, by their ids.
        late: responses to replies that are not whole yet, by turn.
        asked: a response that is made when what was committed is recognized.
        commits: utterances that the client has ended and that are not recognized yet.
        uncommitted_from: where the present conversation's audio begins that no utterance has, 16 kHz.
        offset: sample of the session at which the present conversation begins, 16 kHz.
        spoken: items of replies that may still be stopped, by turn.
        playing: turn whose reply the track plays; 0 for none.
    """

    name: str
    session: Session = field(repr=False)
    settings: Settings
    told: Settings
    on_track: bool = False
    held: bool = False
    reopens: bool = False
    is_over: bool = False
    made: int = 0
    items: Items = field(default_factory=Items)
    utterances: Mapping[int, Utterance] = field(default_factory=dict)
    responses: tuple[Response, ...] = ()
    requested: Mapping[str, Response] = field(default_factory=dict)
    late: Mapping[int, Response] = field(default_factory=dict)
    asked: ResponseRequest | None = None
    commits: int = 0
    uncommitted_from: int = 0
    offset: int = 0
    spoken: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    playing: int = 0

    @property
    def conversation_id(self) -> str:
        """The session's name for all its conversations."""
        return f"conv_{self.name}"


class Step:
    """One step under way: the state as far as it has got, and what is to be done.

    Args:
        state: before the step.
        moment: when it is.
    """

    def __init__(self, state: State, moment: Moment) -> None:
        self.state, self.moment = state, moment
        self.outputs: list[Output | Command] = []

    def change(self, **changes: Any) -> None:  # noqa: ANN401 - fields of the state
        """Change fields of the state."""
        self.state = dataclasses.replace(self.state, **changes)

    def tell(self, kind: str, **members: Any) -> None:  # noqa: ANN401 - JSON
        """Tell an event."""
        self.outputs.append(Tell(kind, members))

    def do(self, output: Output | Command) -> None:
        """Have something done."""
        self.outputs.append(output)

    def new_id(self, kind: str) -> str:
        """Return a new id such as ``item_3f…``."""
        self.change(made=self.state.made + 1)
        return f"{kind}_{self.state.name}{self.state.made:06x}"

    def add_item(self, item: Item, previous_id: str | None = None) -> str | None:
        """Add an item; return the id of its predecessor."""
        items, before = self.state.items.add(item, previous_id)
        self.change(items=items)
        return before

    def tell_item(self, item: Item, previous_id: str | None = None) -> None:
        """Add an item that is whole, and tell it."""
        before = self.add_item(item, previous_id)
        for change in ("added", "done"):
            self.tell(f"conversation.item.{change}", previous_item_id=before, item=item.as_json())

    def answered(self, item: Item) -> None:
        """Note that a response is made to an item."""
        self.change(items=self.state.items.put(dataclasses.replace(item, is_answered=True)))

    @property
    def result(self) -> tuple[State, list[Output | Command]]:
        """State after the step, and what is to be done, in order."""
        return self.state, self.outputs
