"""The understanding stage."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from pipelines.data.stages import NLU
from pipelines.data.understanding import Understanding
from pipelines.stages.understanding import understand

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.models.ports import TurnModels
    from pipelines.stages.registry import StageConfig, StageRequest


class UnderstandingStage:
    """Intent and slots of every turn; see ``pipelines.stages.registry.Stage``."""

    name: ClassVar[str] = NLU
    after: ClassVar[tuple[str, ...]] = ()
    behind: ClassVar[tuple[str, ...]] = ()
    of_no_text: ClassVar[Understanding] = Understanding()
    in_order: ClassVar[bool] = False

    def wanted(self, config: StageConfig) -> bool:  # noqa: ARG002 - every conversation has intents
        """See ``pipelines.stages.registry.Stage``."""
        return True

    async def run(self, request: StageRequest, models: TurnModels) -> AsyncIterator[Understanding]:
        """See ``pipelines.stages.registry.Stage``."""
        yield await understand(models.intents, request.text, request.due, request.config.understanding)
