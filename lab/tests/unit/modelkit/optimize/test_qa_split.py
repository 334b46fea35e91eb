"""What an engine was trained on does not calibrate it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from modelkit.cards import name_data
from modelkit.eager import EagerSession
from modelkit.optimize import qa_task
from modelkit.optimize.qa_split import split_as_trained
from modelkit.training.qa_data import QaData, gather

if TYPE_CHECKING:
    from pathlib import Path

VALIDATION = 0.3


def write_articles(path: Path, name: str, articles: int = 10) -> Path:
    data = []
    for number in range(articles):
        context = f"the {name} number {number} was built in 1932"
        answers = [{"answer_start": context.index("1932"), "text": "1932"}]
        asked = [{"id": f"{name}{number}{n}", "question": f"when {n}", "answers": answers} for n in range(3)]
        data.append({"title": f"{name} {number}", "paragraphs": [{"context": context, "qas": asked}]})
    path.write_text(json.dumps({"data": data}))
    return path


@pytest.fixture
def files(tmp_path) -> list[Path]:
    return [write_articles(tmp_path / "z.json", "bridge"), write_articles(tmp_path / "a.json", "man")]


@pytest.fixture
def trained(engine, files) -> QaData:
    """What the engine says to have been trained on."""
    given = {"data": name_data(files), "validation": VALIDATION}
    (engine / "training" / "run.json").write_text(json.dumps(given))
    return gather(files, test=None, validation=VALIDATION)


def test_the_split_of_training_is_found_whatever_the_files_are_called_now(engine, files, trained, tmp_path):
    moved = files[0].rename(tmp_path / "0.json")
    assert split_as_trained(engine, [files[1], moved]) == trained


def test_other_files_or_an_engine_without_a_record_tell_nothing(engine, files, trained, tmp_path):
    assert split_as_trained(engine, files[:1]) is None
    assert split_as_trained(engine, [*files, write_articles(tmp_path / "b.json", "steel")]) is None
    (engine / "training" / "run.json").unlink()
    assert split_as_trained(engine, files) is None


def test_an_engine_is_calibrated_on_what_its_training_held_out(engine, files, trained, monkeypatch):
    calibrated: list[str] = []
    calibrate = qa_task.calibrate

    def listen(session, tokenizer, questions, seed):
        calibrated.extend(question.id for question in questions)
        return calibrate(session, tokenizer, questions, seed)

    monkeypatch.setattr(qa_task, "calibrate", listen)
    task = qa_task.QaTask(engine, files, files[0], limit=20)
    task.judge(EagerSession(task.network, task.inputs, task.outputs))
    assert 10 < len(calibrated) <= 20
    assert set(calibrated) <= {question.id for question in trained.validation}
