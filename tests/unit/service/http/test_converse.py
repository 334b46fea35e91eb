"""``WS /v1/converse`` and ``POST /v1/ask``: our own messages in JSON, on real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from service.admission.admission import Admission, RecordingMemory
from service.api.vivavoce.handlers import VivavoceApi
from service.api.vivavoce.web_messages import HALF_CLOSE
from service.security.authentication import Authenticator
from service.security.principal import Principal
from service.sessions.host import SessionHost
from service.sessions.lifetime import Limits
from service.sessions.open_conversations import OpenConversations
from tests.unit.pipelines.spoken import SpeakingModels
from tests.unit.service.harness import SPEECH, FakeVoice
from tests.unit.service.http.running import client, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from service.api.http.server import HttpServer

AUDIO = {"encoding": "AUDIO_ENCODING_LINEAR_PCM", "sampleRateHz": 16_000, "channelCount": 1}


@dataclass
class Web:
    server: HttpServer
    session: aiohttp.ClientSession
    admission: Admission
    conversations: OpenConversations

    @contextlib.asynccontextmanager
    async def converse(self, **config: object) -> AsyncIterator[aiohttp.ClientWebSocketResponse]:
        async with self.session.ws_connect("/v1/converse", protocols=["vivavoce.v1"]) as socket:
            await socket.send_json({"config": config})
            yield socket

    async def ended(self, socket: aiohttp.ClientWebSocketResponse) -> tuple[list[Any], int | None]:
        """Reads to the end; returns what came, audio as bytes, and the code with which the socket was closed."""
        async with asyncio.timeout(10):
            came = [
                frame.data if frame.type is aiohttp.WSMsgType.BINARY else json.loads(frame.data)
                async for frame in socket
            ]
        return came, socket.close_code


@contextlib.asynccontextmanager
async def serving(authenticator: Authenticator | None = None, **options: float) -> AsyncIterator[Web]:
    admission, conversations = Admission(8), OpenConversations()
    admission.open()
    limits = Limits(**options) if options else Limits()
    models = SpeakingModels(0.001, 0.001, 0.001, synthesis_seconds=0.001)
    host = SessionHost(
        models, FakeVoice(), admission, limits, conversations, RecordingMemory(1 << 20, admission.quotas)
    )
    async with running(VivavoceApi(host).routes, authenticator) as server, client(server) as session:
        yield Web(server, session, admission, conversations)


@pytest.fixture
async def web() -> AsyncIterator[Web]:
    async with serving() as web:
        yield web


def kinds(came: list[Any]) -> list[str]:
    return [next(iter(one)) if isinstance(one, dict) else "audio" for one in came]


async def test_a_conversation_is_held_with_audio_in_binary_frames(web: Web):
    async with web.converse(audio=AUDIO, interimResults=True) as socket:
        for _ in range(10):
            await socket.send_bytes(SPEECH)
        await socket.send_json({"endOfUtterance": {}, "requestId": "mine"})
        await socket.send_str(HALF_CLOSE)
        came, code = await web.ended(socket)
    assert code == 1000
    assert socket.protocol == "vivavoce.v1"
    said = kinds(came)
    assert said[0] == "started"
    assert [one for one in said if one in {"speechBegan", "speechEnded", "reply"}] == [
        "speechBegan",
        "speechEnded",
        "reply",
    ]
    reply = came[said.index("reply")]["reply"]
    assert (reply["turn"], reply["requestId"], reply["status"]) == (1, "mine", "REPLY_STATUS_COMPLETE")
    assert reply["transcript"]
    assert not web.conversations.count


async def test_typed_turns_are_answered_in_their_order(web: Web):
    async with web.converse() as socket:
        for number in range(3):
            await socket.send_json({"text": "turn on the light", "requestId": f"n{number}"})
        await socket.send_str(HALF_CLOSE)
        came, _ = await web.ended(socket)
    assert [one["reply"]["requestId"] for one in came if "reply" in one] == ["n0", "n1", "n2"]


async def test_the_audio_of_a_spoken_reply_follows_its_message(web: Web):
    documents = [{"text": "Paris is the capital of France."}]
    async with web.converse(replyAudio={}, documents=documents) as socket:
        await socket.send_json({"text": "which city?"})
        await socket.send_str(HALF_CLOSE)
        came, _ = await web.ended(socket)
    said = kinds(came)
    assert "replyAudio" in said
    for place, one in enumerate(said):
        assert (one == "audio") == (place > 0 and said[place - 1] == "replyAudio")
    assert all("audio" not in one["replyAudio"] for one in came if isinstance(one, dict) and "replyAudio" in one)
    assert sum(len(one) for one in came if isinstance(one, bytes)) > 1_000


@pytest.mark.parametrize(
    ("frames", "reason", "field", "code"),
    [
        (["{"], "MALFORMED_REQUEST", "request", 1008),
        (["[]"], "NO_CONFIG", "config", 1008),
        (["[" * 5_000], "MALFORMED_REQUEST", "request", 1008),
        (['{"nonsense": 1}'], "MALFORMED_REQUEST", "request", 1008),
        (['{"audio": "not base64!"}'], "MALFORMED_REQUEST", "request", 1008),
        (['{"text": "hello"}'], "NO_CONFIG", "config", 1008),
        ([b"\0\0"], "NO_CONFIG", "config", 1008),
        ([HALF_CLOSE], "NO_CONFIG", "config", 1008),
        (['{"config": {"languageCode": "de"}}'], "UNSUPPORTED_LANGUAGE", "config.language_code", 1008),
        (['{"config": {}}', '{"config": {}}'], "SECOND_CONFIG", "config", 1008),
        (['{"config": {}}', "{}"], "EMPTY_REQUEST", "request", 1008),
        (['{"config": {}}', '{"text": ""}'], "EMPTY_TEXT", "text", 1008),
    ],
)
async def test_what_cannot_be_served_is_told_before_the_socket_is_closed(
    web: Web, frames: list[str | bytes], reason: str, field: str, code: int
):
    async with web.session.ws_connect("/v1/converse") as socket:
        for frame in frames:
            await (socket.send_bytes(frame) if isinstance(frame, bytes) else socket.send_str(frame))
        came, closed = await web.ended(socket)
    error = came[-1]["error"]
    assert (error["reason"], error["field"], error["status"]) == (reason, field, 400)
    assert error["detail"]
    assert closed == code
    assert not web.conversations.count


async def test_who_sends_no_config_is_not_waited_for():
    async with serving(config_seconds=0.2) as web, web.session.ws_connect("/v1/converse") as socket:
        came, _ = await web.ended(socket)
    assert came[-1]["error"]["reason"] == "NO_CONFIG"


async def test_a_full_service_says_when_to_come_back(web: Web):
    async with contextlib.AsyncExitStack() as held:
        for _ in range(8):
            socket = await held.enter_async_context(web.converse())
            assert "started" in await socket.receive_json()
        async with web.converse() as socket:
            came, code = await web.ended(socket)
    assert came[-1]["error"]["status"] == 429
    assert came[-1]["error"]["retry_seconds"] > 0
    assert code == 1013


async def test_a_caller_who_leaves_leaves_nothing_behind(web: Web):
    for _ in range(5):
        async with web.converse(audio=AUDIO) as socket:
            await socket.send_bytes(SPEECH)
            assert "started" in await socket.receive_json()
    async with asyncio.timeout(5):
        while web.conversations.count:
            await asyncio.sleep(0.01)


class OneToken:
    def find(self, token: str) -> tuple[Principal | None, str]:
        return (Principal("kiosk", "token"), "") if token == "good" else (None, "the token is unknown")


async def test_a_page_sends_its_token_as_a_subprotocol():
    async with serving(Authenticator(OneToken())) as web:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            await web.session.ws_connect("/v1/converse", protocols=["vivavoce.v1", "vivavoce-token.bad"])
        assert refused.value.status == 401
        async with web.session.ws_connect("/v1/converse", protocols=["vivavoce.v1", "vivavoce-token.good"]) as socket:
            await socket.send_json({"config": {}})
            assert "started" in await socket.receive_json()
            assert socket.protocol == "vivavoce.v1"


async def test_a_typed_turn_is_answered_over_http(web: Web):
    async with web.session.post("/v1/ask", json={"text": "turn on the light"}) as response:
        assert response.status == 200
        reply = (await response.json())["reply"]
    assert reply["status"] == "REPLY_STATUS_COMPLETE"
    async with web.session.post("/v1/ask", json={"text": ""}) as response:
        assert (response.status, (await response.json())["reason"]) == (400, "EMPTY_TEXT")
    async with web.session.post("/v1/ask", data=b"\xff") as response:
        assert (response.status, (await response.json())["reason"]) == (400, "MALFORMED_REQUEST")


async def test_random_frames_do_no_harm(web: Web):
    rng = random.Random(4)
    pieces = [
        '{"config": {}}',
        '{"text": "hello"}',
        "{",
        '{"update": {}}',
        '{"playback": {"turn": -1}}',
        HALF_CLOSE,
        "7",
    ]
    for _ in range(60):
        async with web.session.ws_connect("/v1/converse") as socket:
            for _ in range(rng.randint(1, 5)):
                with contextlib.suppress(ConnectionError):
                    if rng.random() < 0.3:
                        await socket.send_bytes(rng.randbytes(rng.choice((0, 1, 320))))
                    else:
                        await socket.send_str(rng.choice(pieces))
            if rng.random() < 0.5:
                continue
            with contextlib.suppress(ConnectionError):
                await socket.send_str(HALF_CLOSE)
            came, _ = await web.ended(socket)
            errors = [one["error"] for one in came if isinstance(one, dict) and "error" in one]
            assert all(error["status"] in {400, 429} for error in errors), errors
    async with asyncio.timeout(5):
        while web.conversations.count:
            await asyncio.sleep(0.01)
