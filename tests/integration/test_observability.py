"""Metrics, the log as JSON and traces of a real service, as Prometheus and a collector get them."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from prometheus_client.parser import text_string_to_metric_families

import vivavoce
from tests.unit.service.telemetry.collector import attributes
from tests.unit.service.telemetry.test_metric_names import TRITON

if TYPE_CHECKING:
    from opentelemetry.proto.trace.v1.trace_pb2 import Span

    from tests.integration.conftest import Service
    from tests.unit.service.telemetry.collector import Collector

RECORDING = Path("demo/recordings/museum_tram.flac")
DOCUMENT = "The river museum opens at nine. Tram four stops in front of it."
PATIENT_SECONDS = 30.0
STAGES = {"asr", "nlu", "qa"}


def scraped(url: str) -> dict[str, float]:
    """Reads the metrics; sums the series of each name."""
    found: dict[str, float] = {}
    with urllib.request.urlopen(url, timeout=10) as response:
        text = response.read().decode()
    assert list(text_string_to_metric_families(text))
    # Not the parser's names: it adds `_total` to Triton's counters, which have none.
    for name, value in re.findall(r"^([a-z_]+)(?:\{[^}]*\})? (\S+)$", text, re.MULTILINE):
        found[name] = found.get(name, 0.0) + float(value)
    return found


async def until_told(collector: Collector, trace_id: str) -> Span:
    """Waits until the turn of a trace was collected; returns it."""
    async with asyncio.timeout(30):
        while not (turns := [turn for turn in collector.named("turn") if turn.trace_id.hex() == trace_id]):
            await asyncio.sleep(0.1)
    (turn,) = turns
    return turn


async def test_a_conversation_is_seen_from_all_sides(full_service: Service, traces: tuple[Collector, str]):
    log, collector = full_service.log, traces[0]
    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
    (url,) = [found[1] for line in lines if (found := re.search(r"told at (\S+)", line["message"]))]
    before = await asyncio.to_thread(scraped, url)
    async with vivavoce.connect(full_service.address) as client:
        recording = vivavoce.read_audio(RECORDING)
        said = client.converse(
            recording.chunks(), audio=recording.format, documents=[DOCUMENT], reply_budget_seconds=PATIENT_SECONDS
        )
        (answered,) = [event async for event in said if isinstance(event, vivavoce.Reply)]
        with pytest.raises(vivavoce.VivavoceError):
            await client.ask("hello", variants={"qa": "marzipan"})
    # Everybody who asks within half a second is told the same.
    await asyncio.sleep(0.6)
    metrics = await asyncio.to_thread(scraped, url)
    assert answered.transcript
    for name in ("vivavoce_replies_total", "vivavoce_turn_latency_seconds_count", "vivavoce_refusals_total"):
        assert metrics[name] - before.get(name, 0.0) == 1, name
    assert metrics["vivavoce_ready"] == 1
    assert metrics["vivavoce_audio_seconds_total"] - before["vivavoce_audio_seconds_total"] > 1
    assert metrics.keys() >= TRITON | {"vivavoce_asr_partials_decoded_total"}

    lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()[len(lines) :]]
    (reply,) = [line for line in lines if "reply_ms" in line]
    (refusal,) = [line for line in lines if "reason" in line]
    assert refusal["reason"] == "UNKNOWN_VARIANT"

    turn = await until_told(collector, reply["trace_id"])
    assert {span.name for span in collector.spans if span.parent_span_id == turn.span_id} >= STAGES
    (call,) = [span for span in collector.spans if span.span_id == turn.parent_span_id]
    assert attributes(call)["vivavoce.conversation"] == reply["conversation"]
    told = f"{log.read_text(encoding='utf-8')}{collector.requests}".casefold()
    assert answered.transcript.casefold() not in told
    assert "marzipan" not in told
