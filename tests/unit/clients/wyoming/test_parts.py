"""The pure parts: PCM of all widths, and words that stay."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.clients.wyoming.events import chunk
from vivavoce.wyoming.audio import mono
from vivavoce.wyoming.stable_words import StableWords


@pytest.mark.parametrize(
    ("audio", "width"),
    [
        (bytes([0, 128, 192]), 1),
        (np.array([-32_768, 0, 16_384], "<i2").tobytes(), 2),
        (bytes([0, 0, 128, 0, 0, 0, 0, 0, 64]), 3),
        (np.array([-(2**31), 0, 2**30], "<i4").tobytes(), 4),
    ],
)
def test_every_width_reads_the_same(audio: bytes, width: int) -> None:
    np.testing.assert_array_equal(mono(chunk(audio, width=width)), np.float32([-1.0, 0.0, 0.5]))


def test_channels_are_averaged() -> None:
    left_and_right = np.array([[16_384, 0], [-16_384, 16_384]], "<i2").tobytes()

    np.testing.assert_array_equal(mono(chunk(left_and_right, channels=2)), np.float32([0.25, 0.0]))


def test_words_are_told_when_two_hypotheses_agree() -> None:
    words = StableWords()

    assert [
        words.partial(text) for text in ("turn of", "turn off the", "turn off the lies", "turn off the lights")
    ] == [
        "",
        "turn",
        " off the",
        "",
    ]
    assert words.final("turn off the lights") == " lights"


def test_words_that_were_told_stay_told() -> None:
    words = StableWords()
    words.partial("recognize speech")
    assert words.partial("recognize speech") == "recognize speech"

    assert words.final("wreck a nice beach") == " nice beach"


@given(st.lists(st.text("ab", min_size=1), max_size=8), st.data())
def test_hypotheses_that_only_grow_are_told_completely(words: list[str], data: st.DataObject) -> None:
    stable, lengths = StableWords(), sorted(data.draw(st.lists(st.integers(0, len(words)))))

    told = "".join(stable.partial(" ".join(words[:length])) for length in lengths)

    assert told + stable.final(" ".join(words)) == " ".join(words)
