"""Protocols of a roll-out: model server and version files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pipelines.models.versions.probes import Probe


class EngineFiles(Protocol):
    """An engine directory that was found to be in order."""

    @property
    def engine(self) -> str:
        """Name of the engine that it holds."""

    @property
    def examples(self) -> Sequence[Probe[Any]]:
        """Its smoke evaluation; empty when it has none."""


class EngineStore(Protocol):
    """Files of engines' versions, side by side.

    Version 1 of every required engine is there from the beginning.
    """

    def holds(self, engine: str) -> bool:
        """Return whether version 1 of an engine exists; optional engines may lack it."""

    def source(self, engine: str) -> str:
        """Say where version 1 came from."""

    async def check(self, source: Path) -> EngineFiles:
        """Read an engine directory.

        Raises:
            InvalidInputError: it is none, or not in order.
            RolloutRefusedError: its files cannot be read, or this store takes no versions in.
        """

    async def add(self, files: EngineFiles, number: int) -> None:
        """Put the files of a version beside the others.

        Raises:
            RolloutRefusedError: they cannot be copied, or there is no room for them.
        """

    def models(self, engine: str, number: int) -> Sequence[str]:
        """Return a version's models in loading order, the engine's own last."""

    def others(self) -> Sequence[str]:
        """Return the names of the models that belong to no engine."""

    async def remove(self, engine: str, number: int) -> None:
        """Remove the files of a version, as far as they are there."""


class ModelControl(Protocol):
    """Loads and unloads the models of a model server."""

    async def load(self, model: str) -> None:
        """Load a model; raise ModelError when that does not work."""

    async def unload(self, models: Sequence[str]) -> None:
        """Unload models and wait until they are gone; raise ModelError on failure."""

    async def missing(self, names: Sequence[str]) -> Sequence[str]:
        """Return the names of those that are not ready."""
