"""JSON of which there is too much: it is refused before it costs anything, at every door."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import time
from typing import TYPE_CHECKING

import pytest

from pipelines.errors import ReportedError
from service.api.http import json_reading
from service.api.http.json_reading import MAX_BESIDE_BYTES, MAX_DEPTH, MAX_VALUES, check_beside, read_json
from service.api.registry import SHIPPED_APIS
from tests.unit.service.http.running import Openai, client, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from service.api.http.server import HttpServer

ARTICLE = {"id": "a", "text": 'Commas, "marks" and [brackets]: {all} of it, \\ too. ' * 1_500}
DOCUMENTS = [ARTICLE] * 30


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"[]", ""),
        (b"[" + b"1," * (MAX_VALUES - 1) + b"1]", ""),
        (b"[" + b"1," * MAX_VALUES + b"1]", "TOO_MANY_VALUES"),
        (b"[" * (MAX_VALUES + 1), "TOO_MANY_VALUES"),
        (b"{" + b'"a":1,' * MAX_VALUES, "TOO_MANY_VALUES"),
        (b'["' + b"[],{}:" * MAX_VALUES + b'"]', ""),
        (b'["' + b'\\",' * MAX_VALUES + b'"]', ""),
        (b'["' + b"\\\\" * MAX_VALUES + b'",' + b"[]," * MAX_VALUES, "TOO_MANY_VALUES"),
        (b'["\\\\",' + b"1," * MAX_VALUES + b'"]', "TOO_MANY_VALUES"),
        (b'"a",' * (MAX_VALUES + 1), "TOO_MANY_VALUES"),
        (json.dumps(DOCUMENTS).encode(), ""),
        (json.dumps(DOCUMENTS), ""),
        (b" " * (4 << 20), ""),
        (b" " * ((4 << 20) + 1), "MESSAGE_TOO_LARGE"),
        ("é" * (2 << 20) + "x", "MESSAGE_TOO_LARGE"),
    ],
)
async def test_values_are_counted_before_they_are_read(data: bytes | str, reason: str):
    read: list[bytes] = []
    with pytest.raises(ReportedError) if reason else contextlib.nullcontext() as caught:
        await read_json(data, read.append)
    assert not reason or caught.value.reason == reason
    assert len(read) == (not reason)


@pytest.mark.parametrize(
    ("value", "documents", "reason"),
    [
        ({"documents": DOCUMENTS}, ("documents",), ""),
        ({"documents": DOCUMENTS}, (), "MESSAGE_TOO_LARGE"),
        ({"x": {"documents": DOCUMENTS}}, ("documents",), "MESSAGE_TOO_LARGE"),
        ({"documents": [{"text": "", "note": "x" * MAX_BESIDE_BYTES}]}, ("documents",), "MESSAGE_TOO_LARGE"),
        ({"documents": "x" * MAX_BESIDE_BYTES}, ("documents",), "MESSAGE_TOO_LARGE"),
        ({"a": "x" * (MAX_BESIDE_BYTES - 10)}, (), ""),
        ({"a": "é" * (MAX_BESIDE_BYTES // 2)}, (), "MESSAGE_TOO_LARGE"),
        ({"x" * MAX_BESIDE_BYTES: 1}, (), "MESSAGE_TOO_LARGE"),
        ([[]] * MAX_BESIDE_BYTES, (), "MESSAGE_TOO_LARGE"),
        (json.loads("[" * MAX_DEPTH + "]" * MAX_DEPTH), (), ""),
        (json.loads("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1)), (), "TOO_DEEP"),
    ],
)
def test_all_but_documents_is_small(value: object, documents: tuple[str, ...], reason: str):
    with pytest.raises(ReportedError) if reason else contextlib.nullcontext() as caught:
        check_beside(value, *documents)
    assert not reason or caught.value.reason == reason


def many(form: str, megabytes: float = 4) -> str:
    return ",".join([form] * int(megabytes * 1e6 / (len(form) + 1)))


@pytest.fixture
async def port() -> AsyncIterator[HttpServer]:
    """A port with the routes of all APIs."""
    async with (
        Openai.running() as service,
        running([route for make in SHIPPED_APIS for route in make(service.host).routes]) as server,
    ):
        yield server


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/ask", '{"text":"x","documents":[' + many("{}") + "]}"),
        ("/v1/ask", '{"text":"x","knowledge":[' + many('""') + "]}"),
        ("/v1/ask", "{" + ",".join(f'"k{number}":1' for number in range(300_000)) + "}"),
        ("/v1/ask", '{"text":"' + "x" * 4_000_000 + '"}'),
        ("/v1/ask", "[" * 4_000_000),
        ("/v1/realtime/client_secrets", '{"session":{"x":[' + many("[]", 0.5) + "]}}"),
        ("/v1/realtime/sessions", '{"x":"' + "x" * 500_000 + '"}'),
        ("/v1/audio/speech", '{"voice":{"id":[' + many("[]", 0.5) + "]}}"),
    ],
)
async def test_a_body_of_json_that_would_take_seconds_is_refused_at_once(port: HttpServer, path: str, body: str):
    async with client(port) as session:
        began = time.process_time()
        async with session.post(
            path, data=io.BytesIO(body.encode()), headers={"Content-Type": "application/json"}
        ) as response:
            assert response.status in {400, 413}
            assert (await response.json(content_type=None))["reason"] in {"TOO_MANY_VALUES", "MESSAGE_TOO_LARGE"}
        assert time.process_time() - began < 0.5


@pytest.mark.parametrize(
    ("path", "first", "text"),
    [
        ("/v1/converse", '{"config":{}}', '{"update":{"documents":{"documents":[' + many("{}") + "]}}}"),
        ("/v1/converse", '{"config":{}}', '{"update":{"session":{"parameters":{' + many('"k":""', 4) + "}}}}"),
        ("/v1/converse", None, '{"config":{"languageCode":"' + "x" * 4_000_000 + '"}}'),
        ("/v1/realtime", None, '{"type":"session.update","session":{"x":[' + many("[]") + "]}}"),
        ("/v1/realtime", None, '{"type":"session.update","session":{"k":"' + "S" * 3_900_000 + '"}}'),
        ("/v1/realtime", None, '{"type":"session.update","session":{"vivavoce":{"keywords":[' + many('"a"') + "]}}}"),
        ("/v1/realtime", None, '{"type":"session.update","session":{"instructions":"' + "a, " * 1_300_000 + '"}}'),
        ("/v1/realtime", None, '{"type":"conversation.item.create","item":{"content":[' + many("{}") + "]}}"),
        ("/v1/realtime", None, '{"type":"conversation.item.create","item":{"name":"' + "N" * 3_900_000 + '"}}'),
        ("/v1/realtime", None, '{"type":"response.create","response":{"input":[' + many("{}") + "]}}"),
        ("/v1/realtime", None, '{"type":"input_audio_buffer.append","runtime_config":{"a":[' + many("[]") + "]}}"),
        ("/v1/realtime", None, '{"type":"response.cancel","event_id":"' + "e" * 3_900_000 + '"}'),
        ("/v1/realtime?intent=synthesize", None, '{"type":"' + "e" * 3_900_000 + '"}'),
        ("/v1/realtime?intent=synthesize", None, '{"type":"input_text.append","x":[' + many("[]") + "]}"),
    ],
)
async def test_a_message_that_would_take_seconds_is_refused_at_once(
    port: HttpServer, path: str, first: str | None, text: str
):
    async with client(port) as session, session.ws_connect(path) as websocket:
        if first:
            await websocket.send_str(first)
        if first or path != "/v1/converse":
            await websocket.receive()
        began = time.process_time()
        await websocket.send_str(text)
        while "error" not in (told := json.loads((await websocket.receive(5)).data)):
            pass
        assert time.process_time() - began < 0.5
    assert told["error"].get("reason", told["error"].get("code", "")).upper() in {
        "TOO_MANY_VALUES",
        "MESSAGE_TOO_LARGE",
    }


async def test_a_session_does_not_grow_by_many_small_changes_and_is_not_copied(port: HttpServer):
    async with client(port) as session, session.ws_connect("/v1/realtime", max_msg_size=0) as websocket:
        await websocket.receive()
        refused = 0
        await websocket.send_json({"type": "session.update", "session": {"vivavoce": {"documents": [ARTICLE]}}})
        told = await websocket.receive_json()
        assert told["type"] == "session.updated", told
        for number in range(20):
            await websocket.send_json({"type": "session.update", "session": {f"k{number}": "x" * 6_500}})
            refused += (await websocket.receive_json())["type"] == "error"
        assert refused == 10
        began = time.process_time()
        for _ in range(5):
            await websocket.send_json({"type": "session.update", "session": {"temperature": 0.8}})
            assert (await websocket.receive_json())["type"] == "session.updated"
        assert time.process_time() - began < 2.0


async def test_long_messages_are_read_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch):
    threads: list[object] = []

    async def to_thread(call: object, *_: object) -> None:
        threads.append(call)

    monkeypatch.setattr(asyncio, "to_thread", to_thread)
    await json_reading.read_json(b" " * (32 << 10), len)
    assert not threads
    await json_reading.read_json(b" " * ((32 << 10) + 1), len)
    assert len(threads) == 1
