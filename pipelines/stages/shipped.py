"""The stages that Vivavoce ships: intent and answer, side by side, and then what is said aloud."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.stages.answering_stage import Answering
from pipelines.stages.registry import StageRegistry
from pipelines.stages.speaking import Speaking
from pipelines.stages.understanding import UnderstandingStage

if TYPE_CHECKING:
    from pipelines.knowledge.bases import KnowledgeBases


def stages_with(bases: KnowledgeBases) -> StageRegistry:
    """Returns the shipped stages, of which answering looks in knowledge bases too."""
    return StageRegistry((UnderstandingStage(), Answering(bases), Speaking()))


SHIPPED_STAGES = StageRegistry((UnderstandingStage(), Answering(), Speaking()))
