"""An engine for recognition whose recognizer only counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engines.asr.serving.engine import AsrEngine
from engines.asr.serving.requests import AsrSettings
from tests.unit.engines.counting_recognizer import CountingRecognizer

if TYPE_CHECKING:
    from tests.virtual_time import Clock


@pytest.fixture
def recognizer() -> CountingRecognizer:
    return CountingRecognizer()


@pytest.fixture
def engine(recognizer: CountingRecognizer, clock: Clock) -> AsrEngine:
    settings = AsrSettings(partial_interval_seconds=0.4, max_utterance_seconds=2, idle_timeout_seconds=60)
    return AsrEngine(recognizer, settings, clock)
