"""Short-lived secrets for pages, and the sessions that NVIDIA's client asks for."""

from __future__ import annotations

import base64

import aiohttp
import pytest

from service.api.http.door import http_server
from service.config import ServiceConfig
from service.security.authentication import Authenticator, UnauthenticatedError
from service.security.client_secrets import MAX_OF_PRINCIPAL, ClientSecrets, TooManySecretsError
from service.security.principal import Principal, acting_for
from service.telemetry.call_observer import CallObserver
from tests.unit.service.http.port import OneToken
from tests.unit.service.http.realtime import connected
from tests.unit.service.http.running import Openai, client


class Clock:
    now = 1_000.0


def test_a_secret_is_good_until_it_expires():
    secrets = ClientSecrets(lambda: Clock.now)
    with acting_for(Principal("kiosk", "token")):
        value, made = secrets.make(60, {"model": "vivavoce"})
        assert (value[:3], made.expires, made.principal.name) == ("ek_", 1_060.0, "kiosk")
        assert secrets.find(value).session == {"model": "vivavoce"}
        Clock.now += 60
        with pytest.raises(UnauthenticatedError, match="has expired"):
            secrets.find(value)
        with pytest.raises(UnauthenticatedError, match="unknown"):
            secrets.find("ek_x")
        for _ in range(MAX_OF_PRINCIPAL):
            secrets.make(60, {})
        with pytest.raises(TooManySecretsError):
            secrets.make(60, {})
    with acting_for(Principal("other", "token")):
        secrets.make(60, {})


async def test_a_secret_opens_a_session_as_it_was_asked_for_and_nothing_else():
    async with Openai.running() as service:
        config = ServiceConfig(http_port=0)
        callers, host = Authenticator(OneToken()), service.host

        class Api:
            routes = service.routes

        server = http_server(config, [Api()], lambda: True, callers, CallObserver(), host.client_secrets)
        await server.open()
        try:
            async with client(server) as session:
                body = {"expires_after": {"anchor": "created_at", "seconds": 60}, "session": {"type": "transcription"}}
                assert (await session.post("/v1/realtime/client_secrets", json=body)).status == 401
                good = {"Authorization": "Bearer good"}
                async with session.post("/v1/realtime/client_secrets", json=body, headers=good) as response:
                    made = await response.json()
                assert made["session"]["type"] == "transcription"
                protocols = ("realtime", f"openai-insecure-api-key.{made['value']}")
                async with session.ws_connect("/v1/realtime", protocols=protocols) as websocket:
                    created = await websocket.receive_json()
                    assert created["session"]["type"] == "transcription"
                    assert host.admission.quotas.open_conversations(Principal("kiosk", "token")) == 1
                ephemeral = {"Authorization": f"Bearer {made['value']}"}
                assert (await session.get("/v1/models", headers=ephemeral)).status == 401
                for bad in ("ek_nothing", "good2"):
                    with pytest.raises(aiohttp.WSServerHandshakeError, match="401"):
                        await session.ws_connect("/v1/realtime", headers={"Authorization": f"Bearer {bad}"})
        finally:
            await server.close()


@pytest.mark.parametrize(
    "body", [{"expires_after": {"seconds": 1}}, {"expires_after": 7}, {"session": {"model": "gpt9"}}, {"session": 1}]
)
async def test_a_secret_that_cannot_be_made_is_refused(service: Openai, body: dict[str, object]):
    async with service.session.post("/v1/realtime/client_secrets", json=body) as response:
        assert response.status in {400, 404}


async def test_nvidias_client_commits_every_piece_and_gets_the_words_at_the_end(service: Openai):
    async with service.session.post("/v1/realtime/transcription_sessions", json={}) as response:
        session = await response.json()
    protocols = ("realtime", f"realtime-token.{session['client_secret']['value']}")
    async with connected(service, "?intent=transcription", protocols=protocols) as realtime:
        await realtime.next()
        session["input_audio_format"] = "none"
        session["input_audio_params"]["sample_rate_hz"] = 16_000
        await realtime.send("transcription_session.update", session=session)
        updated = await realtime.next()
        assert updated["type"] == "transcription_session.updated"
        assert updated["session"]["input_audio_params"]["sample_rate_hz"] == 16_000
        for _ in range(20):
            await realtime.send("input_audio_buffer.append", audio=base64.b64encode(bytes(3_200)).decode())
            await realtime.send("input_audio_buffer.commit")
        await realtime.send("input_audio_buffer.done")
        told = []
        while not (event := await realtime.until("conversation.item.input_audio_transcription.completed")).get(
            "is_last_result"
        ):
            told.append(event["transcript"])
        assert told == ["w0 w1 w2"]
        assert event["transcript"] == "w0 w1 w2"
        assert await realtime.closed() == 1000
