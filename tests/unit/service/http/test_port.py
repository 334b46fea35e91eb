"""The HTTP port without any contract: callers, errors, origins, health, and connections that mean no good."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from service.addresses import AddressInUseError, ListenError
from service.api.http.health import health_routes
from service.api.http.server import HttpServer
from service.security.authentication import Authenticator
from service.security.tls import server_context
from service.security.tls_files import TlsFiles
from service.telemetry.call_observer import CallObserver, Refusal
from tests.certificates import Authority
from tests.unit.service.http.port import ROUTES, OneToken
from tests.unit.service.http.running import client, running

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


class Recorder(CallObserver):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.refusals: list[Refusal] = []

    @contextlib.contextmanager
    def serving(self, method: str, metadata: Mapping[str, str]) -> Iterator[None]:
        self.calls.append(f"{method} {metadata.get('traceparent', '')}".strip())
        yield

    def refused(self, refusal: Refusal) -> None:
        self.refusals.append(refusal)


async def test_a_caller_is_known_by_the_token_in_his_header():
    async with running(ROUTES, Authenticator(OneToken())) as server, client(server) as session:
        for headers, status in (({}, 401), ({"Authorization": "Bearer bad"}, 401), ({"Authorization": "Basic x"}, 401)):
            async with session.get("/whoami", headers=headers) as response:
                assert response.status == status
                assert response.headers["WWW-Authenticate"].startswith("Bearer")
                assert response.content_type == "application/problem+json"
                problem = await response.json(content_type=None)
                assert problem["reason"] == "UNAUTHENTICATED"
                assert problem["error"]["type"] == "authentication_error"
        async with session.get("/whoami", headers={"Authorization": "Bearer good"}) as response:
            assert await response.json() == {"name": "kiosk", "kind": "token"}


async def test_a_page_sends_its_token_as_a_subprotocol():
    async with running(ROUTES, Authenticator(OneToken())) as server, client(server) as session:
        with pytest.raises(aiohttp.WSServerHandshakeError) as refusal:
            await session.ws_connect("/echo")
        assert refusal.value.status == 401
        protocols = ("realtime", "openai-insecure-api-key.good")
        async with session.ws_connect("/echo", protocols=protocols) as websocket:
            assert websocket.protocol == "realtime"
            await websocket.send_str("hello")
            assert await websocket.receive_str() == "kiosk:hello"


async def test_errors_become_problems_that_openai_clients_can_read(caplog: pytest.LogCaptureFixture):
    recorder = Recorder()
    async with running(ROUTES, observer=recorder) as server, client(server) as session:
        async with session.get("/fail?how=input") as response:
            assert response.status == 400
            problem = await response.json(content_type=None)
            message = "the recording is empty: send its audio"
            assert problem | {"error": None} == {
                "type": "about:blank",
                "title": "Bad Request",
                "status": 400,
                "detail": message,
                "reason": "EMPTY_AUDIO",
                "field": "audio",
                "error": None,
            }
            assert problem["error"] == {
                "message": message,
                "type": "invalid_request_error",
                "param": "audio",
                "code": "empty_audio",
            }
        async with session.get("/fail?how=full") as response:
            assert (response.status, response.headers["Retry-After"]) == (429, "2")
        async with session.get("/fail?how=otherwise") as response:
            assert response.status == 500
            assert "secret" not in await response.text()
        async with session.get("/nowhere") as response:
            assert response.status == 404
        async with session.get("/count") as response:
            assert (response.status, response.headers["Allow"]) == (405, "POST")
        with pytest.raises(aiohttp.WSServerHandshakeError, match="404"):
            await session.ws_connect("/nowhere")
    assert "secret" not in caplog.text
    assert [refusal.reason for refusal in recorder.refusals] == [
        "EMPTY_AUDIO",
        "TOO_MANY_CONVERSATIONS",
        "INTERNAL",
        "NOT_FOUND",
        "METHOD_NOT_ALLOWED",
        "NOT_FOUND",
    ]
    assert recorder.refusals[1].code == "RESOURCE_EXHAUSTED"


async def test_calls_are_observed_by_the_paths_of_routes_and_with_the_trace_of_the_caller():
    recorder = Recorder()
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    async with running(ROUTES, observer=recorder) as server, client(server) as session:
        await (await session.get("/whoami", headers={"traceparent": parent})).read()
        await (await session.get("/my-name-is-smith")).read()
        async with session.ws_connect("/echo"):
            pass
    assert recorder.calls == [f"GET /whoami {parent}", "GET (another path)", "WEBSOCKET /echo"]


async def test_a_response_that_breaks_off_cannot_be_taken_for_a_whole_one(caplog: pytest.LogCaptureFixture):
    async with running(ROUTES) as server, client(server) as session:
        with pytest.raises(aiohttp.ClientPayloadError):
            async with session.get("/broken") as response:
                await response.read()
    assert "secret" not in caplog.text


@pytest.mark.parametrize(
    ("origin", "host", "status"),
    [
        ("https://elsewhere.example", None, 403),
        ("null", None, 403),
        ("https://kiosk.example", None, 200),
        ("http://evil.example", "evil.example", 403),
        ("http://[::1", None, 403),
    ],
)
async def test_pages_of_other_origins_are_refused(origin: str, host: str | None, status: int):
    headers = {"Origin": origin} | ({"Host": host} if host else {})
    async with running(ROUTES, allowed_origins=["https://kiosk.example"]) as server, client(server) as session:
        async with session.get("/whoami", headers=headers) as response:
            assert response.status == status
        if status == 200:
            assert response.headers["Access-Control-Allow-Origin"] == origin
            async with session.ws_connect("/echo", headers=headers) as websocket:
                await websocket.send_str("hello")
                assert await websocket.receive_str() == "anonymous:hello"
        else:
            with pytest.raises(aiohttp.WSServerHandshakeError, match="403"):
                await session.ws_connect("/echo", headers=headers)


@pytest.mark.parametrize(
    ("host", "options", "status"),
    [
        ("evil.example", {}, 403),
        ("evil.example:8080", {}, 403),
        ("127.0.0.1.evil.example", {}, 403),
        ("localhost.evil.example:80", {}, 403),
        ("localhost", {}, 200),
        ("LOCALHOST:8080", {}, 200),
        ("127.0.0.1", {}, 200),
        ("[::1]:8080", {}, 200),
        ("kiosk.example", {"allowed_origins": ["https://kiosk.example"]}, 200),
        ("evil.example", {"allowed_origins": ["https://kiosk.example"]}, 403),
        # Others have a name for it.
        ("voice.lan", {"is_local": False}, 200),
        ("voice.lan", {"authenticator": Authenticator(OneToken())}, 200),
    ],
)
async def test_what_reads_under_a_name_that_nobody_gave_the_service_is_refused(
    host: str, options: dict[str, Any], status: int
):
    headers = {"Host": host, "Authorization": "Bearer good"}
    routes = [*ROUTES, *health_routes(lambda: True)]
    async with running(routes, **{"is_local": True, **options}) as server, client(server) as session:
        async with session.get("/whoami", headers=headers) as response:
            assert response.status == status
            if status == 403:
                assert (await response.json(content_type=None))["reason"] == "FOREIGN_HOST"
        assert (await session.get("/healthz", headers=headers)).status == 200


async def test_the_services_own_pages_may_call():
    async with (
        running(ROUTES) as server,
        client(server) as session,
        session.get("/whoami", headers={"Origin": server.url}) as response,
    ):
        assert response.status == 200
        assert "Access-Control-Allow-Origin" not in response.headers


async def test_health_is_told_to_everybody():
    ready = False
    routes = [*ROUTES, *health_routes(lambda: ready)]
    async with running(routes, Authenticator(OneToken())) as server, client(server) as session:
        assert (await session.get("/healthz")).status == 200
        assert (await session.get("/readyz")).status == 503
        ready = True
        assert (await session.get("/readyz")).status == 200


async def test_tls_has_the_files_of_the_moment_and_knows_certificates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("service.security.watched_file.CHECK_SECONDS", 0.0)
    authority, callers = Authority(tmp_path, "authority"), Authority(tmp_path, "callers")
    pair, shown = authority.sign("voice.example.org"), callers.sign("kiosk")
    context = server_context(TlsFiles(pair.cert, pair.key, callers.path))
    trust = ssl.create_default_context(cafile=authority.path)
    trust.load_cert_chain(shown.cert, shown.key)
    async with running(ROUTES, Authenticator(certificates=True), tls=context) as server:
        async with client(server, connector=aiohttp.TCPConnector(ssl=trust)) as session:
            async with session.get("/whoami") as response:
                assert await response.json() == {"name": "kiosk", "kind": "certificate"}
            async with session.ws_connect("/echo") as websocket:
                await websocket.send_str("hello")
                assert await websocket.receive_str() == "kiosk:hello"
        before = await asyncio.to_thread(certificate_of, server.port, trust)
        authority.sign("voice.example.org")
        assert await asyncio.to_thread(certificate_of, server.port, trust) != before
        nobody = ssl.create_default_context(cafile=authority.path)
        async with client(server, connector=aiohttp.TCPConnector(ssl=nobody)) as session:
            with pytest.raises((aiohttp.ClientError, ConnectionResetError)):
                await session.get("/whoami")


async def test_an_address_that_cannot_be_had_is_named():
    async with running(ROUTES) as server:
        with pytest.raises(AddressInUseError, match="choose another --http-port"):
            await HttpServer(server._config.app, "127.0.0.1", server.port).open()
        with pytest.raises(ListenError, match="no host"):
            await HttpServer(server._config.app, "nowhere.invalid", 0).open()


def certificate_of(port: int, context: ssl.SSLContext) -> bytes:
    with (
        socket.create_connection(("127.0.0.1", port), 5) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as secure,
    ):
        return secure.getpeercert(binary_form=True) or b""
