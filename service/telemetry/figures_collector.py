"""The figures of the service as metrics."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from service.telemetry.figures import Figures

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from prometheus_client.core import Metric

_TEXTS = {
    "ready": "Whether callers are let in.",
    "speakers": "People who are expected to speak at a time.",
    "speakers_limit": "Speakers that can be answered in time.",
    "conversations": "Open streams.",
    "principals": "Principals that hold a conversation.",
    "open_sequences": "Utterances that the recognizer has open.",
    "audio_seconds_total": "Audio that callers have sent, in seconds.",
    "triton_restarts_total": "Times that Triton was started again.",
    "models_mended_total": "Times that a model was loaded anew whose process was lost.",
}


class FiguresCollector(Collector):
    """Reads the figures when metrics are collected.

    Args:
        read: returns them; called from any thread.
    """

    def __init__(self, read: Callable[[], Figures]) -> None:
        self._read = read

    def describe(self) -> Iterator[Metric]:
        """Yield the metrics without values, so that registering needs no service."""
        return self._families(Figures())

    def collect(self) -> Iterator[Metric]:
        """Yield the metrics."""
        return self._families(self._read())

    def _families(self, figures: Figures) -> Iterator[Metric]:
        for field in fields(figures):
            family = CounterMetricFamily if field.name.endswith("_total") else GaugeMetricFamily
            yield family(f"vivavoce_{field.name}", _TEXTS[field.name], value=getattr(figures, field.name))
