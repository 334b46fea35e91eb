"""An empty room without hardware: what a sound server plays into it, it also records there."""

from __future__ import annotations

import asyncio
import os
import shutil
import subprocess
import time
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOOLS = ("pulseaudio", "pactl", "paplay")
MISSING = [tool for tool in TOOLS if shutil.which(tool) is None]
PATIENCE_SECONDS = 20.0

needs_sound_server = pytest.mark.skipif(
    bool(MISSING),
    reason=f"{', '.join(MISSING)} not installed: apt-get install pulseaudio pulseaudio-utils libportaudio2 "
    "libasound2-plugins",
)


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


async def play(recording: Path, environment: dict[str, str]) -> None:
    """Plays a recording into the room, from its beginning to its end."""
    player = await asyncio.create_subprocess_exec("paplay", "--device=room", str(recording), env=environment)
    try:
        assert await player.wait() == 0
    finally:
        if player.returncode is None:
            player.kill()
            await player.wait()
