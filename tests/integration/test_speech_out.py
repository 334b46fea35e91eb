"""Speech out and in again: what the service says, it understands."""

from __future__ import annotations

import asyncio
import difflib
import json
import re
from typing import TYPE_CHECKING

import pytest
import soundfile

import vivavoce
from vivavoce.cli import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

TEXT = "The ferry to the island leaves at nine in the morning. Bring a warm coat, and do not be late."


@pytest.fixture
async def client(server_address: str) -> AsyncIterator[vivavoce.Client]:
    async with vivavoce.connect(server_address) as connected:
        yield connected


async def say(client: vivavoce.Client, text: str, **options: object) -> bytes:
    return b"".join([chunk.audio async for chunk in client.say(text, **options)])


async def heard(client: vivavoce.Client, audio: bytes, audio_format: vivavoce.AudioFormat) -> str:
    chunks = [audio[start : start + 8_000] for start in range(0, len(audio), 8_000)]
    events = [event async for event in client.converse(chunks, audio=audio_format)]
    return " ".join(event.text for event in events if isinstance(event, vivavoce.Transcript) and event.is_final)


def same(one: str, other: str) -> float:
    words = [re.findall(r"[a-z']+", text.lower()) for text in (one, other)]
    return difflib.SequenceMatcher(None, *words).ratio()


@pytest.mark.parametrize(
    "audio",
    [
        vivavoce.AudioFormat(sample_rate_hz=16_000),
        vivavoce.AudioFormat(vivavoce.Encoding.MULAW, 8_000),
        vivavoce.AudioFormat(vivavoce.Encoding.OGGOPUS, 24_000),
        vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM_FLOAT32, 48_000),
    ],
    ids=lambda audio: audio.encoding.name,
)
async def test_what_is_said_is_understood(client: vivavoce.Client, audio: vivavoce.AudioFormat):
    spoken = await say(client, TEXT, audio=audio)
    assert same(await heard(client, spoken, audio), TEXT) > 0.85


async def test_figures_are_heard_in_words(client: vivavoce.Client):
    text = await heard(client, await say(client, "It costs $12.50 at 4:30 pm."), vivavoce.SPEECH_AUDIO)
    assert re.search(r"twelve dollars and fifty cents|\$12\.50|twelve fifty", text, re.IGNORECASE)
    assert re.search(r"four thirty|4[:.]30", text, re.IGNORECASE)


async def test_the_same_seed_gives_the_same_audio(client: vivavoce.Client):
    first, again, other = [await say(client, TEXT, seed=seed) for seed in (5, 5, 6)]
    assert first == again != other


async def test_many_at_once_are_spoken(client: vivavoce.Client):
    alone = await say(client, TEXT)
    assert set(await asyncio.gather(*(say(client, TEXT) for _ in range(6)))) == {alone}


async def test_the_first_audio_comes_before_the_last_is_computed(client: vivavoce.Client):
    loop = asyncio.get_running_loop()
    began, times = loop.time(), []
    async for _ in client.say("And so it went on, day after day. " * 30):
        times.append(loop.time() - began)  # noqa: PERF401 - a list of moments
    assert times[0] < times[-1] / 3


async def test_speech_goes_on_for_others_when_a_caller_leaves(client: vivavoce.Client):
    for _ in range(5):
        speech = client.say("And so it went on, day after day. " * 100)
        await anext(speech)
        await speech.aclose()
    assert await say(client, "Yes.")


def test_the_command_writes_speech(server_address: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    out = tmp_path / "speech.wav"
    ssml = '<speak>One<break time="1s"/>two</speak>'
    assert run(["say", ssml, "--ssml", "--out", str(out), "--json", "--server", server_address]) == 0
    printed = json.loads(capsys.readouterr().out)
    sound = soundfile.info(out)
    assert printed["seconds"] == pytest.approx(sound.frames / sound.samplerate, abs=0.001)
    assert [sentence["text"] for sentence in printed["sentences"]] == ["One", "two"]
    assert printed["sentences"][1]["start_s"] > 1
