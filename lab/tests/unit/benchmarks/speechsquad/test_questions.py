from __future__ import annotations

import json

import numpy as np
import pytest
import soundfile

from benchmarks.sla.material import RATE_HZ
from benchmarks.speechsquad.questions import Ending, SpokenQuestion, choose, deal, record
from benchmarks.speechsquad.voices import SPEAKERS
from modelkit.squad import Question

SECONDS = 2.0


@pytest.fixture
def spoken(tmp_path):
    path = tmp_path / "speech.flac"
    soundfile.write(path, np.full(round(SECONDS * RATE_HZ), 0.25, np.float32), RATE_HZ)
    return [SpokenQuestion(Question(f"q{n}", f"Question {n}?", "A context.", ((0, "A"),)), path) for n in range(12)]


def spans(plan):
    return [(t.script.arrival_seconds, t.script.arrival_seconds + t.script.samples / RATE_HZ) for t in plan.turns]


def test_every_question_is_asked_once_and_each_stream_asks_one_at_a_time(spoken):
    plans = deal(spoken, 3, Ending.PUSH_TO_TALK, 1000, seed=1)
    assert sorted(turn.question.id for plan in plans for turn in plan.turns) == sorted(
        one.question.id for one in spoken
    )
    assert all(plan.turns for plan in plans)
    for plan in plans:
        gaps = [begin - end for (_, end), (begin, _) in zip(spans(plan), spans(plan)[1:], strict=False)]
        assert min(gaps) > 0


def test_no_question_is_begun_when_the_time_is_over(spoken):
    plans = deal(spoken, 2, Ending.PUSH_TO_TALK, 6, seed=1)
    begins = [begin for plan in plans for begin, _ in spans(plan)]
    assert 0 < len(begins) < len(spoken)
    assert max(begins) <= 6
    asked = [turn.question.id for plan in plans for turn in plan.turns]
    assert set(asked) == {f"q{n}" for n in range(len(asked))}


def test_the_same_seed_makes_the_same_plans(spoken):
    first, again, other = (deal(spoken, 2, Ending.ENDPOINTING, 60, seed) for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("ending", Ending)
def test_a_question_is_heard_to_its_last_sound_and_a_little_longer(spoken, ending):
    (plan,) = deal(spoken[:1], 1, ending, 60, seed=1)
    turn = plan.turns[0]
    assert turn.last_sound_seconds == pytest.approx(turn.script.lines[0].first_sample / RATE_HZ + SECONDS, abs=1e-4)
    assert turn.script.samples / RATE_HZ - turn.last_sound_seconds == pytest.approx(ending.trail_seconds, abs=1e-4)


def test_questions_without_an_answer_are_not_drawn(tmp_path):
    def entry(number: int) -> dict:
        answers = [{"text": "one", "answer_start": 0}] if number % 2 else []
        return {"id": str(number), "question": f"Question {number}?", "answers": answers}

    paragraph = {"context": "one two", "qas": [entry(number) for number in range(20)]}
    path = tmp_path / "squad.json"
    path.write_text(json.dumps({"data": [{"title": "t", "paragraphs": [paragraph]}]}))
    drawn, again = choose(path, 5, seed=1), choose(path, 5, seed=1)
    assert drawn == again
    assert len({question.id for question in drawn}) == 5
    assert all(question.answers for question in drawn)
    assert len(choose(path, 100, seed=1)) == 10


def test_who_says_what_is_drawn_from_the_seed(spoken, tmp_path):
    class Notes:
        def __init__(self) -> None:
            self.asked = []

        def find(self, text, speaker):
            self.asked.append((text, speaker))
            return tmp_path / "any.flac"

    questions = [one.question for one in spoken]
    notes, again = Notes(), Notes()
    told: list[str] = []
    said = record(questions, notes, 3, told.append)
    record(questions, again, 3, told.append)
    assert [one.question for one in said] == questions
    assert notes.asked == again.asked
    assert len({speaker for _, speaker in notes.asked}) > 1
    assert {speaker for _, speaker in notes.asked} <= set(SPEAKERS)
    assert told[11] == "speaking question 12 of 12"
