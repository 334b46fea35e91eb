from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from modelkit.cards import name_data
from modelkit.evaluate import bounded_map, evaluate_qa
from modelkit.local import MAX_WINDOWS, LocalEngines
from modelkit.squad import Question

REPOSITORY = Path(__file__).parents[3] / "model_repository"
DOCUMENT = "The bridge was opened in 1932. It is 1149 metres long and made of steel."


@pytest.fixture(scope="module")
def engines() -> LocalEngines:
    return LocalEngines(REPOSITORY)


def test_as_many_windows_as_the_served_model():
    config = (REPOSITORY / "qa_tokenize" / "config.pbtxt").read_text()
    assert re.search(r'"max_windows".*"(\d+)"', config)[1] == str(MAX_WINDOWS)


async def test_the_engines_answer_and_abstain(engines):
    assert "1149 metres" in await engines.answer("How long is the bridge?", DOCUMENT)
    assert await engines.answer("Who painted the Mona Lisa?", DOCUMENT) == ""


async def test_forced_engines_never_abstain():
    forced = LocalEngines(REPOSITORY, forced=True)
    assert await forced.answer("Who painted the Mona Lisa?", DOCUMENT) != ""
    assert (await forced.understand("The bridge was opened long ago.")).intent != "none"


async def test_an_evaluation_counts_both_kinds_of_error():
    class Stubborn:
        async def answer(self, question: str, document: str) -> str:
            return "1932"

    questions = [Question("a", "When?", DOCUMENT, ((25, "1932"),)), Question("b", "Where?", "In Rome.", ((3, "Rome"),))]
    scores = await evaluate_qa(Stubborn(), questions, concurrency=2)
    assert (scores["f1"], scores["answered"], scores["wrong_paragraph_abstained"]) == (0.5, 1.0, 0.0)


async def test_no_more_at_a_time_than_allowed():
    running = highest = 0

    async def work(item: int) -> int:
        nonlocal running, highest
        running += 1
        highest = max(highest, running)
        await asyncio.sleep(0)
        running -= 1
        return item * 2

    assert await bounded_map(work, list(range(20)), 3) == [2 * n for n in range(20)]
    assert highest == 3


def test_data_is_named_with_its_licence():
    named = name_data([Path("a/home/train.jsonl"), Path("b/mine.json")])
    assert "CC BY 4.0" in named["home/train.jsonl"]
    assert named["b/mine.json"] == "own data"
