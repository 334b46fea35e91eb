from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from tests.integration.bert_models import strings

if TYPE_CHECKING:
    from collections.abc import Iterator

SENTENCES = {
    "where is the nearest train station": "Where is the nearest train station?",
    "i live in london and my sister lives in paris": "I live in London and my sister lives in Paris.",
    "what time is it": "What time is it?",
}


@pytest.fixture(scope="module")
def client(triton_address: str) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(triton_address) as connected:
        yield connected


def punctuate(client: triton.InferenceServerClient, *texts: str | bytes) -> list[str]:
    result = client.infer("punctuation", [strings("TEXT", list(texts), [len(texts), 1])], client_timeout=30)
    assert (result.as_numpy("COMPUTE_MS") > 0).all()
    return [text.decode() for text in result.as_numpy("PUNCTUATED").reshape(-1)]


def test_texts_get_capitals_and_punctuation(client):
    assert punctuate(client, *SENTENCES) == list(SENTENCES.values())


def test_sentences_in_one_text_are_told_apart(client):
    text = "how are you today i am fine thank you"
    (written,) = punctuate(client, text)
    assert written.startswith("How are you today? I am fine")
    assert written.endswith("you.")


def test_a_long_text_keeps_its_words(client):
    text = " ".join(list(SENTENCES) * 25)
    (written,) = punctuate(client, text)
    bare = "".join(character for character in written.lower() if character not in ",.?")
    assert bare == text
    assert written.count("London") == 25
    assert written.count("?") > 35


def test_requests_of_different_lengths_at_once_are_answered_as_alone(client):
    texts = [text * repeated for text in SENTENCES for repeated in (1, 3, 30)]
    alone = [punctuate(client, text)[0] for text in texts]
    with ThreadPoolExecutor(9) as pool:
        assert [found[0] for found in pool.map(lambda text: punctuate(client, text), texts)] == alone


def test_a_text_that_is_not_utf8_fails_alone(client):
    with ThreadPoolExecutor(2) as pool:
        served = pool.submit(punctuate, client, "what time is it")
        with pytest.raises(InferenceServerException, match="TEXT is not UTF-8"):
            punctuate(client, b"\xff\xfe")
    assert served.result() == ["What time is it?"]
