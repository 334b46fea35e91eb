"""The recordings that come with the project, and the server of the demonstration."""

from __future__ import annotations

import re
import sys
from contextlib import asynccontextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING
from xml.etree import ElementTree as ET

import numpy as np
import pytest
import soundfile

import vivavoce
from demo.manifest import FOLDER, Utterance, utterances
from demo.run import SHOWN
from demo.server import ServerError, _is_running, _left, running_server
from demo.spoken import SpokenConversation
from demo.timeline import Mark, draw
from vivavoce.cli.views import choose_view
from vivavoce.testing import Turn, serving

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

# A server that says where it listens, starts a child, and ends when asked to; the child ends only if it is told so.
SERVER = """
import signal, subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], stdout=subprocess.DEVNULL)
def stop(*_):
    {on_stop}
    sys.exit(0)
signal.signal(signal.SIGTERM, stop)
print("loading the models", flush=True)
print(f"listening on 127.0.0.1:{{child.pid}}", flush=True)
signal.pause()
"""


@pytest.mark.parametrize("utterance", utterances(), ids=lambda utterance: Path(utterance.file).stem)
def test_every_utterance_of_the_manifest_is_there(utterance: Utterance) -> None:
    recording = vivavoce.read_audio(utterance.path)

    assert recording.sample_rate_hz == 16_000
    assert 2 <= recording.duration_seconds <= 8
    if utterance.kind == "question":
        [document] = utterance.documents()
        assert utterance.answer is not None
        assert document.text.count(utterance.answer) == 1
        assert 120 <= len(document.text.split()) <= 250
    else:
        assert utterance.kind == "command"
        assert utterance.intent
        assert utterance.documents() == []


def test_the_recordings_are_few_and_small() -> None:
    recordings = {path.relative_to(FOLDER).as_posix(): path.stat().st_size for path in FOLDER.glob("recordings/*")}

    assert set(recordings) == {utterance.file for utterance in utterances()}
    assert sum(recordings.values()) < 2_000_000


def test_what_is_shown_is_in_the_manifest() -> None:
    assert set(SHOWN) <= {Path(utterance.file).stem for utterance in utterances()}


@pytest.fixture
def log(tmp_path: Path) -> Iterator[IO[bytes]]:
    with (tmp_path / "log").open("wb") as file:
        yield file


@asynccontextmanager
async def _quietly(_what: str) -> AsyncIterator[None]:
    yield


async def test_a_server_that_takes_its_children_with_it(log: IO[bytes]) -> None:
    command = [sys.executable, "-c", SERVER.format(on_stop="child.kill(); child.wait()")]
    async with running_server(log, _quietly, command) as address:
        child = int(address.split(":")[1])
        assert _is_running(child)

    assert not _is_running(child)


async def test_a_server_that_leaves_a_process_behind_is_a_failure(log: IO[bytes]) -> None:
    server = running_server(log, _quietly, [sys.executable, "-c", SERVER.format(on_stop="pass")])
    child = int((await server.__aenter__()).split(":")[1])
    with pytest.raises(ServerError, match=rf"left the processes \[{child}\] behind"):
        await server.__aexit__(None, None, None)

    assert await _left({child}) == []


async def test_a_server_that_does_not_come_up_shows_its_log(log: IO[bytes]) -> None:
    server = running_server(log, _quietly, [sys.executable, "-c", "import sys; sys.exit('models missing')"])
    with pytest.raises(ServerError, match="models missing"):
        await server.__aenter__()


async def test_the_spoken_conversation_is_kept_as_sound_and_as_a_picture(tmp_path: Path) -> None:
    turns = [
        Turn("How much?", speech_text="Eighteen euros.", audio_seconds=3.0),
        Turn("When was it built?", speech_text="In 1874.", audio_seconds=4.0),
        Turn("Okay.", audio_seconds=2.0),
        Turn("Which tram?", speech_text="Number five, of course.", interrupted_after_words=2, audio_seconds=2.0),
    ]
    with serving(*turns) as service:
        async with vivavoce.connect(service.address) as client:
            spoken = SpokenConversation(client, tmp_path)
            with choose_view(as_json=False, budget_seconds=None) as view:
                replies = await spoken.hold(view)
    assert len(replies) >= 3
    assert spoken.interrupted
    sides, rate = soundfile.read(spoken.sound)
    assert sides.shape == (len(sides), 2)
    assert len(sides) / rate > 8
    picture = ET.fromstring(spoken.picture.read_text(encoding="utf-8"))
    told = [text.text for text in picture.iter("{http://www.w3.org/2000/svg}text")]
    assert "How much?" in told
    assert any(text.endswith("ms: In 1874.") for text in told)
    assert "interrupted after 0.2 s" in told


def test_marks_that_lie_close_stand_on_lines_of_their_own() -> None:
    marks = [Mark(0.5, 0, "What is <this>?"), Mark(0.6, 0, "And that?"), Mark(0.7, 1, "Nothing.")]
    picture = draw(np.zeros((16_000, 2), np.int16), 16_000, marks)
    assert "What is &lt;this&gt;?" in picture
    heights = re.findall(r'y="(\d+)" fill="#2f6fb0">(?:What|And)', picture)
    assert len(set(heights)) == 2
