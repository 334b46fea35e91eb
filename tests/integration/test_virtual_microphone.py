"""`vivavoce mic` with a virtual microphone: what a sound server plays into an empty room, it also records there."""

from __future__ import annotations

import asyncio
import json
import re
import signal
import subprocess
import sys
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from demo.manifest import FOLDER
from tests.virtual_room import PATIENCE_SECONDS, needs_sound_server, play, sound

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

pytestmark = needs_sound_server
__all__ = ["sound"]  # pytest finds the fixture here

RECORDING = FOLDER / "recordings" / "lights.flac"


def test_the_virtual_microphone_is_listed(sound: dict[str, str]) -> None:
    command = [sys.executable, "-m", "vivavoce", "mic", "--list-devices"]
    done = subprocess.run(command, env=sound, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)

    assert done.returncode == 0, done.stderr
    assert re.search(r"^\* +\d+  default", done.stdout, re.MULTILINE), done.stdout


async def test_what_is_played_into_the_room_is_understood(sound: dict[str, str], server_address: str) -> None:
    async with _listening(sound, server_address) as mic:
        await play(RECORDING, sound)
        reply = await _next(mic, "reply")
        mic.send_signal(signal.SIGINT)
        _, stderr = await mic.communicate()

    assert re.fullmatch(r"turn off the lights? in the bedroom,? please\.?", reply["transcript"].lower())
    assert reply["status"] == "COMPLETE"
    assert mic.returncode == 0, stderr.decode()
    assert b"Traceback" not in stderr


async def test_interrupting_in_the_middle_of_a_sentence_brings_its_reply(
    sound: dict[str, str], server_address: str
) -> None:
    async with _listening(sound, server_address) as mic, asyncio.TaskGroup() as meanwhile:
        meanwhile.create_task(play(RECORDING, sound))
        await _next(mic, "transcript")
        mic.send_signal(signal.SIGINT)
        ended = await _next(mic, "speech_ended")
        await _next(mic, "reply")
        await mic.communicate()

    assert ended["reason"] == "HALF_CLOSE"
    assert mic.returncode == 0


@asynccontextmanager
async def _listening(environment: dict[str, str], server: str) -> AsyncIterator[asyncio.subprocess.Process]:
    """Runs `vivavoce mic`, from the moment in which its conversation has started; the body gets 20 s."""
    mic = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "vivavoce", "mic", "--json", "--budget-ms", "10000", "--server", server),
        env=environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(PATIENCE_SECONDS):
            await _next(mic, "started")
            yield mic
    finally:
        if mic.returncode is None:
            mic.kill()
            await mic.communicate()


async def _next(process: asyncio.subprocess.Process, name: str) -> dict[str, Any]:
    """Reads events up to the next one that is called `name`."""
    assert process.stdout is not None
    async for line in process.stdout:
        event: dict[str, Any] = json.loads(line)
        if event["event"] == name:
            return event
    pytest.fail(f"the command ended without a {name}")
