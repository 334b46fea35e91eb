"""Stages: steps from a turn's text to its reply, known by name to turns.

A stage says which other stages it needs, whether a conversation wants it, and how to run it. The machine of
``pipelines.turns`` knows stages by name alone and decides what runs; a session carries that out.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from pipelines.data.stages import ASR, PlannedStage, StageOutput

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence

    from pipelines.data.answers import Document
    from pipelines.data.understanding import UnderstandingOptions
    from pipelines.models.ports import TurnModels
    from pipelines.speech.reply_voice import ReplyVoice
    from pipelines.stages.follow_ups import Exchange


class StageConfig(Protocol):
    """Settings for stages; see ``pipelines.session.config.ConversationConfig``."""

    @property
    def documents(self) -> tuple[Document, ...]:
        """Texts in which answers are looked for."""

    @property
    def knowledge(self) -> tuple[str, ...]:
        """Names of the knowledge bases in which answers are looked for."""

    @property
    def understanding(self) -> UnderstandingOptions:
        """Options of understanding."""

    @property
    def reply_voice(self) -> ReplyVoice | None:
        """Voice and format of spoken replies; None: replies are not spoken."""

    @property
    def dialog(self) -> Any:  # noqa: ANN401 - a layer above the stages
        """``pipelines.dialog.session.DialogSession``, or None."""


@dataclass(frozen=True, slots=True)
class StageRequest:
    """Input of a stage.

    Attributes:
        text: text of the turn, never empty.
        config: config of the conversation.
        inputs: results of the stages in :attr:`Stage.after` and :attr:`Stage.behind`, by name.
        due: deadline on the running loop's clock, in seconds, after which the result is discarded; None: not known.
        reply_due: when the reply is due, on the same clock; a later result follows it. None: not known.
        history: the latest questions that were replied to, the latest last.
        speaker: awaits the enrolled name of the turn's only speaker, "" where that is not sure; None where speakers are
            not told apart.
    """

    text: str
    config: StageConfig
    inputs: Mapping[str, Any] = field(default_factory=dict)
    due: float | None = None
    reply_due: float | None = None
    history: tuple[Exchange, ...] = ()
    speaker: Callable[[], Awaitable[str]] | None = None


class Stage(Protocol):
    """One step of the work on a turn. All but `name` and `run` has a default."""

    @property
    def name(self) -> str:
        """Name in replies, notices and metrics."""

    @property
    def after(self) -> tuple[str, ...]:
        """Names of the stages whose results it needs. Without them it does not run."""
        return ()

    @property
    def behind(self) -> tuple[str, ...]:
        """Names of the stages that it waits for where they are wanted."""
        return ()

    @property
    def of_no_text(self) -> StageOutput | None:
        """Result for a turn without words; None: none, and none is missed."""
        return None

    @property
    def in_order(self) -> bool:
        """True if it waits until all earlier turns are replied to."""
        return False

    def wanted(self, config: StageConfig) -> bool:  # noqa: ARG002 - what subclasses decide by
        """Return whether a conversation with this config wants the stage."""
        return True

    def run(self, request: StageRequest, models: TurnModels) -> AsyncIterator[StageOutput]:
        """Yield at least one output; the last one is the result.

        Args:
            request: what to work on.
            models: versions of the models that the turn is served by.

        Raises:
            ModelError: the stage fails. The turn is replied to without it, and without stages that need it.
        """


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
        """Return a registry with the stage of a name replaced; see the class for errors."""
        return StageRegistry([stage if each.name == stage.name else each for each in self])

    def plan(self, config: StageConfig) -> tuple[PlannedStage, ...]:
        """Return the wanted stages, without those that need an unwanted one."""
        planned: dict[str, PlannedStage] = {}
        for stage in self:
            if stage.wanted(config) and all(name in planned for name in stage.after):
                after = (*stage.after, *(name for name in stage.behind if name in planned))
                planned[stage.name] = PlannedStage(stage.name, after, stage.of_no_text, stage.in_order)
        return tuple(planned.values())
