"""Calls of Twilio's and Telnyx' media streams, by the messages that their documentation shows."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import hmac
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest

from service.security.authentication import UnauthenticatedError
from service.security.principal import NO_LIMITS
from service.security.watched_file import UnusableFileError
from service.telephone.media_streams import PATH, MediaStreams, StreamSignature
from tests.unit.service.http.running import client, running

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.unit.service.telephone.exchange import Exchange

SILENCE = base64.b64encode(bytes([0xFF]) * 160).decode()
CONNECTED = {"event": "connected", "protocol": "Call", "version": "1.0.0"}
TWILIO = {
    "event": "start",
    "sequenceNumber": "1",
    "streamSid": "MZ18",
    "start": {
        "streamSid": "MZ18",
        "accountSid": "AC1",
        "callSid": "CA1",
        "tracks": ["inbound"],
        "mediaFormat": {"encoding": "audio/x-mulaw", "sampleRate": 8000, "channels": 1},
        "customParameters": {"house": "Ada's"},
    },
}
TELNYX = {
    "event": "start",
    "stream_id": "32de0dea",
    "start": {
        "call_control_id": "v2:T02",
        "from": "+13122010094",
        "media_format": {"encoding": "PCMU", "sample_rate": 8000, "channels": 1},
        "custom_parameters": {"agent": "bar"},
    },
}


class Company:
    """A telephone company's side of a stream."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self.socket = socket
        self.media: list[dict[str, Any]] = []
        self.clears = 0

    async def send(self, *messages: object) -> None:
        for message in messages:
            await self.socket.send_json(message)

    async def until(self, what: object) -> None:
        """Sends silence at the pace of a line, and takes what comes."""
        for _ in range(500):
            if what():
                return
            await self.send({"event": "media", "media": {"track": "inbound", "payload": SILENCE}})
            try:
                message = await self.socket.receive_json(timeout=0.02)
            except TimeoutError:
                continue
            self.media += [message] if message["event"] == "media" else []
            self.clears += message["event"] == "clear"
        raise AssertionError("it did not happen")


@pytest.fixture
async def company(exchange: Exchange) -> AsyncIterator[Company]:
    routes = MediaStreams(exchange.host, "bar").routes
    async with running(routes) as server, client(server) as session, session.ws_connect(PATH) as socket:
        yield Company(socket)


@pytest.mark.parametrize(("start", "name"), [(TWILIO, ("streamSid", "MZ18")), (TELNYX, ("stream_id", "32de0dea"))])
async def test_an_agent_answers_a_stream(
    exchange: Exchange, company: Company, start: dict[str, Any], name: tuple[str, str]
):
    await company.send(CONNECTED, start)
    await company.until(lambda: len(company.media) >= 12)
    assert exchange.models.spoken_texts == ["Hello."]
    assert all(message[name[0]] == name[1] for message in company.media)
    assert len(base64.b64decode(company.media[0]["media"]["payload"])) == 160
    exchange.models.words, exchange.voice.probability = "a latte please", 1.0
    await company.until(lambda: exchange.models.sequences and exchange.models.sequences[0].samples > 12_000)
    exchange.voice.probability = 0.0
    await company.until(lambda: "Which size?" in exchange.models.spoken_texts and len(company.media) > 14)
    await company.send({"event": "dtmf", "dtmf": {"track": "inbound_track", "digit": "1"}})
    await company.until(lambda: "one small latte?" in exchange.models.spoken_texts)
    # What was said before was thrown away when the caller pressed a key.
    assert company.clears
    await company.send({"event": "stop"})
    async for message in company.socket:
        assert message.type is aiohttp.WSMsgType.TEXT
    assert company.socket.close_code == 1000


@pytest.mark.parametrize(
    "messages",
    [
        [{"event": "media", "media": {"payload": SILENCE}}],
        [{"event": "start", "start": {"mediaFormat": {"encoding": "opus", "sampleRate": 8000}}}],
        [{"event": "start", "start": "now"}],
        [TWILIO, TWILIO],
        [TWILIO, {"event": "media", "media": {"payload": "?"}}],
        [TWILIO, ["no object"]],
        [{**TELNYX, "start": {**TELNYX["start"], "custom_parameters": {"agent": "cafe"}}}],
    ],
)
async def test_what_is_no_stream_is_refused(exchange: Exchange, company: Company, messages: list[Any]):
    await company.send(*messages)
    async for message in company.socket:
        assert message.type is aiohttp.WSMsgType.TEXT
    assert company.socket.close_code not in {None, 1000, 1006}
    assert not exchange.host.open_conversations.count


def signature(url: str, key: str) -> str:
    return base64.b64encode(hmac.new(key.encode(), url.encode(), hashlib.sha1).digest()).decode()


def test_a_signature_of_twilio(tmp_path: Path):
    url, file = "wss://voice.example.org/v1/media-streams", tmp_path / "key"
    file.write_text("12345\n")
    check = StreamSignature(url, file, NO_LIMITS).check
    # The example of Twilio's documentation signs parameters, too; a stream has none.
    assert check({"x-twilio-signature": signature(url, "12345")}).name == "media-streams"
    for forged in ("", signature(url, "12346"), signature("wss://other.example.org/v1/media-streams", "12345"), "é"):
        with pytest.raises(UnauthenticatedError):
            check({"x-twilio-signature": forged})
    with pytest.raises(UnauthenticatedError):
        check({})
    file.write_text("\n")
    with pytest.raises(UnusableFileError, match="is empty"):
        StreamSignature(url, file, NO_LIMITS)


async def test_a_company_that_leaves_while_the_agent_speaks(
    exchange: Exchange, company: Company, caplog: pytest.LogCaptureFixture
):
    exchange.models.sentence_seconds = 5.0
    await company.send(TWILIO)
    await company.until(lambda: company.media)
    await company.socket.close()
    async with asyncio.timeout(10):
        while exchange.host.open_conversations.count:
            await asyncio.sleep(0.05)
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []
