from __future__ import annotations

import json

import numpy as np
import pytest
import soundfile
from click.testing import CliRunner

from benchmarks.sla.load import LoadResult
from benchmarks.speechsquad import __main__ as command
from benchmarks.speechsquad.asking import Asked
from benchmarks.speechsquad.voices import SynthesizerMissingError


@pytest.fixture
def squad(tmp_path):
    entries = [
        {"id": str(number), "question": f"Question {number}?", "answers": [{"text": "one", "answer_start": 0}]}
        for number in range(20)
    ]
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [{"context": "one two", "qas": entries}]}]}))
    return path


@pytest.fixture
def loads(tmp_path, monkeypatch):
    """A service whose replies take 100 ms for every question that is asked at a time."""
    speech = tmp_path / "speech.flac"
    soundfile.write(speech, np.full(16_000, 0.25, np.float32), 16_000)
    seen: list[tuple[str, int]] = []

    def run_callers(_, plans, __):
        seen.append((plans[0].ending.value, len(plans)))
        latency = 0.1 * len(plans)
        return LoadResult(
            [
                [Asked(turn.question, answer=latency, reply=latency, replies=1, text="one") for turn in plan.turns]
                for plan in plans
            ],
            1.0,
            0.1,
        )

    async def ask_typed(_, questions):
        return {question.id: "one" for question in questions}

    class FakeRecordings:
        def __init__(self, _) -> None:
            pass

        def find(self, *_):
            return speech

    monkeypatch.setattr(command, "run_callers", run_callers)
    monkeypatch.setattr(command, "ask_typed", ask_typed)
    monkeypatch.setattr(command, "Recordings", FakeRecordings)
    monkeypatch.setattr(command, "recipe", lambda: {"synthesizer": "1"})
    return seen


def run(*arguments: object):
    return CliRunner().invoke(command.main, ["--server", "nowhere:1", *map(str, arguments)])


def test_each_ending_goes_on_until_the_budget_breaks(loads, squad, tmp_path):
    found = run("--data", squad, "--streams", "1,2,4,8", "--json", tmp_path / "found.json")
    assert found.exit_code == 0, found.output
    assert loads == [(ending, streams) for ending in ("push-to-talk", "endpointing") for streams in (1, 2, 4)]
    assert len(found.stdout.splitlines()) == 2 + len(loads)
    written = json.loads((tmp_path / "found.json").read_text())
    assert [(load["ending"], load["streams"]) for load in written["loads"]] == loads
    assert all(load["questions"] == 20 and load["f1"] == load["typed_f1"] == 1.0 for load in written["loads"])
    assert {"command", "date", "commit", "machine", "voice", "data", "budget_ms"} < set(written)


def test_only_the_ending_and_the_questions_that_are_wanted(loads, squad):
    found = run("--data", squad, "--streams", "2", "--ending", "endpointing", "--questions", 3)
    assert loads == [("endpointing", 2)]
    assert "| endpointing | 2 | 3 |" in found.stdout


@pytest.mark.parametrize("streams", ["0", "", "two", "1,-2"])
def test_streams_that_are_no_numbers_are_wrong_usage(streams, squad):
    found = run("--data", squad, "--streams", streams)
    assert found.exit_code == 2
    assert "write 1,2,4" in found.output


@pytest.mark.usefixtures("loads")
def test_a_file_that_is_no_squad_file_is_told(tmp_path):
    path = tmp_path / "other.json"
    path.write_text("{}")
    found = run("--data", path)
    assert found.exit_code == 1
    assert "is no SQuAD file" in found.output


def test_a_missing_synthesizer_is_told(squad, monkeypatch):
    def missing(_):
        raise SynthesizerMissingError("install it")

    monkeypatch.setattr(command, "Recordings", missing)
    found = run("--data", squad)
    assert found.exit_code == 1
    assert "install it" in found.output
