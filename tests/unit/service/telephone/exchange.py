"""A service that answers calls, with fake models behind an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.models.ports import IntentPrediction
from tests.unit.pipelines.fakes import INSTANT
from tests.unit.pipelines.spoken import SpeakingModels

if TYPE_CHECKING:
    from service.sessions.host import SessionHost
    from service.telephone.audiosocket import AudioSocketServer
    from tests.unit.service.harness import FakeVoice


@dataclass
class OrderingModels(SpeakingModels):
    """Understands orders and goodbyes, and speaks for a quarter of a second a sentence."""

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        return IntentPrediction("order" if "latte" in text else "none", 0.9, (), INSTANT)


@dataclass
class Exchange:
    """A service that answers calls."""

    server: AudioSocketServer
    models: OrderingModels
    voice: FakeVoice
    host: SessionHost
