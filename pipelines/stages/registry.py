"""Stages: the steps that make a reply out of a turn's text, and the list of those that a service has.

A stage says which other stages it needs, whether a conversation wants it, and how to run it. The machine of
``pipelines.turns`` knows stages by name alone and decides what runs; a session carries that out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Sequence

    from pipelines.models.ports import Timing, TurnModels
    from pipelines.session.config import ConversationConfig
    from pipelines.stages.follow_ups import Exchange

ASR = "asr"
"""Name of recognition where replies and notices speak of stages. It runs ahead of the others and is not in the list."""

NLU = "nlu"
QA = "qa"
DIALOG = "dialog"
SPEECH = "speech"


class StageOutput(Protocol):
    """One output of a stage; the last one is its result."""

    @property
    def timing(self) -> Timing | None:
        """The cost of the stage so far; None when nothing was computed."""


MAX_RESULT_CHARACTERS = 65_536
"""Longest :class:`StageResult`, as JSON: replies stay small."""


@dataclass(frozen=True, slots=True)
class StageResult:
    """Output of a stage of your own that reaches callers, in ``Reply.results`` under the name of the stage.

    Attributes:
        data: JSON values by name. Numbers reach callers as doubles.
        timing: cost of the stage so far; None: nothing was computed.

    Raises:
        ValueError: the data are too long, or hold NaN or an infinite number.
        TypeError: the data hold something that JSON has no form for.
    """

    data: Mapping[str, Any]
    timing: Timing | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.data, Mapping):
            raise TypeError(f"a result is a {type(self.data).__name__}: make it a mapping of values by name")
        text = json.dumps(self.data, allow_nan=False)
        if len(text) > MAX_RESULT_CHARACTERS:
            raise ValueError(f"a result of {len(text)} characters as JSON: make it {MAX_RESULT_CHARACTERS} at most")
        # As JSON has it: a key is a string, and a tuple is a list.
        object.__setattr__(self, "data", json.loads(text))


@dataclass(frozen=True, slots=True)
class StageRequest:
    """What a stage works on.

    Attributes:
        text: text of the turn, never empty.
        config: config of the conversation.
        inputs: results of the stages in :attr:`Stage.after` and :attr:`Stage.behind`, by name.
        due: deadline on the running loop's clock, in seconds, after which the result is discarded; None: not known.
        reply_due: when the reply is due, on the same clock; a later result follows it. None: not known.
        history: the latest questions that were replied to, the latest last.
    """

    text: str
    config: ConversationConfig
    inputs: Mapping[str, Any] = field(default_factory=dict)
    due: float | None = None
    reply_due: float | None = None
    history: tuple[Exchange, ...] = ()


class Stage(Protocol):
    """One step of the work on a turn. A subclass names what differs: all but the name and `run` has a default."""

    @property
    def name(self) -> str:
        """Name in replies, notices and metrics."""

    @property
    def after(self) -> tuple[str, ...]:
        """Names of the stages whose results it needs. Without them it does not run."""
        return ()

    @property
    def behind(self) -> tuple[str, ...]:
        """Names of the stages that it waits for where a conversation wants them, and else does without."""
        return ()

    @property
    def of_no_text(self) -> StageOutput | None:
        """The result for a turn in which nothing was said; None: there is none, and none is missed."""
        return None

    @property
    def in_order(self) -> bool:
        """Whether it works on a turn only when all earlier turns are replied to."""
        return False

    def wanted(self, config: ConversationConfig) -> bool:  # noqa: ARG002 - what subclasses decide by
        """Whether a conversation with this config wants the stage."""
        return True

    def run(self, request: StageRequest, models: TurnModels) -> AsyncIterator[StageOutput]:
        """Yields at least one output; the last one is the result.

        Args:
            request: what to work on.
            models: versions of the models that the turn is served by.

        Raises:
            ModelError: the stage fails. The turn is replied to without it, and without stages that need it.
        """


@dataclass(frozen=True, slots=True)
class PlannedStage:
    """A stage that a conversation wants, as far as the machine knows it.

    Attributes:
        name: see :class:`Stage`.
        after: names of the stages whose results it needs.
        of_no_text: see :class:`Stage`.
        in_order: see :class:`Stage`.
    """

    name: str
    after: tuple[str, ...] = ()
    of_no_text: StageOutput | None = None
    in_order: bool = False


class StageRegistry:
    """The stages of a service, each behind those that it needs.

    Args:
        stages: the stages in the order in which replies tell of them.

    Raises:
        ValueError: two stages have one name, or a stage needs one that does not stand before it.
    """

    def __init__(self, stages: Sequence[Stage]) -> None:
        self._stages: dict[str, Stage] = {}
        for stage in stages:
            if stage.name in {*self._stages, ASR}:
                raise ValueError(f"two stages are called {stage.name!r}: rename one")
            unknown = [name for name in (*stage.after, *stage.behind) if name not in self._stages]
            if unknown:
                raise ValueError(f"stage {stage.name!r} needs {unknown[0]!r}: register that one before it")
            self._stages[stage.name] = stage

    def __iter__(self) -> Iterator[Stage]:
        return iter(self._stages.values())

    def __getitem__(self, name: str) -> Stage:
        return self._stages[name]

    def replacing(self, stage: Stage) -> StageRegistry:
        """Returns a registry in which a stage takes the place of the one with its name; see the class for errors."""
        return StageRegistry([stage if each.name == stage.name else each for each in self])

    def plan(self, config: ConversationConfig) -> tuple[PlannedStage, ...]:
        """Returns the stages that a conversation wants; one that needs an unwanted stage is not wanted either."""
        planned: dict[str, PlannedStage] = {}
        for stage in self:
            if stage.wanted(config) and all(name in planned for name in stage.after):
                after = (*stage.after, *(name for name in stage.behind if name in planned))
                planned[stage.name] = PlannedStage(stage.name, after, stage.of_no_text, stage.in_order)
        return tuple(planned.values())
