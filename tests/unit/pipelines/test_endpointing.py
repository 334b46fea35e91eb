import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.errors import InvalidInputError
from pipelines.vad.endpointing import Boundary, Endpointer, EndpointingConfig


def boundaries(config: EndpointingConfig, windows: list[bool]) -> list[tuple[int, Boundary]]:
    follower, found = Endpointer(config), []
    for number, speech in enumerate(windows):
        follower, boundary = follower.push(speech=speech)
        if boundary:
            found.append((number, boundary))
    return found


def test_an_utterance_begins_with_enough_speech_and_ends_with_enough_silence():
    windows = [False] * 10 + [True] * 20 + [False] * 30
    # 160 ms are 5 windows, of which 3 must be speech; 608 ms are 19 windows of silence.
    assert boundaries(EndpointingConfig(), windows) == [(12, Boundary.START), (48, Boundary.STOP)]


def test_a_click_begins_nothing():
    assert boundaries(EndpointingConfig(), [False] * 10 + [True] + [False] * 40) == []


def test_a_pause_shorter_than_the_stop_window_ends_nothing():
    windows = [True] * 20 + [False] * 18 + [True] * 20 + [False] * 19
    assert boundaries(EndpointingConfig(), windows) == [(2, Boundary.START), (76, Boundary.STOP)]


def test_a_stop_threshold_forgives_a_click_in_the_silence():
    strict, lenient = EndpointingConfig(stop_threshold=0.0), EndpointingConfig(stop_threshold=0.1)
    windows = [True] * 20 + [False] * 10 + [True] + [False] * 18
    assert boundaries(strict, windows) == [(2, Boundary.START)]
    assert boundaries(lenient, windows) == [(2, Boundary.START), (38, Boundary.STOP)]


def test_a_longer_stop_window_waits_longer():
    windows = [True] * 20 + [False] * 100
    assert boundaries(EndpointingConfig(stop_window_seconds=1.6, stop_threshold=0), windows)[-1] == (69, Boundary.STOP)


def test_push_to_talk_never_ends_by_itself():
    assert boundaries(EndpointingConfig(enabled=False), [True] * 20 + [False] * 1000) == [(2, Boundary.START)]


def test_a_shorter_window_makes_the_end_likely_before_it_is_reached():
    two_passes = EndpointingConfig(stop_window_seconds=0.608, likely_stop_window_seconds=0.256)
    windows = [True] * 20 + [False] * 30
    assert boundaries(two_passes, windows) == [(2, Boundary.START), (27, Boundary.LIKELY_STOP), (38, Boundary.STOP)]


def test_an_end_is_likely_once_in_a_silence_and_again_after_speech():
    two_passes = EndpointingConfig(stop_window_seconds=0.608, likely_stop_window_seconds=0.256)
    windows = [True] * 20 + [False] * 15 + [True] * 10 + [False] * 15
    likely = [number for number, boundary in boundaries(two_passes, windows) if boundary is Boundary.LIKELY_STOP]
    assert likely == [27, 52]


def test_a_likely_end_forgives_as_much_speech_as_it_is_told_to():
    strict = EndpointingConfig(likely_stop_window_seconds=0.32, likely_stop_threshold=0.0)
    lenient = EndpointingConfig(likely_stop_window_seconds=0.32, likely_stop_threshold=0.1)
    windows = [True] * 20 + [False] * 6 + [True] + [False] * 6
    assert boundaries(strict, windows) == [(2, Boundary.START)]
    assert boundaries(lenient, windows) == [(2, Boundary.START), (29, Boundary.LIKELY_STOP)]


@given(st.lists(st.booleans(), max_size=200))
def test_boundaries_alternate_and_begin_with_a_start(windows: list[bool]):
    kinds = [boundary for _, boundary in boundaries(EndpointingConfig(), windows)]
    assert kinds == [Boundary.START, Boundary.STOP] * (len(kinds) // 2) + [Boundary.START] * (len(kinds) % 2)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("start_window_seconds", 0.0),
        ("start_window_seconds", float("nan")),
        ("stop_window_seconds", 0.1),
        ("stop_window_seconds", 11.0),
        ("start_threshold", 0.0),
        ("start_threshold", 1.1),
        ("stop_threshold", -0.1),
        ("stop_threshold", 1.0),
        ("likely_stop_window_seconds", 0.032),
        ("likely_stop_window_seconds", 0.608),
        ("likely_stop_threshold", 1.0),
        ("speech_ends", 0.0),
        ("speech_ends", 0.6),
    ],
)
def test_a_bad_value_is_refused_by_name(field: str, value: float):
    with pytest.raises(InvalidInputError) as refused:
        EndpointingConfig(**{field: value})
    assert refused.value.field == f"config.endpointing.{field.removesuffix('_seconds')}"
