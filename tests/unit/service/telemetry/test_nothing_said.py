"""What was said reaches neither log nor metrics nor traces."""

from __future__ import annotations

import asyncio
import logging
import os

import grpc
import pytest
from prometheus_client import generate_latest

from pipelines.turns.observer import TurnObservers
from service.telemetry.call_observer import CallObservers
from service.telemetry.log_formats import LOG_FORMATTERS
from service.telemetry.log_output import logging_to
from service.telemetry.metrics import Metrics
from service.telemetry.traces import Traces, otlp_exporter
from service.telemetry.turn_log import TurnLog
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.service.harness import Harness, speaking
from tests.unit.service.telemetry.collector import collecting
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

CODE_WORD = "marzipan"


def config(**more: object) -> pb.ConverseRequest:
    audio = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)
    documents = [reply_pb2.Document(id=CODE_WORD, text=f"{CODE_WORD} is sweet")]
    return pb.ConverseRequest(config=pb.ConversationConfig(audio=audio, documents=documents, **more))


async def hold_conversations(harness: Harness) -> list[str]:
    """Says the code word in every way; returns what came back, and what was refused."""
    said = str(await harness.converse([config(), *speaking(1)]))
    asked = str(
        await harness.stub.Ask(pb.AskRequest(text=CODE_WORD, documents=[reply_pb2.Document(id="a", text=CODE_WORD)]))
    )
    refusals = []
    for requests in (
        [config(variants={"qa": CODE_WORD})],
        [config(), pb.ConverseRequest(text=CODE_WORD, request_id=10 * CODE_WORD)],
    ):
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await harness.converse(requests)
        refusals.append(refused.value.details())
    harness.models.fail = {"qa"}
    failed = str(await harness.converse([config(), *speaking(1)]))
    return [said, asked, refusals[0], failed]


@pytest.mark.parametrize("log_format", ["text", "json"])
async def test_what_was_said_is_in_no_log_no_metric_and_no_trace(log_format: str):
    metrics = Metrics()
    models = FakeModels(0.001, 0.001, 0.001)
    models.words = CODE_WORD
    reader, writer = os.pipe()
    with collecting() as (collector, url), logging_to(writer, logging.DEBUG, LOG_FORMATTERS[log_format]()):
        traces = Traces(otlp_exporter(url))
        turns, calls = TurnObservers((TurnLog(), metrics, traces)), CallObservers((metrics, traces))
        async with Harness.running(models=models, observer=calls, turn_observer=turns, typed_observer=turns) as harness:
            responses = await hold_conversations(harness)
        await asyncio.to_thread(traces.close)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as file:
        log = file.read()
    for response in responses:
        assert CODE_WORD in response
    assert "COMPLETE" in log
    assert "UNKNOWN_VARIANT" in log
    assert CODE_WORD not in log.casefold()
    told = generate_latest(metrics.registry).decode()
    assert 'reason="UNKNOWN_VARIANT"' in told
    assert CODE_WORD not in told.casefold()
    assert len(collector.named("turn")) >= 3
    assert CODE_WORD not in str(collector.requests).casefold()
