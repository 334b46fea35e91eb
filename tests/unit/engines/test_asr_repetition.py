"""Loops are told from words that were said several times."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from engines.asr.moonshine.repetition import (
    MIN_ADVANCE_FRAMES,
    MIN_FRAMES,
    find_repetitions,
    without_loops,
    without_unsaid_figures,
)
from engines.asr.tokenizer import TokenizedWord

FRAMES = 400


def spoken(text: str) -> list[TokenizedWord]:
    """One token a word."""
    return [TokenizedWord(word, at, at + 1) for at, word in enumerate(text.split())]


def looking_at(places: list[int]) -> np.ndarray:
    """Each token, and the end token, looks at the frames from its place to the next one's."""
    weights = np.full((len(places), FRAMES), 1e-4, np.float32)
    for row, (begin, end) in enumerate(zip(places, [*places[1:], FRAMES], strict=True)):
        weights[row, begin : max(end, begin + 1)] = 1 / max(end - begin, 1)
    return weights


def left(text: str, places: list[int]) -> str:
    kept = without_loops(range(len(text.split())), spoken(text), looking_at(places))
    return " ".join(text.split()[token] for token in kept)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("had he married a more amiable", []),
        ("a more amiable, amiable, Amiable.", [(2, 1, 3)]),
        ("who knows the meaning of the meaning of the", [(2, 3, 2)]),
        ("no no yes yes", [(0, 1, 2), (2, 1, 2)]),
        ("call 5 5 5", []),
        ("- - -", []),
        ("", []),
    ],
)
def test_repetitions_are_found_by_their_words_alone(text: str, found: list[tuple[int, int, int]]):
    assert [(one.first, one.size, one.count) for one in find_repetitions(spoken(text))] == found


def test_what_is_looked_for_again_at_the_same_place_was_said_once():
    assert left("a more amiable, amiable, amiable,", [0, 20, 40, 60, 60, 60, 60]) == "a more amiable,"


def test_what_is_looked_for_further_on_was_said_again():
    text = "my number is five, five, five, eight"
    assert left(text, [0, 10, 20, 30, 45, 60, 75, 90]) == text


def test_one_repetition_too_many_is_taken_out_of_spoken_ones():
    assert left("five, five, five, five, eight", [0, 20, 40, 60, 60, 80]) == "five, five, five, eight"


def test_a_loop_that_breaks_off_in_the_middle_goes_as_a_whole():
    assert left("meaning of the meaning of the meaning", [0, 20, 40, 60, 60, 60, 60, 60]) == "meaning of the"
    assert left("a roast twas twas tw", [0, 20, 40, 60, 60, 60]) == "a roast twas"


def test_what_follows_a_loop_stays():
    assert left("a little little little milk", [0, 20, 40, 40, 40, 60]) == "a little milk"


@pytest.mark.parametrize(
    ("word", "frames", "kept"),
    [("no,", 60, 5), ("one,", 60, 5), ("seven,", 60, 1), ("the", 60, 1), ("no,", 20, 1)],
)
def test_attention_blurs_what_is_said_fast_and_often(word: str, frames: int, kept: int):
    places = np.linspace(0, frames, 6).astype(int).tolist()
    weights = looking_at([*places, frames + 20])
    weights[:5, :frames] = 1 / frames  # All of them look at all of it, and a little more at their own place.
    for row, (begin, end) in enumerate(pairwise(places)):
        weights[row, begin:end] += 1e-3
    text = f"{word} " * 5 + "turn"
    tokens = without_loops(range(6), spoken(text), weights)
    assert [text.split()[token] for token in tokens] == [word] * kept + ["turn"]


def test_attention_that_goes_back_is_a_loop():
    assert left("the moon the moon", [0, 100, 20, 30, 40]) == "the moon"


@pytest.mark.parametrize(("frames", "count"), [(MIN_FRAMES - 1, 1), (MIN_ADVANCE_FRAMES + 1, 2)])
def test_a_word_needs_time_to_be_said_again(frames: int, count: int):
    assert left("no no", [0, frames, 2 * frames]).count("no") == count


@pytest.mark.parametrize(
    ("pieces", "places", "kept"),
    [
        # "4046" was said, and the rest begins where the audio ends.
        ("code is 4 0 4 6 - 6 6 6 - 6 6 6 6", [0, 20, 30, 40, 50, 60, 70, *[FRAMES - 1] * 8], "code is 4 0 4 6"),
        ("4 0 4 6 - 2 8 8 0 .", [0, 10, 20, 30, 40, *[FRAMES - 1] * 5], "4 0 4 6"),
        ("4 0 4 6 - 2 8 8 0 .", [*range(0, 90, 10), 95], "4 0 4 6 - 2 8 8 0 ."),
        ("at 9 3 0 or at ten", [0, 10, 20, 30, 40, 40, 40], "at 9 3 0 or at ten"),
        ("4 4 4 .", [0, 40, 40, 40], "4 4 4 ."),
    ],
)
def test_figures_that_the_decoder_goes_on_with_by_itself_go(pieces: str, places: list[int], kept: str):
    texts = pieces.split()
    left_over = without_unsaid_figures(range(len(texts)), texts, looking_at([*places, FRAMES - 1]))
    assert " ".join(texts[token] for token in left_over) == kept
