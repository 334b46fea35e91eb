from __future__ import annotations

import numpy as np
import pytest

from engines.asr.moonshine.word_times import time_words
from engines.asr.serving.recognizer import TimedWord
from engines.asr.tokenizer import TokenizedWord

FRAME, BOUNDARY = 384, 255
WORDS = [TokenizedWord("It", 0, 1), TokenizedWord("wasn't.", 1, 3)]


def looking(*begins: int, frames: int) -> np.ndarray:
    """Attention in which each token looks at the frames from its own beginning to the next one's."""
    weights = np.zeros((len(begins), frames), np.float32)
    for row, (begin, end) in enumerate(zip(begins, (*begins[1:], frames), strict=True)):
        weights[row, begin:end] = 1
    return weights


def tone(samples: int) -> np.ndarray:
    return np.sin(np.arange(samples, dtype=np.float32))


def test_a_word_lasts_from_its_first_token_to_the_next_word_s() -> None:
    audio = tone(100 * FRAME)
    found = time_words(WORDS, looking(0, 20, 40, 90, frames=99), audio)
    assert found == (
        TimedWord("It", 0, 20 * FRAME + BOUNDARY),
        TimedWord("wasn't.", 20 * FRAME + BOUNDARY, 90 * FRAME + BOUNDARY),
    )


def test_pauses_belong_to_no_word_but_closures_do() -> None:
    audio = tone(100 * FRAME)
    audio[:4_800] *= 0.001
    audio[6_400:7_200] *= 0.001
    audio[30 * FRAME : 42 * FRAME] *= 0.001
    first, second = time_words(WORDS, looking(0, 40, 50, 90, frames=99), audio)
    assert first.start == 4_800
    assert first.end == pytest.approx(30 * FRAME, abs=160)
    assert second.start == 40 * FRAME + BOUNDARY


def test_words_lie_within_the_audio() -> None:
    audio = tone(3 * FRAME + 100)
    *_, last = time_words(WORDS, looking(0, 1, 2, 3, frames=3), audio)
    assert last.end <= len(audio)


def test_silence_has_its_words_where_attention_puts_them() -> None:
    found = time_words(WORDS, looking(0, 20, 40, 90, frames=99), np.zeros(100 * FRAME, np.float32))
    assert [word.start for word in found] == [0, 20 * FRAME + BOUNDARY]
