"""Turn observers, for logs, metrics, traces and admission."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING

from pipelines.data.messages import Reply
from pipelines.data.stages import ASR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipelines.data.messages import Message
    from pipelines.data.recognition import Timing
    from pipelines.errors import ModelError
    from pipelines.turns.effects import SpeculationFate
    from pipelines.turns.state import TurnSettings


class TurnObserver:
    """Observer of all conversations' turns, by default without effect.

    The methods run on the event loop before the caller gets the reply, so they return at once and raise nothing.
    ``conversation`` is the conversation's name; "" for one without.
    """

    def speculated(self, conversation: str, fate: SpeculationFate) -> None:
        """Take a new speculation, or the end of one."""

    def replied(self, conversation: str, reply: Reply, settings: TurnSettings, now_seconds: float) -> None:
        """Take a reply that goes out at ``now_seconds``, but no completion."""

    def failed(self, conversation: str, turn: int, stage: str, error: ModelError) -> None:
        """Take the failure of a stage; turn 0 where it is not known."""

    def judged(self, conversation: str, probability: float | None, latency_seconds: float) -> None:
        """Take a pause's probability of the turn's end; None without an answer."""

    def message_sent(self, conversation: str, message: Message, now_seconds: float) -> None:
        """Take a message but audio that goes out at ``now_seconds``; also replies."""

    def ran(self, conversation: str, turn: int, stage: str, timing: Timing | None, now_seconds: float) -> None:
        """Take a finished stage; ``timing`` is None if nothing was computed."""

    def spoke(self, conversation: str, turn: int, now_seconds: float) -> None:
        """Take the first audio of a spoken reply."""

    def replayed(self, conversation: str, seconds: float) -> None:
        """Take the seconds of audio sent again after the loss of a recognizer."""

    def fulfilled(self, conversation: str, name: str, seconds: float, outcome: str) -> None:
        """Take the end of a fulfilment: ``done``, ``failed`` or ``cancelled``."""


class TurnObservers(TurnObserver):
    """Several observers as one, called in their order."""

    def __init__(self, observers: Sequence[TurnObserver]) -> None:
        for name in _METHODS:
            setattr(self, name, partial(_call_all, [getattr(observer, name) for observer in observers]))


_METHODS = [name for name, value in vars(TurnObserver).items() if inspect.isfunction(value)]


def _call_all(methods: Sequence[Callable[..., None]], *args: object, **named: object) -> None:
    for method in methods:
        method(*args, **named)


class ObservedConversation:
    """Tells an observer of one conversation, with its name and by its clock.

    Args:
        observer: is told.
        name: of the conversation; "" for one without.
        clock: the conversation's, in seconds.
    """

    def __init__(self, observer: TurnObserver, name: str, clock: Callable[[], float]) -> None:
        self._observer, self._name, self._clock = observer, name, clock

    def speculated(self, fate: SpeculationFate) -> None:
        """See :class:`TurnObserver`."""
        self._observer.speculated(self._name, fate)

    def message_sent(self, message: Message, settings: TurnSettings) -> None:
        """Pass on a message other than audio."""
        now = self._clock()
        if isinstance(message, Reply) and not message.completes:
            self._observer.replied(self._name, message, settings, now)
        self._observer.message_sent(self._name, message, now)

    def recognized(self, turn: int, timing: Timing) -> None:
        """Pass on the recognizer's work, if it computed anything."""
        if timing.compute_seconds > 0:
            self.ran(turn, ASR, timing)

    def ran(self, turn: int, stage: str, timing: Timing | None) -> None:
        """See :class:`TurnObserver`."""
        self._observer.ran(self._name, turn, stage, timing, self._clock())

    def failed(self, turn: int, stage: str, error: ModelError) -> None:
        """See :class:`TurnObserver`."""
        self._observer.failed(self._name, turn, stage, error)

    def judged(self, probability: float | None, latency_seconds: float) -> None:
        """See :class:`TurnObserver`."""
        self._observer.judged(self._name, probability, latency_seconds)

    def spoke(self, turn: int, now_seconds: float) -> None:
        """See :class:`TurnObserver`."""
        self._observer.spoke(self._name, turn, now_seconds)

    def replayed(self, seconds: float) -> None:
        """See :class:`TurnObserver`."""
        self._observer.replayed(self._name, seconds)

    def fulfilled(self, name: str, seconds: float, outcome: str) -> None:
        """See :class:`TurnObserver`."""
        self._observer.fulfilled(self._name, name, seconds, outcome)
