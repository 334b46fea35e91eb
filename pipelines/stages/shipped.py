"""The stages that Vivavoce ships: intent and answer, side by side, and then what is said aloud."""

from __future__ import annotations

from pipelines.stages.answering_stage import Answering
from pipelines.stages.registry import StageRegistry
from pipelines.stages.speaking import Speaking
from pipelines.stages.understanding import UnderstandingStage

SHIPPED_STAGES = StageRegistry((UnderstandingStage(), Answering(), Speaking()))
