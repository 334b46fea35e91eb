"""The network that is trained is the one that is served."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import pytest
import torch
from tokenizers import Tokenizer, models, pre_tokenizers

from engines.bert.utterance_kinds import CLASSES, UNKNOWN, KindClassifier
from modelkit.utterance_kinds.frames import generate
from modelkit.utterance_kinds.student import WIDTH, Example, begin_words, certain, choose_vocabulary, train
from modelkit.utterance_kinds.teacher import vary

if TYPE_CHECKING:
    from pathlib import Path

EPOCHS = 30
NAMES = ("command", "command negated", "question")


def sentences(count: int, seed: int) -> list[tuple[str, int]]:
    rng = random.Random(seed)
    return [(generate(name, rng), CLASSES.index(name)) for name in NAMES for _ in range(count)]


@pytest.fixture(scope="module")
def classifier(tmp_path_factory: pytest.TempPathFactory) -> KindClassifier:
    torch.manual_seed(1)
    taught = sentences(150, 1)
    vocabulary = choose_vocabulary([text for text, _ in taught], 500)
    words = 0.1 * torch.randn(len(vocabulary) + UNKNOWN + 1, WIDTH)
    said: list[str] = []
    examples = [Example(text, certain(label)) for text, label in taught]
    network = train(examples, words, vocabulary, EPOCHS, random.Random(1), said.append)
    assert len(said) == EPOCHS
    path: Path = tmp_path_factory.mktemp("kinds") / "kinds.npz"
    served = network.classifier(vocabulary)
    served.save(path)
    read = KindClassifier.load(path)
    for text, _ in taught[:20]:
        expected = network(*tensors(text, vocabulary)).softmax(-1)[0].detach().numpy()
        assert served.classify(text).probabilities == pytest.approx(expected, abs=1e-4)
        assert read.classify(text).probabilities == pytest.approx(expected, abs=0.02)
    return read


def tensors(text: str, vocabulary: dict[str, int]) -> tuple[torch.Tensor, ...]:
    from modelkit.utterance_kinds.student import _tensors  # noqa: PLC0415 - what training gives the network

    class Certain(random.Random):
        def random(self) -> float:
            return 1.0

    return _tensors([text], vocabulary, Certain())


def test_it_learns_forms_that_it_did_not_see(classifier: KindClassifier):
    asked = sentences(40, 2)
    right = [int(classifier.classify(text).probabilities.argmax()) == label for text, label in asked]
    assert sum(right) > 0.8 * len(right)


def test_word_embeddings_begin_with_those_of_pieces():
    pieces = {"[UNK]": 0, "turn": 1, "on": 2, **{f"w{n}": n for n in range(3, 80)}}
    tokenizer = Tokenizer(models.WordLevel(pieces, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    vocabulary = {word: row for row, word in enumerate(pieces, UNKNOWN + 1)}
    words = begin_words(vocabulary, tokenizer, torch.randn(80, 384, generator=torch.Generator().manual_seed(0)))
    assert words.shape == (len(vocabulary) + UNKNOWN + 1, WIDTH)
    assert not words[: UNKNOWN + 1].any()
    assert words.isfinite().all()


def test_question_marks_come_and_go():
    rng = random.Random(3)
    asked = {vary("Could you turn it on?", CLASSES.index("command"), rng) for _ in range(50)}
    assert asked == {"could you turn it on", "could you turn it on ?"}
    assert {vary("Turn it on.", CLASSES.index("command"), rng) for _ in range(50)} == {"turn it on"}
