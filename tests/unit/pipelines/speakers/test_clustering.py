"""Online clustering, with vectors whose likeness is told."""

from __future__ import annotations

import numpy as np

from pipelines.speakers.clustering import MAX_SPEAKERS, MAX_WINDOWS_AT_ONCE, Voices, tell_apart


def voice(number: int, *, beside: int | None = None, seed: int = 0) -> np.ndarray:
    """A window of a voice; beside another it is between the two."""
    vector = np.random.default_rng(seed).normal(0, 0.02, 64)
    vector[number] += 1.0
    if beside is not None:
        vector[beside] += 1.0
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def told(voices: Voices, *numbers: int, seconds: float = 0.8) -> tuple[Voices, tuple[int, ...]]:
    return tell_apart(voices, np.stack([voice(n, seed=at) for at, n in enumerate(numbers)]), seconds)


def test_tags_count_voices_in_order_of_appearance_and_stay():
    voices, first = told(Voices.none_yet(), 7, 3, 3, 3)
    voices, second = told(voices, 3, 7, 5)
    _, third = told(voices, 5)
    assert (first, second, third) == ((1, 2, 2, 2), (2, 1, 3), (3,))


def test_a_window_between_two_voices_belongs_to_one_of_them():
    embeddings = np.stack([voice(1), voice(1, seed=1), voice(1, beside=2), voice(2, seed=2), voice(2, seed=3)])
    voices, tags = tell_apart(told(Voices.none_yet(), 1, 2)[0], embeddings, 0.8)
    assert len(voices.seconds) == 2
    assert tags[:2] == (1, 1)
    assert tags[3:] == (2, 2)
    assert tags[2] in {1, 2}


def test_a_sound_too_short_for_a_voice_joins_the_likeliest():
    voices, _ = told(Voices.none_yet(), 1, 2)
    voices, tags = tell_apart(voices, voice(9, beside=2)[np.newaxis], 0.2)
    assert tags == (2,)
    assert len(voices.seconds) == 2


def test_forty_voices_are_told_as_many_as_may_be():
    for most in (1, 4, MAX_SPEAKERS):
        voices = Voices.none_yet(most)
        for number in range(40):
            voices, tags = told(voices, number)
            assert 1 <= tags[0] <= most
        assert len(voices.seconds) == most


def test_an_utterance_without_windows_changes_nothing():
    voices, _ = told(Voices.none_yet(), 1)
    assert tell_apart(voices, np.zeros((0, 64), np.float32), 0.8) == (voices, ())


def test_a_long_block_of_two_voices_is_told_in_one_go():
    numbers = [1, 2] * (MAX_WINDOWS_AT_ONCE // 2)
    assert told(Voices.none_yet(), *numbers)[1] == tuple(numbers)
