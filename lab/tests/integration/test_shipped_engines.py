"""The shipped engines behind Triton, judged on samples of public test sets."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import tritonclient.grpc as triton

from modelkit.nlu import read_utterances
from modelkit.scoring import answer_f1
from modelkit.squad import read_squad
from tests.integration.bert_models import find, shared_data, understand

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="module")
def client(triton_address: str) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(triton_address) as connected:
        yield connected


def test_accuracy_on_a_sample_of_the_test_set(client):
    utterances = read_utterances(shared_data("nlu/home/test.jsonl"))[::10]
    got = [
        row
        for n in range(0, len(utterances), 32)
        for row in understand(client, *(u.text for u in utterances[n : n + 32]))
    ]
    right = sum(u.intent == g.intent for u, g in zip(utterances, got, strict=True))
    # 90 % over the whole set; a sample of 108 lies within three standard deviations of that.
    assert right / len(utterances) > 0.81


def test_f1_on_a_sample_of_xquad(client):
    questions = read_squad(shared_data("qa/xquad_en.json"))[::12]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda question: find(client, question.text, question.context), questions))
    scores = [answer_f1(f.text or "", q.references) for f, q in zip(found, questions, strict=True)]
    # 64 % over the whole set; a sample of 100 lies within three standard deviations of that.
    assert sum(scores) / len(scores) > 0.5
