"""`vivavoce mic` with a virtual microphone: what a sound server plays into an empty room, it also records there."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

import pytest

from demo.manifest import FOLDER

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

TOOLS = ("pulseaudio", "pactl", "paplay")
MISSING = [tool for tool in TOOLS if shutil.which(tool) is None]

pytestmark = pytest.mark.skipif(
    bool(MISSING),
    reason=f"{', '.join(MISSING)} not installed: apt-get install pulseaudio pulseaudio-utils libportaudio2 "
    "libasound2-plugins",
)

RECORDING = FOLDER / "recordings" / "lights.flac"
PATIENCE_SECONDS = 20.0


@pytest.fixture
def sound(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment of programs that play and record in an empty room."""
    runtime = tmp_path / "runtime"
    runtime.mkdir(mode=0o700)
    # Debian's PortAudio speaks ALSA; this makes ALSA's only device the sound server.
    (tmp_path / ".asoundrc").write_text("pcm.!default { type pulse }\nctl.!default { type pulse }\n")
    environment = os.environ | {"HOME": str(tmp_path), "XDG_RUNTIME_DIR": str(runtime)}
    for variable in ("PULSE_SERVER", "PULSE_RUNTIME_PATH", "DISPLAY"):
        environment.pop(variable, None)
    modules = ("module-null-sink sink_name=room", "module-native-protocol-unix")
    command = ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no"]
    command += [f"--load={module}" for module in modules]
    with (tmp_path / "pulseaudio.log").open("w") as log:
        server = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait_for_sound(environment, tmp_path / "pulseaudio.log")
        yield environment
    finally:
        server.terminate()
        server.wait(PATIENCE_SECONDS)


def _wait_for_sound(environment: dict[str, str], log: Path) -> None:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < deadline:
        done = subprocess.run(["pactl", "info"], env=environment, capture_output=True, text=True, check=False)
        if "Default Source: room.monitor" in done.stdout:
            return
        time.sleep(0.05)
    pytest.fail(f"pulseaudio did not come up:\n{log.read_text()}")


def test_the_virtual_microphone_is_listed(sound: dict[str, str]) -> None:
    command = [sys.executable, "-m", "vivavoce", "mic", "--list-devices"]
    done = subprocess.run(command, env=sound, capture_output=True, text=True, check=False, timeout=PATIENCE_SECONDS)

    assert done.returncode == 0, done.stderr
    assert re.search(r"^\* +\d+  default", done.stdout, re.MULTILINE), done.stdout


async def test_what_is_played_into_the_room_is_understood(sound: dict[str, str], server_address: str) -> None:
    async with _listening(sound, server_address) as mic:
        await _play(RECORDING, sound)
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
        meanwhile.create_task(_play(RECORDING, sound))
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


async def _play(recording: Path, environment: dict[str, str]) -> None:
    player = await asyncio.create_subprocess_exec("paplay", "--device=room", str(recording), env=environment)
    try:
        assert await player.wait() == 0
    finally:
        if player.returncode is None:
            player.kill()
            await player.wait()
