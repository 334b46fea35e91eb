"""OpenAI's agents SDK, with its realtime agent."""

from __future__ import annotations

from pathlib import Path

import soundfile
import soxr

from tests.integrations.environments import run_client
from tests.integrations.recordings import words, write_wav

SCRIPT = Path(__file__).parent / "conversing.py"


def test_an_agent_hears_a_question_and_answers_aloud(http_url: str, tmp_path: Path) -> None:
    samples, rate = soundfile.read(write_wav(tmp_path / "short.wav", "museum_boat"), dtype="int16")
    question = tmp_path / "question.wav"
    soundfile.write(question, soxr.resample(samples, rate, 24_000), 24_000, subtype="PCM_16")
    found = run_client(SCRIPT, http_url, str(question), "The cargo boat was built in 1892.")

    assert found["errors"] == []
    roles = dict(found["said"])
    assert words(roles["user"]) == ["when", "was", "the", "cargo", "boat", "built"]
    assert roles["assistant"] == "The cargo boat was built in 1892."
    assert found["audio_bytes"] > 24_000
    assert found["kinds"][-1] == "agent_end"
