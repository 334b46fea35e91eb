from __future__ import annotations

import json

import pytest

from modelkit import triton_models
from vivavoce.cli import EXIT_FAILED, EXIT_USAGE, run


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "data.jsonl is empty"),
        (b'{"text": "caf\xe9"}', "data.jsonl, line 1: not UTF-8"),
        (b'{"text": "hi", "intent": "greet"}', "data.jsonl, line 1: 'slots' is missing"),
        (b'{"text": "hi", "intent": "greet", "slots": []}', "all utterances have the intent greet"),
    ],
)
def test_wrong_data_ends_with_a_sentence_and_nothing_written(tmp_path, capsys, content, message):
    (tmp_path / "data.jsonl").write_bytes(content)
    assert run(["train", "nlu", str(tmp_path / "data.jsonl"), "--out", str(tmp_path / "out")]) == EXIT_FAILED
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.err.count("\n") == 1
    assert captured.out == ""
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--set", "pace=1"), "the recipe has no pace"),
        (("--base", "nowhere"), "nowhere lacks config.json and tokenizer.json"),
        (("--export-only",), "holds no network.pt: train first"),
    ],
)
def test_what_cannot_be_trained_with_is_named(tmp_path, capsys, more, message):
    rows = [{"text": f"say {n}", "intent": f"i{n % 2}", "slots": []} for n in range(8)]
    (tmp_path / "data.jsonl").write_text("\n".join(map(json.dumps, rows)))
    command = ["train", "nlu", str(tmp_path / "data.jsonl"), "--out", str(tmp_path / "out"), "--device", "cpu"]
    assert run([*command, *more]) == EXIT_FAILED
    assert message in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_questions_are_checked_too(tmp_path, capsys):
    (tmp_path / "squad.json").write_text('{"data": [{"paragraphs": []}]}')
    assert run(["train", "qa", str(tmp_path / "squad.json"), "--out", str(tmp_path / "out")]) == EXIT_FAILED
    assert "squad.json holds no question" in capsys.readouterr().err


def test_texts_are_checked_too(tmp_path, capsys):
    (tmp_path / "texts.txt").write_text("no capitals and no full stops\n")
    assert run(["train", "punctuation", str(tmp_path / "texts.txt"), "--out", str(tmp_path / "out")]) == EXIT_FAILED
    assert "texts.txt holds no text with capitals and full stops" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


def test_data_and_a_folder_to_write_are_needed(capsys):
    assert run(["train", "nlu", "--out", "x"]) == EXIT_USAGE
    assert run(["train", "qa", "x.json"]) == EXIT_USAGE
    assert run(["serve", "--engine", "x", "--triton", "localhost:1"]) == EXIT_USAGE
    assert "leave out --engine or --triton" in capsys.readouterr().err


def test_punctuation_has_no_teachers(tmp_path, capsys):
    assert run(["train", "punctuation", str(tmp_path), "--out", "out", "--teachers", str(tmp_path)]) == EXIT_USAGE
    assert "--teachers" in capsys.readouterr().err


def test_without_the_shipped_models_nothing_is_begun(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(triton_models, "MODEL_REPOSITORY", tmp_path / "model_repository")
    (tmp_path / "data.jsonl").write_text('{"text": "hi", "intent": "greet", "slots": []}\n')
    assert run(["train", "nlu", str(tmp_path / "data.jsonl"), "--out", str(tmp_path / "out")]) == EXIT_FAILED
    assert "run this in the checkout" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
