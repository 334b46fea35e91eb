"""Served versions: new turns use active ones, and keep them to their end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from pipelines.models.contracts import ASR, INTENT_SLOT, QA, engine_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.models.contracts import EngineRegistry
    from pipelines.models.ports import AnswerModel, IntentModel, Recognizer
    from pipelines.models.versions.model_leases import ServedVersion


class ActiveVersions:
    """The versions that new turns begin with.

    Args:
        registry: the engines.
        served: a version of each engine, by its name.
    """

    def __init__(self, registry: EngineRegistry, served: Mapping[str, ServedVersion[Any]]) -> None:
        self._registry = registry
        self._served = dict(served)

    @property
    def recognizer(self) -> Recognizer:
        """Speech recognition, apart from any turn."""
        return cast("Recognizer", self.get(ASR))

    @property
    def intents(self) -> IntentModel:
        """Intent classification and slot filling, apart from any turn."""
        return cast("IntentModel", self.get(INTENT_SLOT))

    @property
    def answers(self) -> AnswerModel:
        """Extractive question answering, apart from any turn."""
        return cast("AnswerModel", self.get(QA))

    def get(self, role: str, variant: str | None = None) -> Any:  # noqa: ANN401 - a model of any engine
        """Return the model of a role, apart from any turn."""
        name = engine_name(role, variant or "")
        return self._registry[name].lease(self._served[name])

    def version(self, role: str) -> ServedVersion[Any]:
        """Return the version that new turns begin with."""
        return self._served[role]

    def replace(self, role: str, version: ServedVersion[Any]) -> None:
        """Let new turns begin with another version."""
        self._served[role] = version

    def begin_turn(self, variants: Mapping[str, str] | None = None) -> VersionsOfTurn:
        """Keep today's versions for one turn; ``variants`` are the chosen ones, by role."""
        return VersionsOfTurn(self._registry, self._served, variants or {})


class VersionsOfTurn:
    """The versions that one turn is served by, from its beginning to its end.

    Args:
        registry: the engines.
        served: a version of each engine, by its name.
        variants: the chosen variant of a role; a role that is left out is served without a choice.
    """

    def __init__(
        self, registry: EngineRegistry, served: Mapping[str, ServedVersion[Any]], variants: Mapping[str, str]
    ) -> None:
        self._registry = registry
        self._served = dict(served)
        self._variants = variants
        self._used: dict[str, int] = {}
        self._released = False
        for version in self._served.values():
            version.hold()

    @property
    def recognizer(self) -> Recognizer:
        """Speech recognition."""
        return cast("Recognizer", self.get(ASR))

    @property
    def intents(self) -> IntentModel:
        """Intent classification and slot filling."""
        return cast("IntentModel", self.get(INTENT_SLOT))

    @property
    def answers(self) -> AnswerModel:
        """Extractive question answering."""
        return cast("AnswerModel", self.get(QA))

    @property
    def versions(self) -> Mapping[str, int]:
        """The version of each engine that the turn has used so far."""
        return dict(self._used)

    def get(self, role: str, variant: str | None = None) -> Any:  # noqa: ANN401 - a model of any engine
        """Return the model of a role, of the chosen variant unless another one is named."""
        name = engine_name(role, self._variants.get(role, "") if variant is None else variant)
        version = self._served[name]
        if name not in self._used:
            self._used[name] = version.number
            version.turns_begun += 1
        return self._registry[name].lease(version)

    def release(self) -> None:
        """End the turn; what is under way holds its version itself."""
        if self._released:
            return
        self._released = True
        for version in self._served.values():
            version.release()
