from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from engines.asr.errors import InvalidAudioError, TooManySequencesError, UnknownSequenceError, UtteranceTooLongError
from engines.asr.serving.sequences import SequenceStore
from engines.asr.serving.utterance import Utterance

if TYPE_CHECKING:
    from tests.virtual_time import Clock


@pytest.fixture
def store(clock: Clock) -> SequenceStore:
    return SequenceStore(max_samples=1000, idle_timeout_seconds=60, clock=clock, max_sequences=3)


def samples(*values: float) -> np.ndarray:
    return np.array(values, np.float32)


@given(st.lists(st.lists(st.floats(-1, 1, width=32), max_size=40), max_size=20))
def test_audio_is_kept_in_order(chunks: list[list[float]]) -> None:
    utterance = Utterance()
    for chunk in chunks:
        utterance.append(samples(*chunk))
    assert utterance.audio.tolist() == [value for chunk in chunks for value in chunk]
    assert len(utterance) == sum(map(len, chunks))


def test_a_sequence_is_found_until_it_ends(store: SequenceStore) -> None:
    utterance = store.start(5)
    assert store.get(5) is utterance
    store.end(5)
    with pytest.raises(UnknownSequenceError, match=r"Sequence 5 is not open.*START"):
        store.get(5)
    store.end(5)


def test_start_replaces_what_was_there(store: SequenceStore) -> None:
    store.append(store.start(5), samples(1, 2))
    assert len(store.start(5)) == 0
    assert len(store) == 1


def test_a_sequence_that_is_used_stays(store: SequenceStore, clock: Clock) -> None:
    store.start(1)
    store.start(2)
    for _ in range(3):
        clock.seconds += 40
        store.get(1)
        store.drop_idle()
    assert len(store) == 1
    with pytest.raises(UnknownSequenceError):
        store.get(2)


def test_a_sequence_is_kept_for_the_whole_timeout(store: SequenceStore, clock: Clock) -> None:
    store.start(1)
    clock.seconds += 60
    store.drop_idle()
    assert len(store) == 1


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_audio_that_is_not_finite_is_refused_as_a_whole(store: SequenceStore, value: float) -> None:
    utterance = store.start(1)
    with pytest.raises(InvalidAudioError, match="finite"):
        store.append(utterance, samples(0.5, value))
    assert len(utterance) == 0


def test_the_longest_utterance_is_taken_and_one_sample_more_is_not(store: SequenceStore) -> None:
    utterance = store.start(1)
    store.append(utterance, np.zeros(1000, np.float32))
    with pytest.raises(UtteranceTooLongError, match=r"1001 samples.*END it"):
        store.append(utterance, samples(0))
    assert len(utterance) == 1000


def test_room_is_limited(store: SequenceStore) -> None:
    for sequence_id in (1, 2, 3):
        store.start(sequence_id)
    with pytest.raises(TooManySequencesError, match="3 sequences"):
        store.start(4)
    store.start(3)
    store.end(1)
    store.start(4)
