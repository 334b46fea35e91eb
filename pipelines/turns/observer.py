"""Turn observers: what logs, metrics, traces and admission hear of turns. A session knows none of them."""

from __future__ import annotations

import inspect
from functools import partial
from typing import TYPE_CHECKING

from pipelines.messages import Reply
from pipelines.stages.registry import ASR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pipelines.errors import ModelError
    from pipelines.messages import Message
    from pipelines.models.ports import Timing
    from pipelines.turns.effects import SpeculationFate
    from pipelines.turns.state import TurnSettings


class TurnObserver:
    """Hears of the turns of all conversations. Every method does nothing unless it is overridden.

    The methods run on the event loop before the caller gets the reply, so they return at once and raise nothing.
    ``conversation`` is the conversation's name; "" for one without.
    """

    def speculated(self, conversation: str, fate: SpeculationFate) -> None:
        """A speculation was made, or came to one of its ends."""

    def replied(self, conversation: str, reply: Reply, settings: TurnSettings, now_seconds: float) -> None:
        """A reply goes out at ``now_seconds`` on the conversation's clock; its completion is only :meth:`told`."""

    def failed(self, conversation: str, turn: int, stage: str, error: ModelError) -> None:
        """A stage of a turn failed; turn 0 where it is not known."""

    def judged(self, conversation: str, probability: float | None, latency_seconds: float) -> None:
        """A pause was judged: how probably the turn is over, None where the model did not answer in time."""

    def told(self, conversation: str, message: Message, now_seconds: float) -> None:
        """A message other than audio goes out at ``now_seconds`` on the conversation's clock; replies too."""

    def ran(self, conversation: str, turn: int, stage: str, timing: Timing | None, now_seconds: float) -> None:
        """A stage has finished, whether a reply uses it or not; ``timing`` is None where nothing was computed."""

    def spoke(self, conversation: str, turn: int, now_seconds: float) -> None:
        """The first audio of a spoken reply goes out."""

    def replayed(self, conversation: str, seconds: float) -> None:
        """So much audio was played to another recognizer, because the first was lost."""

    def fulfilled(self, conversation: str, name: str, seconds: float, outcome: str) -> None:
        """A fulfilment of an agent has ended, so long after its turn: ``done``, ``failed`` or ``cancelled``."""


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

    def told(self, message: Message, settings: TurnSettings) -> None:
        """A message other than audio goes out."""
        now = self._clock()
        if isinstance(message, Reply) and not message.completes:
            self._observer.replied(self._name, message, settings, now)
        self._observer.told(self._name, message, now)

    def recognized(self, turn: int, timing: Timing) -> None:
        """The recognizer has answered, often without having computed anything."""
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
