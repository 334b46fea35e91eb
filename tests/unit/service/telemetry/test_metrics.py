"""What is counted of turns, calls and the service, read as Prometheus reads it."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from dataclasses import replace
from typing import TYPE_CHECKING

import aiohttp
import grpc
import pytest
from aiohttp import web
from prometheus_client.parser import text_string_to_metric_families

from pipelines.data.messages import (
    EndReason,
    Interrupted,
    InterruptionReason,
    Notice,
    NoticeCode,
    Reply,
    SpeechBegan,
    SpeechEnded,
    Status,
)
from pipelines.data.recognition import Timing
from pipelines.errors import ModelError
from pipelines.turns.effects import SpeculationFate
from pipelines.turns.state import TurnSettings
from service.addresses import ListenError
from service.security.authentication import Authenticator
from service.security.principal import Principal
from service.telemetry.call_observer import Refusal
from service.telemetry.figures import Figures
from service.telemetry.metrics import Metrics
from service.telemetry.metrics_server import MetricsPage, serving_metrics
from tests.unit.service.harness import Harness, speaking
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

CONFIG = pb.ConverseRequest(
    config=pb.ConversationConfig(audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000))
)


def value(metrics: Metrics, name: str, **labels: str) -> float | None:
    return metrics.registry.get_sample_value(f"vivavoce_{name}", labels)


def reply(turn: int, ended_at: float, status: Status = Status.COMPLETE) -> Reply:
    return Reply(turn, "said", {}, status, (), ended_at)


@contextlib.asynccontextmanager
async def told(
    metrics: Metrics, read: Callable[[], Figures] = Figures, triton_url: str | None = None, host: str = "127.0.0.1"
) -> AsyncIterator[Callable[[], object]]:
    page = MetricsPage(metrics.registry, read, lambda: triton_url)
    async with serving_metrics(page, host, 0) as url, aiohttp.ClientSession() as session:

        async def fetch() -> dict[str, float]:
            async with session.get(url) as response:
                assert response.status == 200
                assert response.headers["Content-Type"].startswith("text/plain; version=0.0.4")
                families = text_string_to_metric_families(await response.text())
                return {sample.name: sample.value for family in families for sample in family.samples}

        yield fetch


@pytest.mark.parametrize(
    ("host", "status"),
    [("evil.example", 403), ("127.0.0.1.evil.example:80", 403), ("localhost:9", 200), ("[::1]", 200)],
)
async def test_metrics_are_not_told_under_a_foreign_name(host: str, status: int):
    page = MetricsPage(Metrics().registry, Figures, lambda: None)
    async with serving_metrics(page, "127.0.0.1", 0) as url, aiohttp.ClientSession() as session:
        assert (await session.get(url, headers={"Host": host})).status == status


def test_turn_latency_counts_from_the_last_speech_and_reply_latency_from_the_end_of_the_turn():
    metrics = Metrics()
    metrics.message_sent("c", SpeechBegan(1, 0), 10.0)
    metrics.message_sent("c", SpeechEnded(1, 16_000, EndReason.SILENCE, silence=8_000), 11.5)
    metrics.replied("c", reply(1, 11.5), TurnSettings(), 11.6)
    assert value(metrics, "turn_latency_seconds_sum") == pytest.approx(0.6)
    assert value(metrics, "reply_latency_seconds_sum", source="spoken") == pytest.approx(0.1)
    assert value(metrics, "replies_total", status="COMPLETE", source="spoken") == 1
    assert value(metrics, "utterances_total", ended_by="silence") == 1
    metrics.spoke("c", 1, 11.7)
    assert value(metrics, "voice_to_voice_latency_seconds_sum") == pytest.approx(0.7)
    assert value(metrics, "spoken_replies_total") == 1


def test_a_completion_counts_beside_the_replies():
    metrics = Metrics()
    metrics.replied("c", reply(1, 5.0, Status.PARTIAL), TurnSettings(), 5.3)
    metrics.message_sent("c", reply(1, 5.0, Status.PARTIAL), 5.3)
    metrics.message_sent("c", replace(reply(1, 5.0), completes=True), 6.0)
    assert value(metrics, "replies_total", status="PARTIAL", source="typed") == 1
    assert value(metrics, "replies_total", status="COMPLETE", source="typed") == 0
    assert value(metrics, "completed_replies_total", status="COMPLETE") == 1
    assert value(metrics, "reply_latency_seconds_sum", source="typed") == pytest.approx(0.3)


def test_a_typed_turn_has_no_turn_latency():
    metrics = Metrics()
    metrics.replied("c", reply(1, 5.0, Status.PARTIAL), TurnSettings(), 5.3)
    assert value(metrics, "turn_latency_seconds_count") == 0
    assert value(metrics, "replies_total", status="PARTIAL", source="typed") == 1


def test_what_happens_in_turns_is_counted_by_kind():
    metrics = Metrics()
    metrics.speculated("c", SpeculationFate.HIT)
    metrics.failed("c", 1, "qa", ModelError("sorry"))
    metrics.judged("c", 0.9, 0.03)
    metrics.judged("c", None, 0.4)
    metrics.ran("c", 1, "nlu", Timing(0.002, 0.01), 1.0)
    metrics.ran("c", 1, "speech", None, 1.0)
    metrics.message_sent("c", Interrupted(1, 0.2, "", InterruptionReason.SPEECH), 1.0)
    metrics.message_sent("c", Notice(NoticeCode.NO_SPEECH, "nothing was said", 1), 1.0)
    metrics.refused(Refusal("RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "token"))
    metrics.replayed("c", 2.5)
    metrics.replayed("c", 0.5)
    metrics.fulfilled("c", "order", 0.25, "done")
    metrics.fulfilled("c", "order", 1.0, "failed")
    assert value(metrics, "fulfilments_total", fulfilment="order", outcome="done") == 1
    assert value(metrics, "fulfilments_total", fulfilment="order", outcome="failed") == 1
    assert value(metrics, "fulfilment_seconds_sum", fulfilment="order") == 1.25
    assert value(metrics, "replayed_audio_seconds_total") == 3.0
    assert value(metrics, "speculations_total", fate="hit") == 1
    assert value(metrics, "speculations_total", fate="differed") == 0
    assert value(metrics, "stage_failures_total", stage="qa") == 1
    assert value(metrics, "pauses_judged_total", outcome="answered") == 1
    assert value(metrics, "pauses_judged_total", outcome="missed") == 1
    assert value(metrics, "pause_judgement_seconds_count") == 1
    assert value(metrics, "stage_queue_seconds_sum", stage="nlu") == pytest.approx(0.002)
    assert value(metrics, "stage_compute_seconds_sum", stage="nlu") == pytest.approx(0.01)
    assert value(metrics, "stage_compute_seconds_count", stage="speech") is None
    assert value(metrics, "interruptions_total", cause="speech") == 1
    assert value(metrics, "notices_total", code="NO_SPEECH") == 1
    labels = {"code": "RESOURCE_EXHAUSTED", "reason": "QUOTA_EXCEEDED", "principal": "token"}
    assert value(metrics, "refusals_total", **labels) == 1


def test_turns_without_a_reply_do_not_fill_the_memory():
    metrics = Metrics()
    for turn in range(5_000):
        metrics.message_sent("c", SpeechBegan(turn, 0), 0.0)
    for turn in (1, 4_999):
        metrics.replied("c", reply(turn, 0.0), TurnSettings(), 0.1)
    assert value(metrics, "replies_total", status="COMPLETE", source="typed") == 1
    assert value(metrics, "replies_total", status="COMPLETE", source="spoken") == 1


async def test_a_conversation_is_counted_with_its_stages():
    metrics = Metrics()
    async with Harness.running(observer=metrics, turn_observer=metrics) as harness:
        await harness.converse([CONFIG, *speaking(1)])
        assert harness.admission.quotas.audio_seconds == pytest.approx(1.0)
    assert value(metrics, "replies_total", status="COMPLETE", source="spoken") == 1
    assert value(metrics, "turn_latency_seconds_count") == 1
    assert value(metrics, "utterances_total", ended_by="half_close") == 1
    for stage in ("asr", "nlu"):
        assert value(metrics, "stage_compute_seconds_count", stage=stage) >= 1


async def test_refusals_are_counted_by_reason_and_kind_of_principal_and_never_by_name():
    class Tokens:
        def find(self, token: str) -> tuple[Principal | None, str]:
            return (Principal("kiosk-7", "token"), "") if token == "good" else (None, "the token is unknown")

    metrics = Metrics()
    async with Harness.running(observer=metrics, authenticator=Authenticator(Tokens())) as harness:
        for token in ("bad", "good"):
            call = harness.channel.unary_unary("/vivavoce.v1.ConversationService/Ask")
            with pytest.raises(grpc.aio.AioRpcError):
                await call(b"", metadata=(("authorization", f"Bearer {token}"),))
    found = {
        tuple(sample.labels.values()): sample.value
        for family in metrics.registry.collect()
        for sample in family.samples
        if sample.name == "vivavoce_refusals_total"
    }
    assert {labels[0::2]: count for labels, count in found.items()} == {
        ("UNAUTHENTICATED", "anonymous"): 1,
        ("INVALID_ARGUMENT", "token"): 1,
    }
    assert "kiosk" not in str(found)


async def test_the_endpoint_tells_figures_of_the_moment_and_of_the_process():
    figures = Figures(
        ready=1, speakers=2.5, speakers_limit=7.3, conversations=4, triton_restarts_total=2, models_mended_total=3
    )
    async with told(Metrics(), lambda: figures, host="unix:/run/vivavoce") as fetch:
        found = await fetch()
    assert found["vivavoce_ready"] == 1
    assert found["vivavoce_speakers"] == 2.5
    assert found["vivavoce_speakers_limit"] == 7.3
    assert found["vivavoce_conversations"] == 4
    assert found["vivavoce_triton_restarts_total"] == 2
    assert found["vivavoce_models_mended_total"] == 3
    assert found["process_resident_memory_bytes"] > 0
    assert not [name for name in found if name.endswith("_created")]


@pytest.mark.parametrize("status", [200, 500])
async def test_what_triton_tells_is_told_too_and_nothing_when_it_fails(status: int):
    async def answer(_: web.Request) -> web.Response:
        return web.Response(text='nv_inference_count{model="asr"} 3\n', status=status)

    application = web.Application()
    application.router.add_get("/metrics", answer)
    runner = web.AppRunner(application)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        async with told(Metrics(), triton_url=f"http://127.0.0.1:{runner.addresses[0][1]}/metrics") as fetch:
            found = await fetch()
    finally:
        await runner.cleanup()
    assert found.get("nv_inference_count") == (3 if status == 200 else None)
    assert "vivavoce_speakers" in found


async def test_many_who_ask_at_a_time_read_the_same():
    reads: list[None] = []

    def read() -> Figures:
        reads.append(None)
        return Figures(speakers=len(reads))

    async with told(Metrics(), read) as fetch:
        found = await asyncio.gather(*(fetch() for _ in range(20)))
    assert {it["vivavoce_speakers"] for it in found} == {1}


async def test_a_port_that_is_taken_is_told_with_the_cure():
    with socket.create_server(("127.0.0.1", 0)) as other:
        page = MetricsPage(Metrics().registry, Figures, lambda: None)
        with pytest.raises(ListenError, match="choose another --metrics-port"):
            async with serving_metrics(page, "127.0.0.1", other.getsockname()[1]):
                pass
