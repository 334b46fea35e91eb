"""Session of a dialog: committed state, and previews without side effects."""

from __future__ import annotations

import asyncio
import re
import secrets
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from msgspec import structs

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import Fulfil
from pipelines.data.dialog.state import SPEAKER, State
from pipelines.data.dialog.turn import DialogTurn
from pipelines.dialog.agent.value_list import spoken_name
from pipelines.dialog.machine import step
from pipelines.dialog.slot_answers import is_whole_answer
from pipelines.dialog.speculative_fulfilment import AheadFulfiller
from pipelines.dialog.tools import ToolDesk, tools_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipelines.data.dialog.actions import Listen
    from pipelines.data.dialog.lead import Lead
    from pipelines.data.understanding import Understanding
    from pipelines.dialog.agent.agent import Agent
    from pipelines.dialog.fulfilment import Fulfiller
    from pipelines.dialog.leader import Leader

_ACTS = re.compile(r"^(?:book|reserve|order|rent|hire|get|request|make|arrange|set|report) (?=\w)")
"""First words of intents' names that say nothing of what they are about."""


@dataclass(slots=True)
class DialogSession:
    """A dialog with one caller, over all of its turns.

    A fulfilment for which there is no fulfiller is told with the turn, and carried out by the caller's program. It
    counts as done at once.

    Attributes:
        agent: by which it is held.
        clock: time in seconds, which never goes back.
        fulfillers: what carries out fulfilments, by their names.
        id: names it among all dialogs.
        state: what was committed.
        began: what the agent says first; None where the session goes on in another stream without a word of its own.
        tools: asks the caller's program for tools; None: the agent has none.
        on_commit: called whenever the state has changed.
        hears_speakers: whether the session parameter ``speaker`` comes from voices alone.
        leader: leads the dialog where the agent names a language model; None: nothing does.
    """

    agent: Agent
    clock: Callable[[], float] = time.monotonic
    fulfillers: Mapping[str, Fulfiller] = field(default_factory=dict)
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    state: State = field(default_factory=State)
    began: DialogTurn | None = None
    tools: ToolDesk | None = None
    on_commit: Callable[[], None] = lambda: None
    hears_speakers: bool = False
    leader: Leader | None = None
    _ahead: dict[str, AheadFulfiller] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        if any(form.tool is not None for form in self.agent.form.fulfilments.values()):
            self.tools = ToolDesk(self.agent)
            self.fulfillers = {**self.fulfillers, **tools_of(self.agent, self.tools)}
        self._ahead = {
            name: AheadFulfiller(self.fulfillers[name], self.clock)
            for name in self.agent.safe_fulfilments
            if name in self.fulfillers
        }
        if self._ahead:
            self.fulfillers = {**self.fulfillers, **self._ahead}

    @property
    def greeting(self) -> str:
        """First words of the agent; "" for none."""
        return self.began.text if self.began else ""

    @property
    def topics(self) -> tuple[str, ...]:
        """Topics of the intent under way: "cleaning", "appointment"; () for none."""
        form = self.state.form
        if form is None:
            return ()
        slots = self.agent.slots_of(form.intent)
        told = [form.slots[name].said for name, slot in slots.items() if slot.type == "closed" and name in form.slots]
        named = spoken_name(form.intent)
        return tuple(dict.fromkeys((*told[:1], _ACTS.sub("", named))))

    def begin(self, parameters: Mapping[str, str] | None = None) -> None:
        """Begin the dialog.

        Args:
            parameters: session parameters beside those of the agent.
        """
        self.began = self.happen(events.Began(self.clock(), parameters or {}))

    def resume(self, parameters: Mapping[str, str] | None = None) -> None:
        """Go on in another stream.

        A fulfilment that was under way in the one before is asked for again where that is safe.

        Args:
            parameters: session parameters that change.
        """
        self.began = None
        if parameters:
            self.change(parameters)
        if self.state.fulfilling:
            self.began = self.happen(events.Resumed(self.clock()))

    def hear_speakers(self) -> None:
        """Take the session parameter ``speaker`` from voices alone, from now on."""
        self.hears_speakers = True
        if SPEAKER in self.state.parameters:
            # Nobody has spoken in this stream yet.
            self.state = structs.replace(self.state, parameters={**self.state.parameters, SPEAKER: ""})

    def change(self, parameters: Mapping[str, str]) -> DialogTurn:
        """Change session parameters."""
        return self.happen(events.ParametersSet(self.clock(), parameters))

    def is_whole_answer(self, text: str, listen: Listen) -> bool:
        """Return whether a text is the expected answer; see ``is_whole_answer``."""
        return is_whole_answer(text, listen)

    def preview(  # noqa: PLR0913 - what came of the turn
        self,
        text: str,
        understanding: Understanding,
        answer: str = "",
        passage: str = "",
        speaker: str | None = None,
        today: str = "",
        lead: Lead | None = None,
        *,
        answer_score: float = 1.0,
    ) -> DialogTurn:
        """Work out what a turn would do; nothing is changed, however often.

        Args:
            text: what was said or typed.
            understanding: of the text.
            answer: the sentence that answers it, from documents; "" where there is none.
            passage: text that the answer stands in.
            speaker: enrolled name of who speaks, "" where that is not sure; None: speakers are not told apart.
            today: date of the caller, ISO 8601; "": not known.
            lead: what a language model makes of it; None: the understanding counts.
            answer_score: probability that the answer is one, 0 to 1.
        """
        event = events.Understood(
            self.clock(), text, understanding, answer, passage, speaker, today, lead, answer_score=answer_score
        )
        return self._turn(event)

    def again(self, turn: DialogTurn) -> DialogTurn:
        """Work a preview out again, with what has happened since."""
        return self._turn(replace(turn.event, now=self.clock()))

    def asks_to_wait(self) -> DialogTurn:
        """Return the agent's words to a turn without understanding."""
        event = events.Late(self.clock())
        _, actions = step(self.agent, self.state, event)
        return DialogTurn(event, self.state, self.state, actions, agent=self.agent.form.name)

    async def run_ahead(self, turn: DialogTurn, seconds: float) -> None:
        """Run a turn's read-only fulfilments ahead, for a later preview.

        Args:
            turn: preview of a turn.
            seconds: how long the result is waited for.
        """
        running = [self._ahead[task.name].begin(task, self.id) for task in turn.begun if task.name in self._ahead]
        if running and seconds > 0:
            await asyncio.wait(running, timeout=seconds)

    def give_up(self) -> None:
        """Give up what was carried out ahead of a turn that does not come."""
        for fulfiller in self._ahead.values():
            fulfiller.cancel()

    def commit(self, turn: DialogTurn) -> DialogTurn:
        """Commit a turn; recompute it if another was committed since its preview."""
        if turn.before is not self.state:
            turn = self._turn(turn.event)
        self.state = turn.after
        self.on_commit()
        return turn

    def happen(self, event: events.Event) -> DialogTurn:
        """Let an event happen that is no turn of the caller."""
        return self.commit(self._turn(event))

    def _turn(self, event: events.Event) -> DialogTurn:
        if self.hears_speakers and isinstance(event, events.Began | events.ParametersSet | events.Fulfilled):
            others = {name: value for name, value in event.parameters.items() if name != SPEAKER}
            event = replace(event, parameters=others)
        state, done = step(self.agent, self.state, event)
        actions = list(done)
        ahead: list[Fulfil] = []
        while actions and isinstance(fulfil := actions[-1], Fulfil):
            result = self._ahead[fulfil.name].result_of(fulfil) if fulfil.name in self._ahead else None
            if result is not None:
                ahead.append(fulfil)
                result = replace(result, now=event.now)
            elif fulfil.name in self.fulfillers:
                break
            state, more = step(self.agent, state, result or events.Fulfilled(event.now, fulfil.number))
            actions += more
        begun = tuple(it for it in actions if isinstance(it, Fulfil) and it.name in self.fulfillers and it not in ahead)
        name = self.agent.form.name
        return DialogTurn(event, self.state, state, tuple(actions), begun, tuple(ahead), agent=name)
