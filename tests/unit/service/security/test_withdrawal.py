"""Tokens that are withdrawn while something that was opened with them is still there."""

from __future__ import annotations

import asyncio
import contextlib
import time
from typing import TYPE_CHECKING

import aiohttp
import grpc
import pytest

from service.security import withdrawal
from service.security.authentication import Authenticator, UnauthenticatedError
from service.security.client_secrets import (
    MAX_BYTES,
    MAX_BYTES_OF_PRINCIPAL,
    ClientSecrets,
    TooManySecretsError,
)
from service.security.principal import Principal, acting_for
from service.security.withdrawal import ended_when_withdrawn
from tests.unit.service.harness import Harness
from tests.unit.service.http.running import Openai
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import conversation_pb2_grpc

if TYPE_CHECKING:
    from collections.abc import Iterator

HEADERS = {"Authorization": "Bearer t"}


class Withdrawable:
    """Knows one token, until it is withdrawn."""

    def __init__(self) -> None:
        self.good = True

    def find(self, token: str) -> tuple[Principal | None, str]:
        principal = Principal("kiosk", "token", holds=lambda: self.good)
        return (principal, "") if self.good else (None, "the token is unknown, or was withdrawn")


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(withdrawal, "CHECK_SECONDS", 0.05)
    return


async def test_an_open_websocket_of_a_withdrawn_token_ends():
    tokens = Withdrawable()
    async with Openai.running(authenticator=Authenticator(tokens)) as service:
        async with service.session.ws_connect("/v1/realtime", headers=HEADERS) as websocket:
            assert (await websocket.receive_json())["type"] == "session.created"
            await asyncio.sleep(0.2)
            assert not websocket.closed
            tokens.good = False
            message = await websocket.receive(5)
            assert (message.type, message.data) == (aiohttp.WSMsgType.CLOSE, 1008)
            assert message.extra == "UNAUTHENTICATED"
        async with asyncio.timeout(5):
            while service.host.admission.quotas.present:
                await asyncio.sleep(0.01)


async def test_an_open_stream_of_a_withdrawn_token_ends():
    tokens = Withdrawable()
    async with Harness.running(authenticator=Authenticator(tokens)) as harness:
        stub = conversation_pb2_grpc.ConversationServiceStub(harness.channel)
        call = stub.Converse(metadata=(("authorization", "Bearer t"),))
        await call.write(pb.ConverseRequest(config=pb.ConversationConfig()))
        assert (await call.read()).WhichOneof("response") == "started"
        tokens.good = False
        with pytest.raises(grpc.aio.AioRpcError, match="withdrawn") as caught:
            async with asyncio.timeout(5):
                await call.read()
        assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED


@pytest.mark.parametrize("error", [TimeoutError, asyncio.CancelledError, ValueError])
async def test_what_ends_by_itself_ends_with_its_own_error(error: type[BaseException]):
    for holds in (None, lambda: True):
        with pytest.raises(error):
            async with ended_when_withdrawn(Principal("kiosk", "token", holds=holds)):
                raise error


async def test_a_secret_dies_with_the_token_that_made_it():
    tokens = Withdrawable()
    async with Openai.running(authenticator=Authenticator(tokens)) as service:
        secrets = service.host.client_secrets
        async with service.session.post("/v1/realtime/client_secrets", json={}, headers=HEADERS) as response:
            value = (await response.json())["value"]
        assert secrets.find(value).principal.name == "kiosk"
        tokens.good = False
        with pytest.raises(UnauthenticatedError):
            secrets.find(value)


def test_a_secret_does_not_outlive_the_jwt_that_made_it():
    secrets = ClientSecrets()
    now = time.time()
    with acting_for(Principal("kiosk", "jwt", expires=now + 60)):
        _, secret = secrets.make(7_200, {})
        assert secret.expires == now + 60
        _, secret = secrets.make(10, {})
        assert secret.expires < now + 60


def test_secrets_are_bounded_in_bytes_by_principal_and_altogether():
    secrets = ClientSecrets()
    session = {"x": "x" * 500_000}
    made = 0
    for name in range(20):
        with acting_for(Principal(f"kiosk {name}", "token")), contextlib.suppress(TooManySecretsError):
            for number in range(100):
                secrets.make(60, session)
                made += 1
                assert (number + 1) * 500_000 <= MAX_BYTES_OF_PRINCIPAL
    assert MAX_BYTES - 600_000 < made * 500_000 <= MAX_BYTES
