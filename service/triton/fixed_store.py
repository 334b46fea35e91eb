"""The models of a Triton that somebody else runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pipelines.errors import RolloutRefusedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.models.versions.store import EngineFiles


class FixedStore:
    """Store of a foreign Triton: version 1 of each engine, unchangeable."""

    def __init__(self, address: str) -> None:
        self._address = address

    def holds(self, _: str) -> bool:
        """Return False: what such a Triton holds may change at any time."""
        return False

    def source(self, _: str) -> str:
        """See ``pipelines.models.versions.store.EngineStore``."""
        return f"Triton at {self._address}"

    async def check(self, _: Path) -> NoReturn:
        """Refuse every engine directory."""
        message = f"this service uses a Triton that it did not start, at {self._address}: change the models there"
        raise RolloutRefusedError("MODELS_FIXED", message)

    async def add(self, files: EngineFiles, _: int) -> None:
        """Refuse as well, though nothing passes :meth:`check`."""
        await self.check(Path(files.engine))

    def models(self, engine: str, _: int) -> Sequence[str]:
        """See ``pipelines.models.versions.store.EngineStore``."""
        return (engine,)

    def others(self) -> Sequence[str]:
        """See ``pipelines.models.versions.store.EngineStore``."""
        return ()

    async def remove(self, engine: str, number: int) -> None:
        """Do nothing: nothing was added."""
