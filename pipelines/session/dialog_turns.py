"""Dialog of a conversation: committed turns, and the agent's own words.

What an agent says by itself is a turn without words of the caller: a greeting, a question after silence, the answer to
keys, the result of a fulfilment.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from pipelines.data.dialog import events as dialog_events
from pipelines.data.messages import Interrupted, InterruptionReason, Notice, NoticeCode, Reply
from pipelines.data.stages import DIALOG, SPEECH
from pipelines.errors import InvalidInputError
from pipelines.session.keypad import Keypad
from pipelines.session.late_turns import LateTurns
from pipelines.session.running_fulfilments import Fulfilments
from pipelines.session.silence import SilenceTimer
from pipelines.stages.speech_stage import spoken_text
from pipelines.turns import effects, events

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pipelines.data.dialog.actions import Listen
    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.data.messages import Message
    from pipelines.data.stages import StageOutput
    from pipelines.dialog.session import DialogSession
    from pipelines.dialog.tools import ToolResult
    from pipelines.session.config import ConversationConfig
    from pipelines.turns.observer import ObservedConversation
    from pipelines.turns.state import State

MAX_SINGLE_CHOICES = 10
"""Of fewer values each has a key of its own."""

WHOLE_ANSWER_DOUBT = 0.25
"""What is left of the doubt that a turn is over, where all is said that the agent has asked for."""


class DialogTurns:
    """Holds the dialog of a conversation; does nothing where it has none.

    Args:
        config: how the conversation is held.
        state: returns the state of its machine.
        dispatch: called with what happens to it.
        tell: tells the caller what is no part of a turn.
        observed: hears of fulfilments that have ended.
    """

    def __init__(
        self,
        config: ConversationConfig,
        state: Callable[[], State],
        dispatch: Callable[[events.Event], None],
        tell: Callable[[Message], None],
        observed: ObservedConversation,
    ) -> None:
        self._dialog: DialogSession | None = config.dialog
        self._voice = config.reply_voice
        self._dispatch, self._inform, self._observed = dispatch, tell, observed
        if self._dialog is not None and self._dialog.tools is not None:
            self._dialog.tools.open(tell)
        self._loop = asyncio.get_running_loop()
        self._listen: Listen | None = None
        self._fulfilments: Fulfilments | None = None
        if self._dialog is not None:
            self._fulfilments = Fulfilments(
                self._dialog,
                self._happen,
                lambda number: dispatch(events.FulfilmentEnded(number)),
                observed.fulfilled,
            )
        self._keypad = Keypad(self._press)
        self._late = LateTurns(self._ask_to_wait)
        self._state = state
        # A caller who types takes his time.
        self._silence = SilenceTimer(state, self._nothing_heard) if config.audio_format is not None else None

    @property
    def expected(self) -> tuple[str, ...]:
        """Values that the caller is likely to say next."""
        return self._listen.values if self._listen else ()

    def weigh_end(self, text: str, probability: float) -> float:
        """Return the probability of a turn's end, given the agent's question.

        Args:
            text: what was said until a pause.
            probability: what the model of the end of a turn says, 0 to 1.
        """
        if self._dialog is None or self._listen is None or not self._dialog.is_whole_answer(text, self._listen):
            return probability
        return 1 - (1 - probability) * WHOLE_ANSWER_DOUBT

    def begin(self) -> None:
        """Begin to wait for the caller, and let the greeting be spoken."""
        turn = self._dialog.began if self._dialog else None
        if turn is not None:
            self._follow(turn)
            self._tell(turn, aloud=self._voice is not None and bool(turn.text))

    def perform(self, effect: effects.DialogEffect) -> None:
        """Do what the turns want done."""
        if self._dialog is None or self._fulfilments is None:
            return
        match effect:
            case effects.CommitDialog(number, step):
                committed = self._dialog.commit(step)
                self._follow(committed)
                self._dispatch(events.DialogCommitted(number, committed))
            case effects.StartFulfilment(task):
                self._fulfilments.start(task)
            case effects.CancelFulfilment(number):
                self._fulfilments.cancel(number)

    def press(self, keys: str) -> None:
        """Take keys that the caller pressed.

        Args:
            keys: digits, ``*``, ``#`` and ``A`` to ``D``, one or several.

        Raises:
            InvalidInputError: no agent holds the conversation.
        """
        if self._dialog is None:
            message = "keys came, but no agent holds this conversation: name one in config.agent"
            raise InvalidInputError("dtmf", "NO_AGENT", message)
        self._dispatch(events.CancelRequested(0, self._loop.time()))
        listen = self._listen
        is_single = listen is not None and (listen.confirming or 0 < len(listen.values) < MAX_SINGLE_CHOICES)
        self._keypad.press(keys, is_single=is_single)

    def change(self, parameters: Mapping[str, str]) -> None:
        """Change session parameters.

        Raises:
            InvalidInputError: no agent holds the conversation.
        """
        if self._dialog is None:
            message = "parameters came, but no agent holds this conversation: name one in config.agent"
            raise InvalidInputError("config.session", "NO_AGENT", message)
        self._tell(self._dialog.change(parameters), aloud=False)

    def take(self, result: ToolResult) -> None:
        """Take the result of a tool; one that cannot be taken is told in a notice."""
        if self._dialog is not None and self._dialog.tools is not None:
            self._dialog.tools.take(result)
        else:
            message = "a tool result came, but no agent of this conversation asks for tools: leave it out"
            self._inform(Notice(NoticeCode.TOOL_RESULT_IGNORED, message))

    def half_closed(self) -> None:
        """Say that the caller sends nothing more, and no results of tools either."""
        if self._dialog is not None and self._dialog.tools is not None:
            self._dialog.tools.close()

    def note(self, message: Message) -> None:
        """Take note of late replies, and of interruptions of the agent."""
        if self._dialog is None:
            return
        if isinstance(message, Reply):
            self._late.note(message)
        elif isinstance(message, Interrupted) and message.reason is not InterruptionReason.CANCELLED:
            self._dialog.happen(dialog_events.Interrupted(self._now()))

    def abandon(self) -> None:
        """Stop waiting for the caller; running fulfilments go on."""
        self._keypad.cancel()
        self._late.cancel()
        self.half_closed()
        if self._dialog is not None and not self._fulfilments:
            self._dialog.give_up()
        if self._silence is not None:
            self._silence.cancel()

    async def wait(self) -> None:
        """Wait until no fulfilment is under way; one that takes too long is given up."""
        if self._fulfilments is not None:
            await self._fulfilments.wait()

    def _follow(self, turn: DialogTurn) -> None:
        """Wait for the caller as a step of the dialog that counts says."""
        if turn.listens is not None:
            self._listen = turn.listens
        if self._silence is not None:
            awaited = self._listen is not None and not turn.after.ended
            self._silence.restart(self._listen.no_input_seconds if awaited and self._listen else None)
        for fulfil in turn.done:
            self._observed.fulfilled(fulfil.name, 0.0, "done")

    def _now(self) -> float:
        assert self._dialog is not None
        return self._dialog.clock()

    def _happen(self, event: dialog_events.Event) -> DialogTurn:
        """Let something happen that is no turn, and tell what the agent says to it."""
        assert self._dialog is not None
        turn = self._dialog.happen(event)
        self._follow(turn)
        self._tell(turn, aloud=bool(turn.actions))
        return turn

    def _tell(self, turn: DialogTurn, *, aloud: bool) -> None:
        """Take a step to the turns, with its words or without."""
        outputs: dict[str, StageOutput] = {DIALOG: turn} if aloud else {}
        if aloud and self._voice is not None:
            outputs[SPEECH] = spoken_text(turn.text, self._voice)
        self._dispatch(events.Prompted(turn, outputs, self._loop.time()))

    def _press(self, keys: str) -> None:
        self._happen(dialog_events.Dtmf(self._now(), keys))

    def _nothing_heard(self) -> None:
        self._happen(dialog_events.Silence(self._now()))

    def _ask_to_wait(self) -> None:
        """Let the agent ask for patience, unless somebody speaks."""
        assert self._dialog is not None
        turn = self._dialog.asks_to_wait()
        if turn.text and self._state().speaking is None and not turn.before.fulfilling:
            self._tell(turn, aloud=True)
