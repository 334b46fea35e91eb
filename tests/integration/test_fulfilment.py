"""Fulfilment with the real models: a spoken command switches a light of a stand-in of Home Assistant."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import demo
import vivavoce
from service.processes.child_process import SERVE, StartError, listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

FOLDER = Path(demo.__file__).parent
RECORDING = FOLDER / "recordings/lights.flac"
TOKEN = "a-long-lived-token"


class Home(ThreadingHTTPServer):
    """Keeps what is called, and says that it was done."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.called: list[tuple[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Home)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_known = self.headers["Authorization"] == f"Bearer {TOKEN}"
        if is_known:
            self.server.called.append((self.path, body))
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    with Home() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def address(home: Home, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [*SERVE, "--max-conversations", "4", "--agent", str(FOLDER / "agents/home")]
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("HOME_ASSISTANT_URL", f"http://127.0.0.1:{home.server_port}")
        environment.setenv("HOME_ASSISTANT_TOKEN", TOKEN)
        with listening(command, tmp_path_factory.mktemp("home") / "log") as (_, address):
            yield address


def said(events: list[vivavoce.Event]) -> list[str]:
    return [event.speech_text for event in events if isinstance(event, vivavoce.Reply) and event.speech_text]


async def test_a_spoken_command_switches_a_light(address: str, home: Home):
    recording = vivavoce.read_audio(RECORDING)

    async def speech() -> AsyncIterator[Any]:
        async for chunk in vivavoce.pace(recording.chunks(), recording.sample_rate_hz):
            yield chunk

    home.called.clear()
    async with vivavoce.connect(address) as client:
        conversation = client.converse(
            speech(), audio=recording.format, agent="home", reply_audio=vivavoce.ReplyVoice()
        )
        events = [event async for event in conversation]
    assert home.called == [("/api/services/light/turn_off", {"entity_id": "light.bedroom"})]
    assert said(events)[-1] == "The light in the bedroom is off."
    assert any(isinstance(event, vivavoce.ReplyAudio) for event in events)


async def test_typed_commands_and_one_that_is_asked_back(address: str, home: Home):
    home.called.clear()
    turns = [vivavoce.TypedTurn("turn on the lights"), vivavoce.TypedTurn("the lounge")]
    async with vivavoce.connect(address) as client:
        events = [event async for event in client.converse(turns, audio=None, agent="home")]
    assert said(events) == ["In which room?", "The light in the living room is on."]
    assert home.called == [("/api/services/light/turn_on", {"entity_id": "light.living_room"})]


async def test_without_its_environment_the_service_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("HOME_ASSISTANT_URL", raising=False)
    command = [*SERVE, "--agent", str(FOLDER / "agents/home")]
    missing = r"did not come up(?s:.*)the environment variable HOME_ASSISTANT_URL is not set: set it"
    with pytest.raises(StartError, match=missing), listening(command, tmp_path / "log"):
        pass
