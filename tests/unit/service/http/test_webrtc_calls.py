"""Sessions over WebRTC with a real client on aiortc, real tracks and a real data channel; the models are fakes."""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import socket
import subprocess
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aioice
import numpy as np
import openai
import pytest

from pipelines.dialog.sessions import DialogSessions
from service.api.http.openai.calls import CALLS, RealtimeCalls
from service.sessions.dialogs import Dialogs
from service.webrtc import peer
from service.webrtc.network import Network
from service.webrtc.offers import MAX_OFFER_BYTES
from tests.unit.pipelines.dialog.agents import agent_of
from tests.unit.service.http.running import Openai, client, running
from tests.unit.service.telephone.exchange import OrderingModels
from tests.web_caller import RATE_HZ, WebCaller, calling, form

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Sequence
    from pathlib import Path

    import aiohttp

    from pipelines.models.synthesis_port import SpeechPart

TURN_SERVER = shutil.which("turnserver")
BAR = '{"type": "realtime", "vivavoce": {"agent": "bar"}}'


class SingingModels(OrderingModels):
    """Speaks with a tone, which Opus leaves what it is."""

    async def speak(self, parts: Sequence[SpeechPart], voice: str, seed: int) -> AsyncGenerator[np.ndarray, None]:
        async for audio in super().speak(parts, voice, seed):
            yield (audio * np.sin(np.arange(len(audio)) / 10)).astype(np.float32)


@dataclass
class Exchange:
    """A service that answers offers."""

    openai: Openai
    calls: RealtimeCalls
    session: aiohttp.ClientSession
    url: str

    async def say(self, caller: WebCaller, words: str, seconds: float = 0.6) -> None:
        """Has the fake voice take what comes for speech."""
        assert isinstance(self.openai.models, OrderingModels)
        self.openai.models.words = words
        self.openai.voice.probability = 1.0
        await asyncio.sleep(seconds)
        self.openai.voice.probability = 0.0
        await caller.until("input_audio_buffer.committed")

    async def quiet(self) -> None:
        """Waits until nothing of a call is left."""
        async with asyncio.timeout(10):
            while self.openai.host.open_conversations.count or asyncio.all_tasks() - self.before:
                await asyncio.sleep(0.05)

    def __post_init__(self) -> None:
        self.before: set[asyncio.Task[Any]] = set()


@pytest.fixture
async def exchange() -> AsyncIterator[Exchange]:
    models = SingingModels(0.001, 0.001, 0.001, sentence_seconds=1.0)
    dialogs = Dialogs({"bar": agent_of()}, DialogSessions())
    async with Openai.running(models=models, dialogs=dialogs, max_conversations=3) as service:
        service.voice.probability = 0.0
        calls = RealtimeCalls(service.host, Network("127.0.0.1"))
        async with running((*service.routes, *calls.routes)) as server, client(server) as session:
            yield Exchange(service, calls, session, server.url)
            await calls.close()
    assert not service.host.open_conversations.count
    assert not any("decoder" in thread.name for thread in threading.enumerate())


async def test_an_agent_talks_over_webrtc_and_is_interrupted(exchange: Exchange):
    async with calling(exchange.session, data={"session": BAR}) as caller:
        assert (await caller.until("session.created"))["session"]["vivavoce"] == {"agent": "bar"}
        started = await caller.until("output_audio_buffer.started")
        stopped = await caller.until("output_audio_buffer.stopped")
        assert started["response_id"] == stopped["response_id"]
        assert caller.heard_at
        assert "response.output_audio.delta" not in caller.types()
        await exchange.say(caller, "a latte please")
        await caller.until("output_audio_buffer.started")
        before = len(caller.heard_at)
        await asyncio.sleep(0.3)
        exchange.openai.voice.probability = 1.0
        await caller.until("output_audio_buffer.cleared")
        truncated = await caller.until("conversation.item.truncated")
        assert 0 < truncated["audio_end_ms"] < 1_000
        exchange.openai.voice.probability = 0.0
        await asyncio.sleep(1.0)
        # Of a second, which is 50 frames.
        assert len(caller.heard_at) - before < 47


async def test_openais_client_calls_and_hangs_up(exchange: Exchange):
    own = openai.AsyncOpenAI(api_key="none", base_url=f"{exchange.url}/v1", max_retries=0)
    caller = WebCaller(exchange.session)
    session = {"type": "realtime", "output_modalities": ["text"], "instructions": "be kind"}
    answer = await own.realtime.calls.create(sdp=await caller.offer(), session=session)
    await caller.accept(answer.text)
    shown = (await caller.until("session.created"))["session"]
    assert shown["output_modalities"] == ["text"]
    name = answer.response.headers["location"].rpartition("/")[2]
    with pytest.raises(openai.NotFoundError):
        await own.realtime.calls.hangup("rtc_0")
    await own.realtime.calls.hangup(name)
    await caller.until("closed")
    with pytest.raises(openai.NotFoundError):
        await own.realtime.calls.hangup(name)
    await caller.close()


@pytest.mark.parametrize(
    ("kind", "members", "code"),
    [
        ("input_audio_buffer.append", {"audio": "AAAA"}, "unsupported_event"),
        ("no.such.event", {}, "unknown_event"),
        ("session.update", {"session": {"output_modalities": ["smell"]}}, "invalid_value"),
    ],
)
async def test_an_event_that_cannot_be_served_ends_no_call(
    exchange: Exchange, kind: str, members: dict[str, Any], code: str
):
    async with calling(exchange.session) as caller:
        await caller.until("session.created")
        caller.send(kind, **members)
        with pytest.raises(AssertionError, match=code):
            await caller.until("nothing")
        caller.send("session.update", session={"output_modalities": ["text"]})
        await caller.until("session.updated")


async def test_events_faster_than_they_are_read_end_the_call(exchange: Exchange, monkeypatch: pytest.MonkeyPatch):
    async with calling(exchange.session) as caller:
        await caller.until("session.created")
        monkeypatch.setattr(peer, "MAX_EVENTS", 0)
        caller.send("input_audio_buffer.clear")
        with pytest.raises(AssertionError, match="too_many_events"):
            await caller.until("input_audio_buffer.cleared")
        await caller.until("closed")


def changed(*pairs: tuple[str, str]) -> Any:
    def change(offer: str) -> str:
        for old, new in pairs:
            assert old in offer
            offer = offer.replace(old, new)
        return offer

    return change


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda _: "", "MALFORMED_OFFER"),
        (lambda _: "hello", "MALFORMED_OFFER"),
        (lambda _: "v=0\r\n" + "a=x\r\n" * 2_000, "OFFER_TOO_LARGE"),
        (lambda offer: offer + "a=x:" + "y" * MAX_OFFER_BYTES, "OFFER_TOO_LARGE"),
        (lambda offer: offer + "m=audio 9 UDP/TLS/RTP/SAVPF 0\r\n" * 20, "UNSUPPORTED_MEDIA"),
        (lambda offer: offer + "a=candidate:1 1 udp 1 192.0.2.1 9 typ host\r\n" * 100, "OFFER_TOO_LARGE"),
        (lambda offer: offer[: offer.index("m=")], "UNSUPPORTED_MEDIA"),
        (lambda offer: offer[: len(offer) // 3], "MALFORMED_OFFER"),
        (changed(("m=application", "m=video")), "UNSUPPORTED_MEDIA"),
        (changed(("m=application", "m=audio")), "UNSUPPORTED_MEDIA"),
        (changed(("opus/48000/2", "speex/8000"), ("G722", "lpc")), "UNSUPPORTED_CODEC"),
        (changed(("a=fingerprint", "a=print")), "MALFORMED_OFFER"),
        (changed(("a=ice-pwd", "a=pwd")), "MALFORMED_OFFER"),
        (changed(("a=rtpmap:", "a=rtpmap:x")), "MALFORMED_OFFER"),
        (changed(("a=mid:0", "a=mid:7"), ("a=mid:1", "a=mid:7")), "MALFORMED_OFFER"),
    ],
)
async def test_offers_that_cannot_be_answered(exchange: Exchange, change: Any, reason: str):
    caller = WebCaller(exchange.session)
    offer = change(await caller.offer())
    async with exchange.session.post(CALLS, data=offer, headers={"content-type": "application/sdp"}) as response:
        assert (response.status, (await response.json())["reason"]) == (400, reason)
    await caller.close()


@pytest.mark.parametrize(
    ("body", "media", "status"),
    [
        ({"sdp": "v=0", "other": "x"}, "", 400),
        ({"session": "{}"}, "", 400),
        ({"sdp": "v=0", "session": "{"}, "", 400),
        ({"sdp": "v=0", "session": '{"type": "dream"}'}, "", 400),
        (b"{}", "application/json", 415),
    ],
)
async def test_bodies_that_are_no_offers(exchange: Exchange, body: Any, media: str, status: int):
    headers = {"content-type": media} if media else {}
    async with exchange.session.post(
        CALLS, data=form(body) if isinstance(body, dict) else body, headers=headers
    ) as response:
        assert response.status == status, await response.text()


async def test_who_never_connects_gives_the_place_back(exchange: Exchange, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(peer, "CONNECT_SECONDS", 0.3)
    exchange.before = asyncio.all_tasks()
    callers = [WebCaller(exchange.session) for _ in range(4)]
    statuses = []
    for caller in callers:
        headers = {"content-type": "application/sdp"}
        async with exchange.session.post(CALLS, data=await caller.offer(), headers=headers) as response:
            statuses.append(response.status)
    assert statuses == [201, 201, 201, 429]
    for caller in callers:
        await caller.close()
    await exchange.quiet()


async def test_who_vanishes_leaves_nothing(exchange: Exchange, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(aioice.ice, "CONSENT_INTERVAL", 0.05)
    monkeypatch.setattr(aioice.ice, "CONSENT_FAILURES", 2)
    exchange.before = asyncio.all_tasks()
    async with calling(exchange.session) as caller:
        await caller.until("session.created")
        # Nothing is said at the end of a connection whose wire was cut.
        for protocol in caller.connection.sctp.transport.transport._connection._protocols:
            protocol.transport.abort()
    await exchange.quiet()


async def test_twenty_calls_leave_nothing(exchange: Exchange):
    exchange.before = asyncio.all_tasks()
    threads = threading.active_count()
    for _ in range(20):
        async with calling(exchange.session) as caller:
            await caller.until("session.created")
        await exchange.quiet()
    assert threading.active_count() <= threads + 8


async def test_a_stopping_service_ends_calls(exchange: Exchange):
    async with calling(exchange.session) as caller:
        await caller.until("session.created")
        await exchange.calls.close()
        await caller.until("closed")


async def test_speech_is_told_from_lost_packets(exchange: Exchange):
    """Audio that was heard for a while is as long as it was, with one packet in ten lost."""
    async with calling(exchange.session) as caller:
        await caller.until("session.created")
        transport = caller.connection.sctp.transport
        send, count = transport._send_rtp, 0

        async def lose(data: bytes) -> None:
            nonlocal count
            count += 1
            if count % 10:
                await send(data)

        transport._send_rtp = lose
        caller.microphone.say(np.zeros(RATE_HZ, "<i2"))
        await exchange.say(caller, "a latte please", 2.0)
        stopped = [event for event in caller.events if event["type"] == "input_audio_buffer.speech_stopped"][-1]
        began = [event for event in caller.events if event["type"] == "input_audio_buffer.speech_started"][-1]
        assert stopped["audio_end_ms"] - began["audio_start_ms"] == pytest.approx(2_000, abs=500)


@contextlib.asynccontextmanager
async def turn_server(folder: Path) -> AsyncIterator[int]:
    """The port of coturn."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    assert TURN_SERVER is not None
    process = await asyncio.create_subprocess_exec(
        *(TURN_SERVER, "-n", "--log-file", "stdout", "--no-cli", "--no-tls", "--no-dtls", "--no-tcp"),
        *("--listening-ip", "127.0.0.1", "--relay-ip", "127.0.0.1", "--listening-port", str(port)),
        *("--lt-cred-mech", "--user", "me:secret", "--realm", "example.org", "--allow-loopback-peers"),
        *("--pidfile", str(folder / "pid"), "--db", str(folder / "db")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        await asyncio.sleep(1.0)
        yield port
    finally:
        process.terminate()
        await asyncio.wait_for(process.wait(), 20)


class RelayedNetwork(Network):
    """Has no address of its own that a caller could reach."""

    def _addresses(self) -> list[str]:
        return []


@pytest.mark.skipif(TURN_SERVER is None, reason="apt-get install coturn")
async def test_a_service_is_reached_by_turn_alone(exchange: Exchange, tmp_path: Path):
    async with turn_server(tmp_path) as port:
        network = RelayedNetwork("127.0.0.1", "", (f"turn:me:secret@127.0.0.1:{port}",))
        calls = RealtimeCalls(exchange.openai.host, network)
        async with running(calls.routes) as server, client(server) as session, calling(session) as caller:
            assert {candidate.type for candidate in caller.candidates()} == {"relay"}
            await caller.until("session.created")
            await calls.close()


async def test_a_service_behind_a_nat_tells_its_public_address(exchange: Exchange):
    calls = RealtimeCalls(exchange.openai.host, Network("127.0.0.1", "192.0.2.9"))
    async with running(calls.routes) as server, client(server) as session, calling(session) as caller:
        own, public = sorted(caller.candidates(), key=lambda candidate: candidate.ip)
        assert (own.ip, own.type, public.ip, public.type) == ("127.0.0.1", "host", "192.0.2.9", "srflx")
        assert own.port == public.port
        await calls.close()
