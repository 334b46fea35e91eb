"""Metrics, the log as JSON and traces of a real service, as Prometheus and a collector get them."""

from __future__ import annotations

import asyncio
import json
import re
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

import vivavoce
from service.processes.child_process import SERVE, listening
from tests.unit.service.telemetry.collector import attributes, collecting
from tests.unit.service.telemetry.test_metric_names import TRITON

RECORDING = Path("demo/recordings/museum_tram.flac")
DOCUMENT = "The river museum opens at nine. Tram four stops in front of it."
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


async def test_a_conversation_is_seen_from_all_sides(tmp_path: Path):
    log = tmp_path / "log.jsonl"
    with collecting() as (collector, endpoint):
        arguments = [*SERVE, "--max-conversations", "4", "--metrics-port", "0", "--log-format", "json"]
        with listening([*arguments, "--otlp-endpoint", endpoint], log) as (_, address):
            lines = [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
            (url,) = [found[1] for line in lines if (found := re.search(r"told at (\S+)", line["message"]))]
            async with vivavoce.connect(address) as client:
                recording = vivavoce.read_audio(RECORDING)
                said = client.converse(recording.chunks(), audio=recording.format, documents=[DOCUMENT])
                (answered,) = [event async for event in said if isinstance(event, vivavoce.Reply)]
                with pytest.raises(vivavoce.VivavoceError):
                    await client.ask("hello", variants={"qa": "marzipan"})
            metrics = await asyncio.to_thread(scraped, url)
        # The service has stopped, and sent what was left of its traces.
    assert answered.transcript
    assert metrics["vivavoce_replies_total"] == 1
    assert metrics["vivavoce_turn_latency_seconds_count"] == 1
    assert metrics["vivavoce_refusals_total"] == 1
    assert metrics["vivavoce_ready"] == 1
    assert metrics["vivavoce_audio_seconds_total"] > 1
    assert metrics.keys() >= TRITON | {"vivavoce_asr_partials_decoded_total"}

    text = log.read_text(encoding="utf-8")
    lines = [json.loads(line) for line in text.splitlines()]
    (reply,) = [line for line in lines if "reply_ms" in line]
    (refusal,) = [line for line in lines if "reason" in line]
    assert refusal["reason"] == "UNKNOWN_VARIANT"

    (turn,) = collector.named("turn")
    assert turn.trace_id.hex() == reply["trace_id"]
    assert {span.name for span in collector.spans if span.parent_span_id == turn.span_id} >= STAGES
    (call,) = [span for span in collector.spans if span.span_id == turn.parent_span_id]
    assert attributes(call)["vivavoce.conversation"] == reply["conversation"]
    told = f"{text}{collector.requests}".casefold()
    assert answered.transcript.casefold() not in told
    assert "marzipan" not in told
