"""Dialogs with the real models: an agent that hears the intents of the shipped engine, typed and spoken."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import demo
import vivavoce
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import Iterator

AGENT = """\
name: lamp
begin: Hello.
intents:
  light_off:
    heard_as: iot_hue_lightoff
    slots:
      place: {type: closed, required: true, prompt: "In which room?", heard_as: house_place}
    confirm: "Lights off in the {place}?"
    fulfilment: light_off
    response: Done.
"""
RECORDING = Path(demo.__file__).parent / "recordings/lights.flac"


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("agents")
    (folder / "lamp/values").mkdir(parents=True)
    (folder / "lamp/agent.yaml").write_text(AGENT, "utf-8")
    (folder / "lamp/values/place.txt").write_text("bedroom\nkitchen\n", "utf-8")
    command = [*SERVE, "--max-conversations", "4", "--agent", str(folder / "lamp")]
    with listening(command, folder / "log") as (_, address):
        yield address


async def test_a_dialog_goes_on_in_another_stream(address: str):
    session = vivavoce.Session("kiosk 7")

    async def said(*texts: str) -> list[vivavoce.Reply]:
        turns = [vivavoce.TypedTurn(text) for text in texts]
        async with vivavoce.connect(address) as client:
            events = client.converse(turns, audio=None, agent="lamp", session=session)
            return [event async for event in events if isinstance(event, vivavoce.Reply)]

    assert [reply.speech_text for reply in await said("turn off the lights")] == ["In which room?"]
    replies = await said("in the kitchen", "no, the bedroom", "yes")
    assert [reply.speech_text for reply in replies] == [
        "Lights off in the kitchen?",
        "Lights off in the bedroom?",
        "Done.",
    ]
    assert replies[2].dialog is not None
    assert replies[2].dialog.fulfilments == (vivavoce.Fulfilment(1, "light_off", "light_off", {"place": "bedroom"}),)


async def test_a_spoken_turn_is_answered_aloud(address: str):
    recording = vivavoce.read_audio(RECORDING)
    speech = vivavoce.pace(recording.chunks(), recording.sample_rate_hz)
    async with vivavoce.connect(address) as client:
        conversation = client.converse(speech, audio=recording.format, agent="lamp", reply_audio=vivavoce.ReplyVoice())
        events = [event async for event in conversation]
    (reply,) = (event for event in events if isinstance(event, vivavoce.Reply))
    assert reply.speech_text == "Lights off in the bedroom?"
    assert reply.dialog is not None
    assert reply.dialog.confirming
    assert sum(len(event.audio) for event in events if isinstance(event, vivavoce.ReplyAudio)) > 24_000
