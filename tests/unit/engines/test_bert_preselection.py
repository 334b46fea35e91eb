from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from engines.bert.preselection import choose_windows, overlap_scores
from engines.bert.tokenizing import NO_OFFSET, DocumentTokenizer

TOKENIZER = Path(__file__).parents[3] / "model_repository" / "qa_tokenize" / "1" / "tokenizer.json"
FILLER = "The weather of that year was good and the people of the town were content with it. "


@pytest.fixture(scope="module")
def tokenizer() -> DocumentTokenizer:
    return DocumentTokenizer(TOKENIZER, window=128, overlap=16, max_question=32)


@pytest.mark.parametrize("place", [0.0, 0.5, 1.0])
def test_the_window_that_holds_the_asked_words_is_kept(tokenizer, place):
    before = int(100 * place)
    document = FILLER * before + "The lighthouse keeper was called Amundsen. " + FILLER * (100 - before)
    windows = tokenizer.encode("what was the keeper of the lighthouse called?", document)
    kept = choose_windows(windows, 2)
    assert len(kept) == 2 < len(windows)
    texts = [document[o[o != NO_OFFSET].min() : o.max()] for o in kept.offsets]
    assert any("Amundsen" in text for text in texts)


def test_rare_words_count_for_more_than_common_ones(tokenizer):
    document = "of the and was with it. " * 40 + "zeppelin " + FILLER * 20
    windows = tokenizer.encode("was it with the zeppelin", document)
    best = int(overlap_scores(windows).argmax())
    offsets = windows.offsets[best]
    assert "zeppelin" in document[offsets[offsets != NO_OFFSET].min() : offsets.max()]


def test_a_document_that_fits_is_kept_whole(tokenizer):
    windows = tokenizer.encode("who?", FILLER * 12)
    assert choose_windows(windows, len(windows)) is windows


def test_without_any_overlap_the_beginning_is_read(tokenizer):
    windows = tokenizer.encode("xylophone", FILLER * 60)
    kept = choose_windows(windows, 3)
    np.testing.assert_array_equal(kept.input_ids, windows.input_ids[:3])


def test_kept_windows_stay_in_document_order(tokenizer):
    document = FILLER * 10 + "a keeper. " + FILLER * 30 + "the lighthouse keeper. " + FILLER * 20
    kept = choose_windows(tokenizer.encode("lighthouse keeper", document), 3)
    starts = [offsets[offsets[:, 0] != NO_OFFSET][0, 0] for offsets in kept.offsets]
    assert starts == sorted(starts)
