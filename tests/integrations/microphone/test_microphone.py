"""Riva's own microphone client, `riva.client.audio_io` with its arguments and printing, in a room without hardware."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from demo.manifest import FOLDER
from tests.integrations.environments import python_for
from tests.integrations.recordings import LIGHTS, words
from tests.virtual_room import PATIENCE_SECONDS, needs_sound_server, play, sound

HERE = Path(__file__).parent
HEADERS = Path("/usr/include/portaudio.h")

pytestmark = [
    needs_sound_server,
    pytest.mark.skipif(not HEADERS.exists(), reason=f"no {HEADERS}: apt-get install portaudio19-dev"),
]
__all__ = ["sound"]  # pytest finds the fixture here

OPTIONS = ("--automatic-punctuation", "--profanity-filter", "--stop-history", "500", "--stop-history-eou", "300")
BOOSTED = ("--boosted-lm-words", "bedroom", "--boosted-lm-score", "20")


async def test_what_is_said_into_the_microphone_is_printed(sound: dict[str, str], server_address: str) -> None:
    python = await asyncio.to_thread(python_for, HERE)
    client = await asyncio.create_subprocess_exec(
        *(str(python), "-I", str(HERE / "transcribe_mic.py"), "--server", server_address, *OPTIONS, *BOOSTED),
        *("--metadata", "function-id", "somebody-elses"),
        env=sound,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert client.stdout is not None
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            assert await client.stdout.readline() == b"listening\n"
            await play(FOLDER / "recordings" / "lights.flac", sound)
            output, errors = await client.communicate()
    finally:
        if client.returncode is None:
            client.kill()
            await client.communicate()

    assert client.returncode == 0, errors.decode()[-4000:]
    found = json.loads(output.splitlines()[-1])
    assert [words(text) for text in found["final"]] == [LIGHTS]
    assert f"## {found['final'][0]}" in found["printed"]
    assert ">> " in found["printed"]


async def test_a_language_that_is_not_served_ends_the_client(sound: dict[str, str], server_address: str) -> None:
    python = await asyncio.to_thread(python_for, HERE)
    client = await asyncio.create_subprocess_exec(
        *(str(python), "-I", str(HERE / "transcribe_mic.py"), "--server", server_address, "--language-code", "de-DE"),
        env=sound,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    async with asyncio.timeout(PATIENCE_SECONDS):
        _, errors = await client.communicate()

    assert client.returncode == 4  # What Riva's clients make of INVALID_ARGUMENT.
    assert b"language" in errors
