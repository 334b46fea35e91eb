"""Shipped stages: intent and answer in parallel, then dialog, then speech."""

from __future__ import annotations

from pipelines.dialog.dialog_stage import DialogStage
from pipelines.stages.answering_stage import AnsweringStage
from pipelines.stages.registry import StageRegistry
from pipelines.stages.speech_stage import SpeechStage
from pipelines.stages.understanding_stage import UnderstandingStage

SHIPPED_STAGES = StageRegistry((UnderstandingStage(), AnsweringStage(), DialogStage(), SpeechStage()))
