"""What is held out: whole articles, a part of every intent, and the same for all runs on the same data."""

from __future__ import annotations

from lab.tests.unit.modelkit.training.small_data import write_jsonl
from modelkit.nlu import Utterance
from modelkit.squad import Question
from modelkit.training.nlu_data import NluFiles, gather
from modelkit.training.splits import small_validation_warning, split_articles, split_utterances


def test_whole_articles_are_held_out_and_long_ones_by_paragraph():
    short = [Question(f"s{n}", "?", f"text {n}", (), f"title {n // 4}") for n in range(160)]
    training, validating = split_articles(short, 0.2)
    assert 30 < len(validating) < 40
    assert not {q.article for q in training} & {q.article for q in validating}
    one = [Question(f"o{n}", "?", f"text {n // 2}", (), "all") for n in range(40)]
    training, validating = split_articles(one, 0.2)
    assert len(validating) == 8
    assert not {q.context for q in training} & {q.context for q in validating}


def test_a_small_validation_set_is_warned_of():
    warning = small_validation_warning(3, "utterances")
    assert "only 3 utterances were held out for validation, and with fewer than 100" in warning
    assert "right in 37% of all cases" in warning
    assert small_validation_warning(99, "questions")
    assert small_validation_warning(100, "questions") == ""


def test_every_intent_stays_in_training():
    utterances = [Utterance(f"{n}", "often", ()) for n in range(20)] + [Utterance("x", "once", ())]
    training, validating = split_utterances(utterances, 0.5)
    assert len(validating) == 10
    assert "once" in {u.intent for u in training}


def test_a_pupil_is_judged_on_what_its_teachers_were_not_trained_on(tmp_path):
    path = write_jsonl(tmp_path / "data.jsonl", *((f"play {n}", "ab"[n % 2]) for n in range(40)))
    talk = tmp_path / "talk.txt"
    talk.write_text("hello\nbye\n")

    def held_out(seed: int, *outliers: str) -> tuple[Utterance, ...]:
        return gather([path], NluFiles(outliers=outliers), validation=0.3, seed=seed).validation

    teacher, pupil = held_out(1), held_out(2, str(talk))
    assert len(teacher) == 12
    assert teacher == pupil
