"""Conditions of recordings, and what the comparison of recognizers makes of what it hears."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soxr

from benchmarks.recognition import second_opinion
from benchmarks.recognition.choice import engine_folder, hear_live
from benchmarks.recognition.conditions import CONDITIONS, in_room, noisy, telephoned
from benchmarks.recognition.material import DIGITS, Recording
from benchmarks.recognition.report import digit_errors
from benchmarks.recognition.worker import Answer

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RATE = 16_000


def tone(hertz: float, seconds: float = 2.0) -> np.ndarray:
    return (0.3 * np.sin(2 * np.pi * hertz * np.arange(round(seconds * RATE)) / RATE)).astype(np.float32)


def power(samples: np.ndarray) -> float:
    return float(np.mean(np.square(samples, dtype=np.float64)))


@pytest.mark.parametrize("change", CONDITIONS.values(), ids=CONDITIONS)
def test_a_condition_is_the_same_each_time_and_clips_nothing(change: Callable[[np.ndarray], np.ndarray]):
    speech = tone(440) / 0.31
    changed = change(speech.copy())
    assert np.array_equal(changed, change(speech.copy()))
    assert (changed.dtype, len(changed)) == (np.float32, len(speech))
    assert np.abs(changed).max() <= 1
    assert np.isfinite(changed).all()


@pytest.mark.parametrize("snr_db", [0, 10, 30])
def test_noise_is_as_far_below_the_speech_as_is_asked(snr_db: float):
    speech = 0.1 * tone(440)
    assert 10 * np.log10(power(speech) / power(noisy(speech, snr_db) - speech)) == pytest.approx(snr_db, abs=0.05)


@pytest.mark.parametrize("decay_seconds", [0.4, 0.8])
def test_sound_in_a_room_decays_by_60_db_in_so_many_seconds(decay_seconds: float):
    click = np.zeros(2 * RATE, np.float32)
    click[0] = 0.5
    heard = in_room(click, decay_seconds)
    early, late = (power(heard[round(at * RATE) :][: RATE // 50]) for at in (0.1 * decay_seconds, 0.4 * decay_seconds))
    # Noise of the room is 40 dB below the speech, so that the end of the decay is not heard.
    assert 10 * np.log10(early / late) == pytest.approx(18, abs=3)


def test_a_telephone_has_no_high_sounds_and_loses_packets():
    assert power(telephoned(tone(6_000), 0)) < 1e-4 * power(tone(6_000))
    clear, lossy = telephoned(tone(440), 0), telephoned(tone(440), 0.2)
    assert 10 * np.log10(power(tone(440)) / power(clear - tone(440))) > 25
    packets = [power(one) < 1e-3 * power(tone(440)) for one in soxr.resample(lossy, RATE, 8_000).reshape(-1, 160)]
    assert 0.05 < np.mean(packets) < 0.35


class Hearing:
    """A worker whose texts and costs are told in advance."""

    def __init__(self, *told: dict[str, object]) -> None:
        self.told = list(told)

    def listen(self, utterance: np.ndarray) -> Answer:
        return Answer([json.dumps(self.told.pop(0))], 9.0, 0.5)


def test_first_words_and_last_texts_are_told_in_the_median():
    recordings = [Recording(str(number), (np.zeros(RATE, np.float32),), "Turn it on.") for number in range(3)]
    long, unknown = Recording("long", (np.zeros(13 * RATE, np.float32),), "x"), Recording("?", recordings[0].utterances)
    worker = Hearing(
        {"texts": [(0.4, "Tur"), (0.8, "turn it"), (1.0, "Turn it on.")], "last_cpu_seconds": 0.02},
        {"texts": [(0.4, "Turn, it"), (1.0, "Turn it on.")], "last_cpu_seconds": 0.04},
        {"texts": [(1.0, "Burn it on.")], "last_cpu_seconds": 0.3},
    )
    assert hear_live(worker, [long, unknown, *recordings]) == {
        "first_right_word_seconds": 0.6,
        "first_words_right": "2 of 3",
        "text_at_the_end_cpu_ms": 40,
        "cores_of_a_live_stream": 0.5,
    }


@pytest.mark.parametrize(
    ("heard", "share"),
    [
        ("455 0", 0.0),
        ("Four five, five. Zero!", 0.0),
        ("four five five oh", 0.0),
        ("450", 0.25),
        ("4", 0.75),
        ("", 1.0),
    ],
)
def test_digits_count_however_they_are_written(heard: str, share: float):
    assert digit_errors([Recording("d", (), "four five five, zero")], [heard]) == share


def test_digits_are_words_that_the_normalizer_knows():
    said = [Recording("d", (), word) for word in DIGITS]
    assert digit_errors(said, [str(digit) for digit in range(10)]) == 0


def test_an_engine_is_named_and_must_recognize(tmp_path: Path):
    config = tmp_path / "triton" / "asr" / "config.pbtxt"
    config.parent.mkdir(parents=True)
    with pytest.raises(argparse.ArgumentTypeError, match="an engine directory for recognition"):
        engine_folder(f"mine={tmp_path}")
    config.touch()
    assert engine_folder(f"mine={tmp_path}") == ("mine", str(tmp_path / "triton"))


def test_second_opinions_are_told_by_their_way():
    recordings = [Recording("a", (), "turn it on"), Recording("b", (), "off")]
    heard = {
        "shipped": second_opinion.Heard(["turn it", "off"], [0.4, 0.6]),
        "second": second_opinion.Heard(["x", "off"]),
    }
    heard["second"].texts[0], heard["second"].turn_seconds = "Turn it on!", [0.5]
    found = second_opinion.summary(heard, recordings)
    assert {way: one["word_errors"] for way, one in found.items()} == {"shipped": 0.25, "second": 0.0}
    assert found["second"]["turn_ms"]["p50"] == 500
    assert {frozenset(one) for one in second_opinion.ways("heavy").values()} == {
        frozenset(()),
        frozenset(("variants",)),
        frozenset(("second_opinion",)),
        frozenset(("second_opinion", "reply_budget_seconds")),
    }
