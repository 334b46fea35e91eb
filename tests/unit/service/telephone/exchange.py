"""A service that answers calls, with fake models behind an agent."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.data.predictions import IntentPrediction
from service.telemetry.call_observer import CallObserver
from tests.unit.pipelines.fakes import INSTANT
from tests.unit.pipelines.spoken import SpeakingModels

if TYPE_CHECKING:
    import contextlib
    from collections.abc import Mapping

    from service.sessions.host import SessionHost
    from service.telemetry.call_observer import Refusal
    from service.telephone.audiosocket import AudioSocketServer
    from tests.unit.service.harness import FakeVoice


@dataclass
class OrderingModels(SpeakingModels):
    """Understands orders and goodbyes, and speaks for a quarter of a second a sentence."""

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        return IntentPrediction("order" if "latte" in text else "none", 0.9, (), INSTANT)


class Notes(CallObserver):
    """Keeps what calls are told of: their methods, and why some were refused."""

    def __init__(self) -> None:
        self.served: list[str] = []
        self.refused_because: list[str] = []

    def serving(self, method: str, metadata: Mapping[str, str]) -> contextlib.AbstractContextManager[object]:
        self.served.append(method)
        return super().serving(method, metadata)

    def refused(self, refusal: Refusal) -> None:
        self.refused_because.append(refusal.reason)


@dataclass
class Exchange:
    """A service that answers calls."""

    server: AudioSocketServer
    models: OrderingModels
    voice: FakeVoice
    host: SessionHost
    observer: Notes
