"""LiteLLM's provider `nvidia_riva`: OpenAI's transcription call, answered by the service."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from tests.integrations.environments import run_client
from tests.integrations.recordings import LIGHTS, VACUUM, words, write_wav

SCRIPT = Path(__file__).parent / "transcribe.py"


@pytest.fixture(scope="module")
def outcomes(server_address: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What came of each way to ask for a transcription of two commands. One process, as the import takes seconds."""
    recording = write_wav(tmp_path_factory.mktemp("litellm") / "commands.wav", "lights", "vacuum")
    return run_client(SCRIPT, server_address, str(recording))


def test_a_file_is_transcribed(outcomes: dict[str, Any]) -> None:
    # The provider joins final transcripts as they are: each must end with a space.
    assert words(outcomes["plain"]["text"]) == LIGHTS + VACUUM


def test_words_have_times(outcomes: dict[str, Any]) -> None:
    found = outcomes["timed"]

    assert words(found["text"]) == LIGHTS + VACUUM
    assert [words(word["word"])[0] for word in found["words"]] == LIGHTS + VACUUM
    assert all(0 <= word["start"] < word["end"] <= found["duration"] for word in found["words"])
    assert all(before["start"] <= after["start"] for before, after in pairwise(found["words"]))


def test_the_server_s_voice_activity_detection_can_be_tuned(outcomes: dict[str, Any]) -> None:
    assert words(outcomes["endpointed"]["text"]) == LIGHTS + VACUUM


def test_a_language_that_is_not_served_is_a_bad_request(outcomes: dict[str, Any]) -> None:
    assert outcomes["german"]["status"] == 400
    assert "language" in outcomes["german"]["message"]


def test_a_service_that_is_not_there_is_unavailable(outcomes: dict[str, Any]) -> None:
    assert outcomes["unreachable"]["status"] == 503


def test_the_provider_openai_transcribes_and_speaks(http_url: str, command: Path, tmp_path: Path) -> None:
    speech = tmp_path / "speech.mp3"
    found = run_client(SCRIPT.with_name("openai_provider.py"), http_url, str(command), str(speech))

    assert words(found["plain"]) == LIGHTS
    assert [words(word["word"])[0] for word in found["words"]] == LIGHTS
    assert "language 'de' is not served" in found["refusal"]
    assert speech.stat().st_size > 5_000
