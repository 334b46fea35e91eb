"""`vivavoce eval` against a service without models: what it sends, prints and refuses."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest

from lab.tests.unit.modelkit.evaluation.fakes import write_commands, write_tone
from tests.unit.clients.fake_service import make_answer, make_reply
from vivavoce.cli import run
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from pathlib import Path

    from tests.unit.clients.fake_service import FakeService

Capture = pytest.CaptureFixture[str]

ANSWER = make_answer().text
CONTEXT = f"The museum opens {ANSWER}."


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """A file for each task; the service always hears "turn on the light", which is what two of three items say."""
    for name in ("a", "b", "c"):
        write_tone(tmp_path / f"{name}.wav")
    spoken = {"a": "Turn on the light!", "b": "turn on the light", "c": "Turn off the light."}
    lines = [json.dumps({"audio_filepath": f"{name}.wav", "text": text}) for name, text in spoken.items()]
    (tmp_path / "asr.jsonl").write_text("\n".join(lines))
    slots = [{"start": 12, "end": 17, "name": "device_type"}]
    texts = [("turn on the light", "iot_hue_lighton", slots), ("lights off at ten", "iot_hue_lightoff", [])]
    lines = [json.dumps({"text": text, "intent": intent, "slots": found}) for text, intent, found in texts]
    (tmp_path / "nlu.jsonl").write_text("\n".join(lines))
    asked = {"id": "q", "question": "When?", "answers": [{"answer_start": 17, "text": ANSWER}]}
    paragraphs = [{"context": CONTEXT, "qas": [asked]}, {"context": "Nothing.", "qas": [asked | {"answers": []}]}]
    (tmp_path / "qa.json").write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    (tmp_path / "outside.json").write_text(json.dumps({"data": [{"paragraphs": paragraphs}]}))
    label = {"intent": "iot_hue_lighton", "slots": {}}
    write_commands(tmp_path / "commands", dict.fromkeys(["a.wav", "b.wav"], label), {"a.wav": 0.2, "b.wav": 0.3})
    write_tone(tmp_path / "noise.wav", 1.0)
    return tmp_path


def judged(arguments: list[str], service: FakeService, capsys: Capture) -> dict[str, object]:
    assert run(["eval", *arguments, "--server", service.address, "--json"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    result = json.loads(out)
    assert list(result) == ["task", "n", "scores", "seconds"]
    assert result["task"] == arguments[0]
    return result


def refused(arguments: list[str], code: int, pattern: str, capsys: Capture) -> None:
    assert run(["eval", *arguments]) == code
    captured = capsys.readouterr()
    assert captured.out == ""
    sentence = captured.err.splitlines()[-1]
    assert re.search(pattern, sentence), sentence


def test_asr(service: FakeService, data: Path, capsys: Capture) -> None:
    arguments = ["asr", str(data / "asr.jsonl"), "--errors", str(data / "errors.jsonl")]
    result = judged(arguments, service, capsys)
    assert result["n"] == 3
    assert result["scores"]["wer"] == round(1 / 12, 4)
    [error] = map(json.loads, (data / "errors.jsonl").read_text().splitlines())
    assert error == {"name": "c.wav", "reference": "Turn off the light.", "got": "turn on the light", "score": 0.75}
    assert service.config().endpointing.disabled


def test_asr_can_be_endpointed_normalized_otherwise_and_limited(
    service: FakeService, data: Path, capsys: Capture
) -> None:
    arguments = ["asr", str(data / "asr.jsonl"), "--endpointed", "--normalizer", "none", "--limit", "2"]
    result = judged(arguments, service, capsys)
    assert result["n"] == 2
    assert result["scores"]["wer"] == round(2 / 8, 4)
    assert not service.config().HasField("endpointing")


def test_recordings_can_be_made_quieter_and_crooked(service: FakeService, data: Path, capsys: Capture) -> None:
    arguments = ["asr", str(data / "asr.jsonl"), "--gain", "-20", "--dc", "0.1", "--limit", "1"]
    assert judged(arguments, service, capsys)["n"] == 1
    heard = np.frombuffer(b"".join(request.audio for request in service.received if request.audio), "<i2") / 32_768
    assert heard.mean() == pytest.approx(0.1, abs=2e-3)
    assert np.ptp(heard) == pytest.approx(0.05, rel=0.05)


def test_partials_of_beginnings_too(service: FakeService, data: Path, capsys: Capture) -> None:
    arguments = ["partials", str(data / "asr.jsonl"), "--prefixes", "0.1"]
    result = judged(arguments, service, capsys)
    assert result["n"] == 3
    assert result["scores"]["finals"] == 3 + 3
    assert result["scores"]["repeated_finals"] == 0


def test_nlu(service: FakeService, data: Path, capsys: Capture) -> None:
    result = judged(["nlu", str(data / "nlu.jsonl"), "--outside", str(data / "outside.json")], service, capsys)
    assert result["n"] == 2
    scores = result["scores"]
    assert (scores["intent_accuracy"], scores["slot_precision"], scores["slot_recall"]) == (0.5, 0.5, 1.0)
    assert scores["outside_rejected"] == 0.0


def test_qa(service: FakeService, data: Path, capsys: Capture) -> None:
    service.answer = lambda request, _: (
        make_reply(answer=make_answer()) if request.documents[0].text == CONTEXT else make_reply()
    )
    scores = judged(["qa", str(data / "qa.json")], service, capsys)["scores"]
    assert (scores["exact_match"], scores["answered"], scores["abstained"]) == (1.0, 1.0, 0.6667)


def test_commands_with_hints_and_noise(service: FakeService, data: Path, capsys: Capture) -> None:
    arguments = ["--noise", str(data / "noise.wav"), "--snr", "6,12", "--boost", "20", "--sentence-boost", "3"]
    result = judged(["commands", str(data / "commands"), *arguments], service, capsys)
    assert result["n"] == 2
    assert result["scores"]["acceptance"] == result["scores"]["acceptance_noisy"] == 1.0
    assert service.conversations == 6
    assert [(hints.boost, len(hints.phrases)) for hints in service.config().phrase_hints] == [(20, 4), (3, 2)]


def test_hints_have_boosts_that_suit_them(service: FakeService, data: Path, capsys: Capture) -> None:
    judged(["asr", str(data / "asr.jsonl"), "--hints", str(data / "commands")], service, capsys)
    values, sentences = service.config().phrase_hints
    assert values.boost > sentences.boost > 0
    assert "latte" in values.phrases
    assert "a small latte please" in sentences.phrases


def test_commands_without_hints(service: FakeService, data: Path, capsys: Capture) -> None:
    judged(["commands", str(data / "commands"), "--no-hints"], service, capsys)
    assert not service.config().phrase_hints


def test_people_get_tables(service: FakeService, data: Path, capsys: Capture) -> None:
    assert run(["eval", "asr", str(data / "asr.jsonl"), "--server", service.address]) == 0
    captured = capsys.readouterr()
    assert re.search(r"asr: 3 judged in .* s", captured.out)
    assert re.search(r"wer\W+8\.3%", captured.out)
    assert "3/3" in captured.err


def test_a_stage_that_fails_fails_the_evaluation(service: FakeService, data: Path, capsys: Capture) -> None:
    service.answer = lambda *_: make_reply(status=reply_pb2.REPLY_STATUS_DEGRADED)
    refused(["nlu", str(data / "nlu.jsonl"), "--server", service.address], 1, "a stage of the service failed", capsys)
    service.script = lambda requests, _: (
        pb.ConverseResponse(reply=make_reply(status=reply_pb2.REPLY_STATUS_DEGRADED)) for _ in requests
    )
    refused(["asr", str(data / "asr.jsonl"), "--server", service.address], 1, "a stage of the service failed", capsys)


def test_a_stage_that_takes_too_long_fails_the_evaluation(service: FakeService, data: Path, capsys: Capture) -> None:
    late = make_reply(status=reply_pb2.REPLY_STATUS_PARTIAL, overran=[reply_pb2.STAGE_NLU])
    service.answer = lambda *_: late
    refused(["nlu", str(data / "nlu.jsonl"), "--server", service.address], 1, "NLU took more than 60 s", capsys)


def test_nobody_at_the_address(data: Path, free_address: str, capsys: Capture) -> None:
    refused(["asr", str(data / "asr.jsonl"), "--server", free_address], 1, "No server answers at", capsys)


@pytest.mark.parametrize("task", ["asr", "nlu", "qa"])
def test_empty_data_is_named(data: Path, task: str, capsys: Capture) -> None:
    (data / "empty.json").write_text("")
    refused([task, str(data / "empty.json")], 1, r"empty\.json is empty", capsys)


def test_audio_that_cannot_be_read_is_named(data: Path, capsys: Capture) -> None:
    (data / "b.wav").write_text("no audio")
    refused(["asr", str(data / "asr.jsonl")], 1, r"b\.wav cannot be read as audio", capsys)


def test_a_folder_that_is_no_engine_is_named(data: Path, capsys: Capture) -> None:
    refused(["qa", str(data / "qa.json"), "--engine", str(data)], 1, "is no engine directory", capsys)


@pytest.mark.parametrize(
    ("arguments", "pattern"),
    [
        (["nlu", "nlu.jsonl", "--local", "--server", "localhost:1"], "not both"),
        (["qa", "qa.json", "--engine", "commands", "--server", "localhost:1"], "not both"),
        (["qa", "qa.json", "--forced"], "--local"),
        (["asr", "asr.jsonl", "--local"], "No such option"),
        (["commands", "commands", "--snr", "6"], "--noise"),
        (["commands", "commands", "--noise", "noise.wav", "--snr", "6;9"], "--snr takes numbers"),
        (["asr", "missing.jsonl"], "does not exist"),
        (["asr", "asr.jsonl", "--limit", "0"], "--limit"),
    ],
)
def test_wrong_usage(
    data: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], pattern: str, capsys: Capture
) -> None:
    monkeypatch.chdir(data)
    refused(arguments, 2, pattern, capsys)
