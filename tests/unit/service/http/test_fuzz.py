"""Mistakes made at random: mutated events, frames and requests. None of them is answered with 500, or hurts others.

20,000 of them take about a minute: ``VIVAVOCE_FUZZ_FRAMES=20000``. The seed makes a failure come again.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import logging
import os
import random
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from tests.unit.service.http.running import Openai

if TYPE_CHECKING:
    from collections.abc import Callable

FRAMES = int(os.environ.get("VIVAVOCE_FUZZ_FRAMES", "1500"))
SEED = int(os.environ.get("VIVAVOCE_FUZZ_SEED", "42"))
SECONDS = float(os.environ.get("VIVAVOCE_FUZZ_SECONDS", "600"))

AUDIO = base64.b64encode(bytes(4_800)).decode()
EVENTS: list[dict[str, Any]] = [
    {"type": "session.update", "session": {"type": "realtime", "output_modalities": ["text"]}},
    {"type": "session.update", "session": {"audio": {"input": {"turn_detection": {"type": "server_vad"}}}}},
    {"type": "session.update", "session": {"audio": {"input": {"turn_detection": None}}}},
    {"type": "session.update", "session": {"modalities": ["audio"], "input_audio_format": "g711_ulaw", "voice": "ash"}},
    {"type": "session.update", "session": {"vivavoce": {"documents": [{"id": "a", "text": "Seven bees."}]}}},
    {"type": "transcription_session.update", "session": {"input_audio_params": {"sample_rate_hz": 8000}}},
    {"type": "input_audio_buffer.append", "audio": AUDIO},
    {"type": "input_audio_buffer.append", "audio": AUDIO, "runtime_config": {"force_eou": "true"}},
    {"type": "input_audio_buffer.commit"},
    {"type": "input_audio_buffer.clear"},
    {"type": "conversation.item.create", "item": {"role": "user", "content": [{"type": "input_text", "text": "hi"}]}},
    {"type": "conversation.item.create", "item": {"id": "x", "role": "user", "content": "hi"}},
    {"type": "conversation.item.create", "item": {"type": "function_call_output", "call_id": "c", "output": "7"}},
    {"type": "conversation.item.retrieve", "item_id": "x"},
    {"type": "conversation.item.delete", "item_id": "x"},
    {"type": "conversation.item.truncate", "item_id": "x", "content_index": 0, "audio_end_ms": 100},
    {"type": "response.create", "response": {"input": [{"role": "user", "content": "how many?"}]}},
    {"type": "response.create"},
    {"type": "response.cancel"},
    {"type": "output_audio_buffer.clear"},
]
ODD: list[Any] = [
    None,
    0,
    -1,
    1e308,
    2**63,
    True,
    "",
    "\0",
    "😀" * 50,
    [],
    {},
    [[]],
    {"a": {"b": []}},
    "x" * 5_000,
    float("nan"),
]
GOOD_CLOSES = {1000, 1002, 1003, 1007, 1008, 1009}


def mutated(rng: random.Random, value: Any, depth: int = 0) -> Any:
    """A value of which something is different, taken out or added."""
    if rng.random() < 0.15 or depth > 4:
        return rng.choice(ODD)
    if isinstance(value, dict):
        found = {key: mutated(rng, one, depth + 1) if rng.random() < 0.4 else one for key, one in value.items()}
        if found and rng.random() < 0.2:
            found.pop(rng.choice(list(found)))
        if rng.random() < 0.2:
            found[rng.choice(["event_id", "type", "session", "audio", "x"])] = rng.choice(ODD)
        return found
    if isinstance(value, list):
        return [mutated(rng, one, depth + 1) for one in value for _ in range(rng.choice((0, 1, 1, 2)))]
    if isinstance(value, str) and value and rng.random() < 0.5:
        at = rng.randrange(len(value))
        return value[:at] + chr(rng.randrange(32, 0x2000)) + value[at + 1 :]
    return value


def frame(rng: random.Random) -> str | bytes:
    event = dict(rng.choice(EVENTS))
    match rng.randrange(10):
        case 0:
            return rng.randbytes(rng.randrange(60))
        case 1:
            text = json.dumps(event)
            return text[: rng.randrange(len(text))]
        case 2:
            data = bytearray(json.dumps(event).encode())
            for _ in range(rng.randrange(1, 4)):
                data[rng.randrange(len(data))] = rng.randrange(32, 127)
            return data.decode()
        case 3 | 4:
            return json.dumps(event)
        case _:
            return json.dumps(mutated(rng, event))


def request(rng: random.Random) -> bytes:
    """One request as it is on the wire, more or less."""
    paths = [
        "/v1/audio/transcriptions",
        "/v1/audio/speech",
        "/v1/models",
        "/v1/realtime",
        "/v1/realtime/client_secrets",
    ]
    path = rng.choice([*paths, "/", "/v1/models/" + "x" * rng.randrange(50), "/%00%ff", "//", "/v1/../healthz"])
    method = rng.choice(["GET", "POST", "POST", "POST", "PUT", "DELETE", "OPTIONS", "HEAD", "BREW"])
    kind = rng.choice(["application/json", "multipart/form-data; boundary=x", "text/plain", "\xff", ""])
    part = (
        b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
        + rng.randbytes(40)
        + b"\r\n--x--\r\n"
    )
    speech = json.dumps(mutated(rng, {"input": "hello", "voice": "alloy", "speed": 1.0})).encode()
    secret = json.dumps(mutated(rng, {"session": EVENTS[0]["session"], "expires_after": {"seconds": 60}})).encode()
    body = rng.choice([b"", part, speech, secret, rng.randbytes(rng.randrange(200))])
    length = rng.choice([len(body)] * 6 + [0, 3, -1, 10**30])
    headers = [f"Host: {rng.choice(['x', '127.0.0.1', ''])}", f"Content-Type: {kind}", f"Content-Length: {length}"]
    if rng.random() < 0.1:
        headers.append("Transfer-Encoding: chunked")
    if rng.random() < 0.1:
        headers.append("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Key: " + "A" * rng.randrange(30))
    if rng.random() < 0.1:
        headers.append("Origin: " + rng.choice(["null", "http://x", "https://["]))
    head = f"{method} {path} HTTP/1.{rng.choice([0, 1, 1, 1, 7])}\r\n" + "\r\n".join(headers) + "\r\n\r\n"
    whole = head.encode("latin-1") + body
    return whole if rng.random() < 0.9 else whole[: rng.randrange(len(whole))]


@pytest.fixture(autouse=True)
def quiet(caplog: pytest.LogCaptureFixture) -> Callable[[], None]:
    """Checks that nothing went wrong that was not foreseen."""
    caplog.set_level(logging.WARNING)

    def check() -> None:
        found = [record for record in caplog.records if record.levelno >= logging.ERROR]
        assert not found, found[0].getMessage()
        caplog.clear()

    return check


async def test_frames_at_random_end_no_other_session(quiet: Callable[[], None]):
    rng, sent = random.Random(SEED), 0
    loop = asyncio.get_running_loop()
    until = loop.time() + SECONDS
    async with Openai.running(max_conversations=64) as service:
        async with service.session.ws_connect("/v1/realtime") as bystander:
            await bystander.receive_json()
            while sent < FRAMES and loop.time() < until:
                async with service.session.ws_connect("/v1/realtime") as websocket:
                    reading = asyncio.create_task(read(websocket))
                    for _ in range(rng.randrange(1, 60)):
                        if websocket.closed:
                            break
                        data = frame(rng)
                        with contextlib.suppress(ConnectionError, UnicodeEncodeError):
                            await (websocket.send_str(data) if isinstance(data, str) else websocket.send_bytes(data))
                        sent += 1
                    await asyncio.sleep(0)
                    await websocket.close()
                    code = await asyncio.wait_for(reading, 10)
                    assert code in GOOD_CLOSES, (SEED, sent, code)
                quiet()
            await bystander.send_json({"type": "session.update", "session": {"output_modalities": ["text"]}})
            assert (await asyncio.wait_for(bystander.receive_json(), 5))["type"] == "session.updated"
        await settled(service)
    assert sent >= FRAMES or loop.time() >= until


async def test_requests_at_random_are_refused_with_the_right_status(quiet: Callable[[], None]):
    rng, sent = random.Random(SEED), 0
    loop = asyncio.get_running_loop()
    until = loop.time() + SECONDS
    statuses: set[bytes] = set()
    async with Openai.running(max_conversations=64) as service:
        while sent < FRAMES and loop.time() < until:
            batch = [request(rng) for _ in range(20)]
            answers = await asyncio.gather(*(answered(service.server.port, data) for data in batch))
            statuses |= set(answers)
            sent += len(batch)
            assert b"500" not in answers, (SEED, batch[answers.index(b"500")])
            quiet()
        assert (await service.session.get("/v1/models")).status == 200
        await settled(service)
    assert {b"200", b"400", b"404", b"405", b"415"} <= statuses


async def answered(port: int, data: bytes) -> bytes:
    """Sends bytes and half-closes; returns the status, b"" for none."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(data)
        writer.write_eof()
        first = await asyncio.wait_for(reader.read(4_096), 10)
    except ConnectionError:
        return b""
    finally:
        writer.close()
    return first[9:12]


async def read(websocket: aiohttp.ClientWebSocketResponse) -> int | None:
    """Reads to the end; returns the code with which the server closed."""
    while (message := await websocket.receive()).type in {aiohttp.WSMsgType.TEXT, aiohttp.WSMsgType.BINARY}:
        assert json.loads(message.data)["type"]
    return websocket.close_code if websocket.close_code not in {None, 1006} else 1000


async def settled(service: Openai) -> None:
    """Waits until nothing is held for callers that are gone."""
    async with asyncio.timeout(10):
        while service.host.open_conversations.count or service.host.admission.quotas.present:
            await asyncio.sleep(0.01)
