from __future__ import annotations

from engines.bert.intent_decoding import Understanding
from engines.bert.slots import Slot
from lab.tests.unit.modelkit.evaluation.fakes import TextTable, silent
from modelkit.evaluation.nlu import evaluate_nlu, worst_intents
from modelkit.nlu import Utterance

TEXT = "wake me at six"
TIME = Slot("time", 11, 14)


def understood(intent: str, *slots: Slot) -> Understanding:
    return Understanding(intent, 0.9, slots)


async def test_scores_of_a_set():
    utterances = [
        Utterance(TEXT, "alarm", (TIME,)),
        Utterance("b", "alarm", ()),
        Utterance("c", "play", ()),
        Utterance("d", "play", (Slot("x", 0, 1),)),
    ]
    table = {
        TEXT: understood("alarm", TIME),
        "b": understood("alarm", Slot("time", 0, 1)),
        "d": understood("stop", Slot("x", 0, 1)),
        "far away": understood("alarm"),
    }
    engines = TextTable(table)
    evaluation = await evaluate_nlu(engines, utterances, ["far away", "farther"], concurrency=3, on_progress=silent)
    scores = dict(evaluation.scores)
    assert scores.pop("worst_intents") == [{"intent": "play", "utterances": 2, "accuracy": 0.0, "taken_for": "none"}]
    assert scores == {
        "intent_accuracy": 0.5, "rejected": 0.25, "slot_precision": 0.6667, "slot_recall": 1.0, "slot_f1": 0.8,
        "all_right": 0.25, "outside_rejected": 0.5,
    }  # fmt: skip
    assert (evaluation.task, evaluation.n) == ("nlu", 4)
    assert [case.score for case in evaluation.cases] == [1.0, 0.5, 0.5, 0.5]
    assert evaluation.cases[0].reference == {
        "text": TEXT, "intent": "alarm", "slots": [{"name": "time", "text": "six"}],
    }  # fmt: skip


def test_the_worst_intents_come_by_the_number_of_their_errors():
    utterances = [Utterance(str(n), intent, ()) for n, intent in enumerate("aabbbbcc")]
    got = [understood(intent) for intent in "abbxyxcc"]
    listed = worst_intents(utterances, got)
    assert [(row["intent"], row["accuracy"], row["taken_for"]) for row in listed] == [("b", 0.25, "x"), ("a", 0.5, "b")]
