"""Sentence embeddings by the network that `make setup` builds."""

from __future__ import annotations

import numpy as np
import pytest

from engines.build.sentence_embedding import TARGET
from engines.embed.embedder import DIMENSIONS, Embedder


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(TARGET, threads=1)


def test_alike_in_meaning_is_near(embedder):
    question, answer, other = embedder.embed(
        ["When may I visit the museum?", "Opening hours of the gallery: nine to five.", "The soup has too much salt."]
    )
    assert question @ answer > question @ other + 0.2


def test_vectors_have_length_one(embedder):
    vectors = embedder.embed(["one", "", "two words", "ünïcödé 字"])
    assert vectors.shape == (4, DIMENSIONS)
    assert vectors.dtype == np.float32
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(1, abs=1e-4)
    assert embedder.embed([]).shape == (0, DIMENSIONS)


def test_a_text_has_the_same_vector_in_any_batch(embedder):
    texts = ["short", "a text that is somewhat longer than the others are", "a third one"]
    alone = np.concatenate([embedder.embed([text]) for text in texts])
    assert np.abs(embedder.embed(texts) - alone).max() < 1e-5


def test_what_is_beyond_the_longest_row_does_not_count(embedder):
    start = "the lighthouse on the cape " * 60
    first, second = embedder.embed([start + "was built", start + "sells fish"])
    assert (first == second).all()
