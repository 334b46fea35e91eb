"""`vivavoce eval` through the real service, on recordings and texts that come with the project."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

from demo.manifest import FOLDER, utterances
from vivavoce.cli import run

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

Capture = pytest.CaptureFixture[str]

LIGHTS = "turn off the lights in the bedroom"
QUESTIONS = {
    "The Eiffel Tower is a tower on the Champ de Mars in Paris. It is 330 metres tall.": (
        "How tall is it?",
        "330 metres",
    ),
    "The bridge was opened in 1932. It is made of steel.": ("When was the bridge opened?", "1932"),
    "Bees dance to tell each other where flowers are.": ("Why do bees dance?", "to tell each other where flowers are"),
}


def judged(task: str, data: Path, address: str, capsys: Capture, *options: str) -> Mapping[str, float]:
    """Judges the service; the command runs in this process, on an event loop of its own."""
    assert run(["eval", task, str(data), "--server", address, "--json", *options]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["task"] == task
    return result["scores"]


def test_asr_on_the_packaged_recordings(server_address: str, tmp_path: Path, capsys: Capture):
    errors = tmp_path / "errors.jsonl"
    scores = judged("asr", FOLDER / "manifest.json", server_address, capsys, "--errors", str(errors))
    assert scores["words"] > 150
    assert scores["wer"] <= 0.05
    wrong = [json.loads(line) for line in errors.read_text().splitlines()]
    assert len(wrong) <= 4


def test_nlu_through_the_service_and_in_this_process(server_address: str, tmp_path: Path, capsys: Capture):
    slots = [{"start": 27, "end": 34, "name": "house_place"}]
    lines = [
        {"text": LIGHTS, "intent": "iot_hue_lightoff", "slots": slots},
        {"text": "what will the weather be like", "intent": "weather_query", "slots": []},
        {"text": "play some jazz", "intent": "weather_query", "slots": []},
    ]
    data = tmp_path / "nlu.jsonl"
    data.write_text("\n".join(map(json.dumps, lines)))
    scores = judged("nlu", data, server_address, capsys)
    assert scores["intent_accuracy"] == 0.6667
    assert scores["slot_recall"] == 1.0
    assert run(["eval", "nlu", str(data), "--local", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["scores"] == scores


def test_qa(server_address: str, tmp_path: Path, capsys: Capture):
    paragraphs = [
        {
            "context": context,
            "qas": [{"id": answer, "question": question,
                     "answers": [{"answer_start": context.index(answer), "text": answer}]}],
        }
        for context, (question, answer) in QUESTIONS.items()
    ]  # fmt: skip
    data = tmp_path / "qa.json"
    data.write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    scores = judged("qa", data, server_address, capsys)
    assert scores["f1"] >= 0.6
    assert scores["abstained"] == 1.0


@pytest.mark.parametrize("mode", ["--one-utterance", "--endpointed"])
def test_commands_clean_and_in_noise(server_address: str, tmp_path: Path, capsys: Capture, mode: str):
    by_name = {utterance.path.name: utterance for utterance in utterances()}
    folder = tmp_path / "home"
    (folder / "audio").mkdir(parents=True)
    labels = {"lights.flac": {"house_place": "bedroom"}, "music.flac": {}, "weather.flac": {}}
    for name in labels:
        shutil.copy(by_name[name].path, folder / "audio")
    (folder / "labels.json").write_text(
        json.dumps({name: {"intent": by_name[name].intent, "slots": slots} for name, slots in labels.items()})
    )
    (folder / "slot_values.json").write_text(json.dumps({"house_place": ["bedroom", "kitchen"]}))
    (folder / "sentences.txt").write_text(f"{LIGHTS}\n")
    # The hiss of a fan. What somebody else says in the background would be turns of its own.
    hiss = np.random.default_rng(1).normal(0, 0.1, 5 * 16_000)
    soundfile.write(tmp_path / "hiss.wav", hiss, 16_000)
    noise = ["--noise", str(tmp_path / "hiss.wav"), "--snr", "20"]
    scores = judged("commands", folder, server_address, capsys, mode, *noise)
    assert scores["acceptance"] == 1.0
    assert scores["conditions"]["clean"]["heard"] == 1.0
    assert scores["acceptance_noisy"] >= 0.6667
