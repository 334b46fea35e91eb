"""Fulfilment with the real models: a spoken command switches a light of a stand-in of Home Assistant."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import demo
import vivavoce
from service.processes.child_process import SERVE, StartError, listening
from tests.fast_service import SPEED

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.integration.home import Home

FOLDER = Path(demo.__file__).parent
RECORDING = FOLDER / "recordings/lights.flac"


def said(events: list[vivavoce.Event]) -> list[str]:
    return [event.speech_text for event in events if isinstance(event, vivavoce.Reply) and event.speech_text]


async def test_a_spoken_command_switches_a_light(fast_address: str, home_assistant: Home):
    recording = vivavoce.read_audio(RECORDING)

    async def speech() -> AsyncIterator[Any]:
        async for chunk in vivavoce.pace(recording.chunks(), SPEED * recording.sample_rate_hz):
            yield chunk

    home_assistant.called.clear()
    async with vivavoce.connect(fast_address) as client:
        conversation = client.converse(
            speech(), audio=recording.format, agent="home", reply_audio=vivavoce.ReplyVoice(), reply_budget_seconds=30
        )
        events = [event async for event in conversation]
    assert home_assistant.called == [("/api/services/light/turn_off", {"entity_id": "light.bedroom"})]
    assert said(events)[-1] == "The light in the bedroom is off."
    assert any(isinstance(event, vivavoce.ReplyAudio) for event in events)


async def test_typed_commands_and_one_that_is_asked_back(server_address: str, home_assistant: Home):
    home_assistant.called.clear()
    turns = [vivavoce.TypedTurn("turn on the lights"), vivavoce.TypedTurn("the lounge")]
    async with vivavoce.connect(server_address) as client:
        events = [event async for event in client.converse(turns, audio=None, agent="home")]
    assert said(events) == ["In which room?", "The light in the living room is on."]
    assert home_assistant.called == [("/api/services/light/turn_on", {"entity_id": "light.living_room"})]


async def test_without_its_environment_the_service_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("HOME_ASSISTANT_URL", raising=False)
    command = [*SERVE, "--agent", str(FOLDER / "agents/home")]
    missing = r"did not come up(?s:.*)the environment variable HOME_ASSISTANT_URL is not set: set it"
    with pytest.raises(StartError, match=missing), listening(command, tmp_path / "log"):
        pass
