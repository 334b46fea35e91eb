from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from tests.integration.bert_models import find

if TYPE_CHECKING:
    from collections.abc import Iterator

TOWER = (
    "The Eiffel Tower is a wrought-iron lattice tower on the Champ de Mars in Paris, France. It is named after "
    "the engineer Gustave Eiffel, whose company designed and built the tower from 1887 to 1889. "
    "The tower is 330 metres tall."
)
ANSWERED = [("Who is the tower named after?", "Gustave Eiffel"), ("How tall is it?", "330 metres"),
            ("When was the tower built?", "1887 to 1889")]  # fmt: skip
UNANSWERED = ["What is the capital of Peru?", "Who is the king of Spain?", "How much does a loaf of bread cost?"]


@pytest.fixture(scope="module")
def client(triton_address: str) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(triton_address) as connected:
        yield connected


def filler(sentences: int) -> str:
    return " ".join(f"Report {n} speaks of the harvest of {1000 + n}, which was good." for n in range(sentences))


@pytest.mark.parametrize(("question", "answer"), ANSWERED)
def test_the_answer_stands_in_the_document(client, question, answer):
    found = find(client, question, TOWER)
    assert found.text is not None
    assert answer in found.text
    assert len(found.text) < 30
    assert 0.3 < found.score <= 1
    assert found.compute_ms > 0


@pytest.mark.parametrize("question", UNANSWERED)
def test_what_the_document_does_not_say_is_not_answered(client, question):
    found = find(client, question, TOWER)
    assert found.span == (-1, -1)
    assert 0 <= found.score < 0.3


def test_offsets_are_code_points(client):
    document = "🗼 Größenangaben, naïve Übersicht. " * 3 + TOWER
    assert "330 metres" in find(client, "How tall is the tower?", document).text


@pytest.mark.parametrize(("question", "document"), [("", TOWER), ("Who?", ""), ("", ""), ("?", " \n ")])
def test_nothing_asked_or_nothing_to_read_gets_no_answer(client, question, document):
    assert find(client, question, document).span == (-1, -1)


def test_an_answer_deep_in_a_long_document(client):
    document = filler(300) + " " + TOWER + " " + filler(300)
    assert "330 metres" in find(client, "How tall is the Eiffel Tower?", document).text


def test_long_question_is_served(client):
    assert find(client, "How tall is the Eiffel Tower? " * 500, TOWER).span[0] >= -1


def test_requests_of_different_lengths_at_once_are_answered_as_alone(client):
    documents = [TOWER, filler(30) + " " + TOWER, TOWER + " " + filler(80)]
    asked = [(question, document) for question, _ in ANSWERED for document in documents]
    alone = [find(client, *pair) for pair in asked]
    with ThreadPoolExecutor(9) as pool:
        together = list(pool.map(lambda pair: find(client, *pair), asked))
    assert [found.span for found in together] == [found.span for found in alone]
    assert [found.score for found in together] == pytest.approx([found.score for found in alone], abs=1e-3)


def test_a_question_that_is_not_utf8_fails_alone(client):
    with pytest.raises(InferenceServerException, match="QUESTION is not UTF-8"):
        find(client, b"\xff\xfe", TOWER)
    assert find(client, "How tall is it?", TOWER).text is not None
