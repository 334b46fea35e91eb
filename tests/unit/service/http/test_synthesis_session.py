"""Texts that NVIDIA's realtime client has spoken."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    import aiohttp

    from tests.unit.service.http.running import Openai

QUERY = "/v1/realtime?intent=synthesize"


async def until(socket: aiohttp.ClientWebSocketResponse, kind: str) -> list[dict[str, Any]]:
    events = [await socket.receive_json(timeout=5)]
    while events[-1]["type"] != kind:
        events.append(await socket.receive_json(timeout=5))
    return events


async def test_texts_are_spoken_as_they_are_committed(service: Openai):
    async with service.session.post("/v1/realtime/synthesis_sessions", json={}) as response:
        secret = (await response.json())["client_secret"]["value"]
    async with service.session.get("/v1/audio/list_voices") as response:
        assert await response.json() == {"en-US": {"voices": ["heart"]}}
    protocols = ("realtime", f"realtime-token.{secret}")
    async with service.session.ws_connect(QUERY, protocols=protocols) as socket:
        await until(socket, "conversation.created")
        session = {
            "input_text_synthesis": {"voice_name": "English-US.Heart"},
            "output_audio_params": {"sample_rate_hz": 16_000},
        }
        await socket.send_json({"type": "synthesize_session.update", "session": session})
        (updated,) = await until(socket, "synthesize_session.updated")
        assert updated["session"]["input_text_synthesis"]["voice_name"] == "English-US.Heart"
        for text in ("The museum opens ", "at nine."):
            await socket.send_json({"type": "input_text.append", "text": text})
        await socket.send_json({"type": "input_text.commit"})
        *pieces, completed = await until(socket, "conversation.item.speech.completed")
        assert completed["is_last_result"] is False
        audio = b"".join(base64.b64decode(piece["audio"]) for piece in pieces)
        assert len(audio) >= 2 * 16_000 * service.models.synthesizer.part_seconds * 0.9
        await socket.send_json({"type": "input_text.append", "text": "Goodbye."})
        await socket.send_json({"type": "input_text.done"})
        *pieces, completed = await until(socket, "conversation.item.speech.completed")
        assert pieces
        assert completed["is_last_result"] is True
        assert (await socket.receive()).data == 1000


@pytest.mark.parametrize(
    ("event", "param"),
    [
        ({"type": "input_text.sing"}, "type"),
        ({"type": "input_text.append", "text": 7}, "text"),
        ({"type": "input_text.append", "text": "x" * 20_000}, "text"),
        ({"type": "input_text.commit"}, "text"),
        (
            {"type": "synthesize_session.update", "session": {"input_text_synthesis": {"voice_name": "wolf"}}},
            "session.input_text_synthesis.voice_name",
        ),
        (
            {"type": "synthesize_session.update", "session": {"output_audio_params": {"audio_format": "MP3"}}},
            "session.output_audio_params.audio_format",
        ),
        (
            {"type": "synthesize_session.update", "session": {"output_audio_params": {"sample_rate_hz": 1}}},
            "session.output_audio_params.sample_rate_hz",
        ),
    ],
)
async def test_what_cannot_be_spoken_is_named_and_the_session_goes_on(
    service: Openai, event: dict[str, Any], param: str
):
    async with service.session.ws_connect(QUERY) as socket:
        await until(socket, "conversation.created")
        await socket.send_json(event)
        (error,) = await until(socket, "error")
        assert error["error"]["param"] == param
        await socket.send_str("no JSON")
        assert (await until(socket, "error"))[0]["error"]["code"] == "invalid_json"
        await socket.send_json({"type": "synthesize_session.update"})
        await until(socket, "synthesize_session.updated")
