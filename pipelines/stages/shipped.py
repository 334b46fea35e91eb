"""The stages that Vivavoce ships: intent and answer, side by side, then the dialog, and what is said aloud."""

from __future__ import annotations

from pipelines.stages.answering_stage import Answering
from pipelines.stages.conversing import Conversing
from pipelines.stages.registry import StageRegistry
from pipelines.stages.speaking import Speaking
from pipelines.stages.understanding import UnderstandingStage

SHIPPED_STAGES = StageRegistry((UnderstandingStage(), Answering(), Conversing(), Speaking()))
