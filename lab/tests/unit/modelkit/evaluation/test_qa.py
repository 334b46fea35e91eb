from __future__ import annotations

from lab.tests.unit.modelkit.evaluation.fakes import TextTable, silent
from modelkit.evaluation.qa import evaluate_qa
from modelkit.squad import Question

BRIDGE, ROME = "The bridge was opened in 1932.", "It is in Rome."
WHEN = Question("a", "When?", BRIDGE, ((25, "1932"), (22, "in 1932")))
WHERE = Question("b", "Where?", ROME, ((9, "Rome"),))
WHO = Question("c", "Who?", ROME, ())


async def judge(questions: list[Question], answers: dict[tuple[str, str], str]):
    return await evaluate_qa(TextTable(answers=answers), questions, concurrency=2, on_progress=silent)


async def test_answers_and_withheld_answers_are_scored():
    answers = {("When?", BRIDGE): "the 1932.", ("Where?", ROME): "in Rome", ("Where?", BRIDGE): "1932"}
    evaluation = await judge([WHEN, WHERE], answers)
    assert evaluation.scores == {
        "exact_match": 0.5, "f1": round((1 + 2 / 3) / 2, 4), "answered": 1.0, "abstained": 0.5,
        "answer_or_not_accuracy": 0.75,
    }  # fmt: skip
    assert evaluation.n == 2
    assert [(case.name, case.score) for case in evaluation.cases] == [
        ("a", 1.0), ("b", 0.6667), ("a where no answer is", 1.0), ("b where no answer is", 0.0),
    ]  # fmt: skip


async def test_questions_without_an_answer_count_as_such():
    evaluation = await judge([WHEN, WHO], {("When?", BRIDGE): "1932", ("Who?", ROME): "Rome"})
    assert evaluation.scores["f1"] == 0.5
    assert (evaluation.scores["answered"], evaluation.scores["abstained"]) == (1.0, 0.6667)


async def test_one_paragraph_alone_says_nothing_about_abstaining():
    scores = (await judge([WHERE], {})).scores
    assert (scores["answered"], scores["abstained"], scores["answer_or_not_accuracy"]) == (0.0, None, None)
