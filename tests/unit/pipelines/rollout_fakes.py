"""A roll-out whose model server and files are only pretended: what it does to them can be told exactly."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines.data.messages import Reply
from pipelines.data.predictions import AnswerSpan, IntentPrediction
from pipelines.errors import InvalidInputError, ModelControlError, ModelUnavailableError
from pipelines.models.shipped import SHIPPED
from pipelines.models.versions.rollout import Rollout
from pipelines.session.conversation import Conversation, ConversationConfig
from tests.unit.pipelines.fakes import INSTANT, FakeModels

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.models.contracts import EngineRegistry
    from pipelines.models.versions.probes import IntentProbe

ENGINE = Path("/engines/new")


@dataclass(frozen=True)
class Files:
    engine: str = "intent_slot"
    examples: Sequence[IntentProbe] = ()


@dataclass
class FakeStore:
    """Names the models of version 2 ``step.2`` and ``ENGINE.2``."""

    files: Files = field(default_factory=Files)
    held: set[tuple[str, int]] = field(default_factory=set)
    removed: list[tuple[str, int]] = field(default_factory=list)
    checks: bool = True
    optional: set[str] = field(default_factory=set)

    def holds(self, engine: str) -> bool:
        return engine in self.optional

    def source(self, engine: str) -> str:
        return f"shipped {engine}"

    async def check(self, source: Path) -> Files:
        if not self.checks:
            raise InvalidInputError("path", "NO_ENGINE", f"{source} is none")
        return self.files

    async def add(self, files: Files, number: int) -> None:
        self.held.add((files.engine, number))

    def models(self, engine: str, number: int) -> list[str]:
        return [engine] if number == 1 else [f"step.{number}", f"{engine}.{number}"]

    def others(self) -> list[str]:
        return ["another"]

    async def remove(self, engine: str, number: int) -> None:
        self.held.discard((engine, number))
        self.removed.append((engine, number))


@dataclass
class FakeControl:
    """Takes ``load_seconds`` to load a model, and half of that to unload some."""

    loaded: set[str] = field(default_factory=lambda: {"asr", "intent_slot", "qa"})
    refuses: set[str] = field(default_factory=set)
    keeps: set[str] = field(default_factory=set)
    lost: bool = False
    load_seconds: float = 1.0

    async def load(self, model: str) -> None:
        await asyncio.sleep(self.load_seconds)
        if self.lost:
            raise ModelUnavailableError("the model server is gone")
        if model in self.refuses:
            raise ModelControlError(f"cannot load {model}: no such weights")
        self.loaded.add(model)

    async def unload(self, models: Sequence[str]) -> None:
        await asyncio.sleep(self.load_seconds / 2)
        if self.lost:
            raise ModelUnavailableError("the model server is gone")
        if self.keeps & set(models):
            raise ModelControlError("will not be unloaded")
        self.loaded -= set(models)

    async def missing(self, names: Sequence[str]) -> list[str]:
        return [name for name in names if name not in self.loaded]


@dataclass
class NamedModels(FakeModels):
    """Says which model answered: the name is the intent."""

    name: str = ""
    confidence: float = 0.9
    control: FakeControl | None = None

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        await asyncio.sleep(self.understanding_seconds)
        assert self.name in self.control.loaded, "a turn was sent to a version that is not loaded"
        if "nlu" in self.fail:
            raise self.error
        return IntentPrediction(self.name, self.confidence, (), INSTANT)

    async def find(self, question: str, document: str, due: float | None = None) -> AnswerSpan:
        return AnswerSpan(None, None, 0.5, INSTANT)


class Stage:
    """A roll-out with everything around it."""

    def __init__(self, registry: EngineRegistry = SHIPPED, store: FakeStore | None = None, **model: object) -> None:
        self.store, self.control = store or FakeStore(), FakeControl()
        self.rollout = Rollout(self.control, self.store, self._connect, registry, clock=lambda: 1000.0)
        self.model = model

    def _connect(self, engine: str, name: str) -> NamedModels:
        changes = self.model if "." in name else {}
        return NamedModels(name=name, control=self.control, **changes)

    @property
    def phases(self) -> dict[int, str]:
        known = (status.version for status in self.rollout.status())
        return {version.number: version.phase.value for version in known if version.engine == "intent_slot"}

    async def turn(self) -> Reply:
        conversation = Conversation(ConversationConfig(), self.rollout.active, voice=None)
        try:
            await conversation.add_text("hello there")
            await conversation.half_close()
            (reply,) = [message async for message in conversation.outbox if isinstance(message, Reply)]
            return reply
        finally:
            await conversation.close()
