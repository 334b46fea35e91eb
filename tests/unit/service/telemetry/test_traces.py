"""Traces, as a collector gets them over gRPC."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import grpc
import pytest

from pipelines.models.trace_context import current_traceparent
from service.config import ConfigError, ServiceConfig, load_config
from service.telemetry.figures import Figures
from service.telemetry.telemetry import Telemetry, TracingNotInstalledError
from service.telemetry.traces import Traces, otlp_exporter
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.service.harness import Harness, speaking
from tests.unit.service.telemetry.collector import attributes, collecting
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from pipelines.data.predictions import IntentPrediction
    from tests.unit.service.telemetry.collector import Collector

CONVERSE = "vivavoce.v1.ConversationService/Converse"
ASK = "vivavoce.v1.ConversationService/Ask"
TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"
CONFIG = pb.ConverseRequest(
    config=pb.ConversationConfig(audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000))
)


class TracedModels(FakeModels):
    """Remembers what is traced where a model is asked."""

    def __init__(self) -> None:
        super().__init__(0.001, 0.001, 0.001)
        self.traceparents: set[str | None] = set()

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        self.traceparents.add(current_traceparent())
        return await super().predict(text, due)


async def held(
    *calls: tuple[str, tuple[tuple[str, str], ...]], models: FakeModels | None = None
) -> tuple[Collector, list[pb.ConverseResponse]]:
    """Holds conversations (``Converse``) or typed turns (``Ask``); returns what was traced, and what was answered."""
    responses: list[pb.ConverseResponse] = []
    with collecting() as (collector, url):
        traces = Traces(otlp_exporter(url))
        models = models or FakeModels(0.001, 0.001, 0.001)
        async with Harness.running(models=models, observer=traces, turn_observer=traces) as harness:
            for method, metadata in calls:
                if method == ASK:
                    await harness.stub.Ask(pb.AskRequest(text="hello"), metadata=metadata)
                else:
                    call = harness.stub.Converse(iter([CONFIG, *speaking(1)]), metadata=metadata)
                    responses += [response async for response in call]
        await asyncio.to_thread(traces.close)
    return collector, responses


async def test_a_conversation_has_a_span_below_it_one_a_turn_and_below_that_one_a_stage():
    collector, responses = await held((CONVERSE, ()))
    (call,) = collector.named(CONVERSE)
    (turn,) = collector.named("turn")
    assert not call.parent_span_id
    assert turn.parent_span_id == call.span_id
    assert attributes(call)["vivavoce.conversation"] == responses[0].started.conversation_id
    assert attributes(call)["rpc.method"] == "Converse"
    assert attributes(turn)["vivavoce.turn"] == 1
    assert attributes(turn)["vivavoce.status"] == "COMPLETE"
    assert attributes(turn)["vivavoce.ended_by"] == "half_close"
    stages = [span for span in collector.spans if span.parent_span_id == turn.span_id]
    assert {"asr", "nlu"} <= {span.name for span in stages}
    assert len([span for span in stages if span.name == "asr"]) == 1
    for stage in stages:
        costs = attributes(stage)
        seconds = (stage.end_time_unix_nano - stage.start_time_unix_nano) / 1e9
        assert seconds == pytest.approx(costs["vivavoce.queue_seconds"] + costs["vivavoce.compute_seconds"], abs=1e-5)
        assert stage.end_time_unix_nano <= turn.end_time_unix_nano + 1e6
    assert abs(turn.end_time_unix_nano / 1e9 - time.time()) < 30
    assert call.start_time_unix_nano <= turn.start_time_unix_nano < turn.end_time_unix_nano


async def test_a_caller_s_trace_goes_on_and_reaches_the_models():
    models = TracedModels()
    collector, _ = await held((CONVERSE, (("traceparent", f"00-{TRACE}-{PARENT}-01"),)), models=models)
    assert {span.trace_id.hex() for span in collector.spans} == {TRACE}
    (call,) = collector.named(CONVERSE)
    assert call.parent_span_id.hex() == PARENT
    assert models.traceparents == {f"00-{TRACE}-{call.span_id.hex()}-01"}


@pytest.mark.parametrize("traceparent", ["nonsense", "00-0-0-0", "00-" + "0" * 32 + "-" + PARENT + "-01", "x" * 2_000])
async def test_a_trace_that_cannot_be_read_is_begun_anew(traceparent: str):
    collector, _ = await held((CONVERSE, (("traceparent", traceparent),)))
    (call,) = collector.named(CONVERSE)
    assert not call.parent_span_id


async def test_what_a_caller_does_not_sample_is_not_sent():
    collector, responses = await held((CONVERSE, (("traceparent", f"00-{TRACE}-{PARENT}-00"),)))
    assert responses
    assert collector.spans == []


async def test_typed_turns_beside_each_other_have_spans_of_their_own():
    with collecting() as (collector, url):
        traces = Traces(otlp_exporter(url))
        async with Harness.running(observer=traces, typed_observer=traces) as harness:
            await asyncio.gather(*(harness.stub.Ask(pb.AskRequest(text="hello")) for _ in range(3)))
        await asyncio.to_thread(traces.close)
    calls = {span.span_id for span in collector.named(ASK)}
    turns = collector.named("turn")
    assert {span.parent_span_id for span in turns} == calls
    assert len(calls) == 3
    for turn in turns:
        assert [span.name for span in collector.spans if span.parent_span_id == turn.span_id] == ["nlu"]
        assert attributes(turn)["vivavoce.ended_by"] == "typed"


async def test_a_refusal_is_an_error_with_its_reason_and_without_its_message():
    with collecting() as (collector, url):
        traces = Traces(otlp_exporter(url))
        async with Harness.running(observer=traces) as harness:
            with pytest.raises(grpc.aio.AioRpcError):
                await harness.stub.Ask(pb.AskRequest(text="hello", variants={"qa": "marzipan"}))
        await asyncio.to_thread(traces.close)
    (call,) = collector.named(ASK)
    assert attributes(call)["vivavoce.code"] == "INVALID_ARGUMENT"
    assert attributes(call)["vivavoce.reason"] == "UNKNOWN_VARIANT"
    assert "marzipan" not in str(call)
    assert not call.events


async def test_a_collector_that_is_not_there_holds_nobody_up(free_address: str, caplog: pytest.LogCaptureFixture):
    caplog.set_level(logging.CRITICAL, "opentelemetry")
    telemetry = Telemetry(ServiceConfig(otlp_endpoint=f"http://{free_address}"))
    async with Harness.running(observer=telemetry.call_observer, turn_observer=telemetry.turn_observers[-1]) as harness:
        async with telemetry.running(Figures):
            assert await harness.converse([CONFIG, *speaking(1)])
            began = time.monotonic()
        assert time.monotonic() - began < 10


def test_missing_packages_are_told_with_the_cure(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "service.telemetry.traces", raising=False)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(TracingNotInstalledError, match=r"pip install '.\[telemetry\]'"):
        Telemetry(ServiceConfig(otlp_endpoint="http://localhost:4317"))


@pytest.mark.parametrize("url", ["localhost:4317", "http://localhost", "grpc://localhost:1", "http://a b:1"])
def test_what_is_no_url_of_a_collector_is_refused(url: str):
    with pytest.raises(ConfigError, match="http://HOST:PORT"):
        load_config({"otlp_endpoint": url}, {})


def test_what_is_off_is_not_imported():
    code = (
        "import sys, service.app\n"
        "from service.config import ServiceConfig\n"
        "from service.telemetry.telemetry import Telemetry\n"
        "Telemetry(ServiceConfig())\n"
        "print([name for name in ('opentelemetry', 'prometheus_client', 'aiohttp.web') if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "[]"
