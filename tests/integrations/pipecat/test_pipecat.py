"""Pipecat's NVIDIA speech services, streaming and segmented, each in a Pipecat pipeline."""

from __future__ import annotations

from pathlib import Path

from tests.integrations.environments import run_client
from tests.integrations.recordings import LIGHTS, words

HERE = Path(__file__).parent


def test_a_pipeline_hears_a_command_while_it_is_spoken(server_address: str, command: Path) -> None:
    heard = run_client(HERE / "streaming.py", server_address, str(command))

    assert heard["errors"] == []
    assert [words(text) for text in heard["final"]] == [LIGHTS]
    assert any(words(text)[:2] == LIGHTS[:2] for text in heard["interim"])


def test_a_pipeline_hears_a_segment(server_address: str, command: Path) -> None:
    heard = run_client(HERE / "segmented.py", server_address, str(command))

    assert heard == {"final": heard["final"], "errors": []}
    assert [words(text) for text in heard["final"]] == [LIGHTS]


def test_a_pipeline_is_told_that_nobody_answers(command: Path) -> None:
    heard = run_client(HERE / "segmented.py", "127.0.0.1:1", str(command))

    assert heard["final"] == []
    assert heard["errors"]


def test_a_pipeline_speaks_and_hears_itself(server_address: str) -> None:
    found = run_client(HERE / "speaking.py", server_address, "Turn off the lights in the bedroom please.")

    assert found["errors"] == []
    assert 1.5 < found["seconds"] < 5
    assert [words(text) for text in found["final"]] == [LIGHTS]


def test_openais_services_speak_and_hear(http_url: str) -> None:
    found = run_client(HERE / "openai_services.py", http_url, "Turn off the lights in the bedroom please.")

    assert found["errors"] == []
    assert 1.5 < found["seconds"] < 5
    for way in ("batch", "committed", "detected"):
        assert [words(text) for text in found[way]] == [LIGHTS], way
