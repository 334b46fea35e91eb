"""Recognition in PyTorch beside recognition on onnxruntime, with the same weights."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

pytest.importorskip("torch")

from engines.asr.gpu.networks import GpuNetworks, GpuOptions
from engines.asr.gpu.sizes import Sizes
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.serving.recognizer import Hint
from engines.build.moonshine import TARGET
from lab.tests.unit.asr_gpu.conftest import heard

SIZES = Sizes(most_rows=8, most_frames=2048, longest=256)


@pytest.fixture(scope="module")
def on_onnxruntime():
    return MoonshineRecognizer(TARGET)


@pytest.fixture(scope="module")
def recognizer(weights, device):
    return MoonshineRecognizer(TARGET, networks=GpuNetworks(weights, GpuOptions(device, "float32", 1, sizes=SIZES)))


@pytest.fixture(scope="module")
def alone(on_onnxruntime, pieces):
    return [on_onnxruntime.transcribe([heard(piece)])[0] for piece in pieces]


def test_texts_are_those_of_onnxruntime_alone_and_in_batches(recognizer, pieces, alone):
    assert [recognizer.transcribe([heard(piece)])[0] for piece in pieces] == alone
    assert recognizer.transcribe([heard(piece) for piece in pieces * 2]) == alone * 2


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_texts_in_half_precision_are_nearly_all_the_same(precision, weights, device, pieces, alone):
    networks = GpuNetworks(weights, GpuOptions(device, precision, 1, sizes=SIZES))
    found = MoonshineRecognizer(TARGET, networks=networks).transcribe([heard(piece) for piece in pieces])
    assert sum(one == other for one, other in zip(found, alone, strict=True)) >= len(pieces) - 1


def test_drafts_change_nothing(recognizer, pieces, alone):
    drafts = [[*own[: len(own) // 2], *other][i % 3 * 4 :] for i, (own, other) in enumerate(itertools.pairwise(alone))]
    utterances = [heard(piece, draft) for piece, draft in zip(pieces, [*drafts, alone[-1]], strict=True)]
    assert recognizer.transcribe(utterances) == alone


def test_hints_and_alternatives_are_those_of_onnxruntime(recognizer, on_onnxruntime, pieces):
    hints = (Hint("worst of thymes"), Hint("despair"))
    found = []
    for one in (recognizer, on_onnxruntime):
        utterances = [heard(piece) for piece in pieces]
        for utterance, wanted in zip(utterances, itertools.cycle((1, 3))):
            utterance.bias, utterance.wanted = one.bias(hints), wanted
        found.append(one.search(utterances, thorough=True))
    for got, expected in zip(*found, strict=True):
        assert [text.tokens for text in got] == [text.tokens for text in expected]
        np.testing.assert_allclose([t.score for t in got], [t.score for t in expected], atol=0.05)


def test_a_partial_search_goes_on_from_what_was_found(recognizer, on_onnxruntime, pieces, alone):
    found = []
    for one in (recognizer, on_onnxruntime):
        utterances = [heard(piece, tokens) for piece, tokens in zip(pieces, alone, strict=True)]
        found.append([texts[0].tokens for texts in one.search(utterances, thorough=False)])
    assert found[0] == found[1]


def test_words_are_timed_as_on_onnxruntime(recognizer, on_onnxruntime, pieces, alone):
    found = [
        one.time_words([heard(piece, tokens) for piece, tokens in zip(pieces, alone, strict=True)])
        for one in (recognizer, on_onnxruntime)
    ]
    assert found[0] == found[1]


def test_extremes_leave_their_neighbours_alone(recognizer, pieces, alone):
    rng = np.random.default_rng(8)
    odd = [
        np.zeros(20_000, np.float32),
        rng.uniform(-1, 1, 30_000).astype(np.float32),
        np.full(5_000, 1e30, np.float32),
    ]
    batch = [heard(audio) for audio in (odd[0], pieces[1], odd[1], pieces[2], odd[2])]
    found = recognizer.transcribe(batch)
    assert (found[1], found[3]) == (alone[1], alone[2])


def test_rooms_go_back_after_a_failure(recognizer, pieces, alone, monkeypatch):
    def fail(*given):
        raise RuntimeError("out of memory")

    with monkeypatch.context() as patched:
        patched.setattr(recognizer._networks, "greedy", fail)
        with pytest.raises(RuntimeError, match="out of memory"):
            recognizer.transcribe([heard(pieces[1])])
    assert recognizer.transcribe([heard(pieces[1])]) == [alone[1]]
