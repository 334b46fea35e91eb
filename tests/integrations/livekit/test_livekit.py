"""The speech-to-text stream of LiveKit's NVIDIA plugin."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests.integrations.environments import run_client
from tests.integrations.recordings import LIGHTS, VACUUM, words

SCRIPT = Path(__file__).parent / "streaming.py"


@pytest.fixture
def events(server_address: str, two_commands: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_client(SCRIPT, server_address, str(two_commands))["events"]
    return found


def test_the_stream_brings_transcripts_and_their_times(events: list[dict[str, Any]]) -> None:
    types = [event["type"] for event in events]
    final = [event for event in events if event["type"] == "final_transcript"]

    assert types[0] == "start_of_speech"
    assert "interim_transcript" in types[: types.index("final_transcript")]
    assert types[types.index("final_transcript") + 1] == "end_of_speech"
    [(first,), (second,)] = [event["alternatives"] for event in final]
    assert [words(first["text"]), words(second["text"])] == [LIGHTS, VACUUM]
    assert 0 <= first["start"] < first["end"] < second["start"] < second["end"] < 10
    # The plugin asks for neither alternatives nor hints, so that the recognizer does not tell how sure it is.
    assert first["confidence"] == 0
    assert [words(" ".join(event["words"])) for event in final] == [LIGHTS, VACUUM]


def test_the_plugin_speaks_and_is_heard(server_address: str, tmp_path: Path) -> None:
    wav = tmp_path / "speech.wav"
    texts = ("Turn off the lights in the bedroom please. ", "Start the vacuum cleaner in the living room.")
    found = run_client(SCRIPT.with_name("speaking.py"), server_address, str(wav), *texts)

    assert found == {"voices": {"en-US": {"voices": ["English-US.Heart"]}}, "rates": [16_000]}
    samples, rate = soundfile.read(wav, dtype="int16")
    soundfile.write(wav, np.concatenate([samples, np.zeros(rate, np.int16)]), rate, subtype="PCM_16")
    events = run_client(SCRIPT, server_address, str(wav))["events"]
    final = [event["alternatives"][0]["text"] for event in events if event["type"] == "final_transcript"]
    assert words(" ".join(final)) == [*LIGHTS, *VACUUM]


def test_openais_plugin_speaks_and_hears(http_url: str) -> None:
    text = "Turn off the lights in the bedroom please."
    found = run_client(SCRIPT.with_name("openai_plugin.py"), http_url, text)

    assert words(found["whole"]) == LIGHTS
    assert [words(text) for text in found["streamed"]] == [LIGHTS]
