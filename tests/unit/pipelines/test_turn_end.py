"""When a turn is over, from probability and silence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.errors import InvalidInputError
from pipelines.vad.endpointing import Boundary, Endpointer, EndpointingConfig
from pipelines.vad.turn_end import SILENCES, EndpointingMode, Patience, ending_silence

probabilities = st.floats(0, 1)
patiences = st.sampled_from(Patience)


def by_model(**chosen: object) -> EndpointingConfig:
    return EndpointingConfig(mode=EndpointingMode.MODEL, **chosen)


@given(probabilities, probabilities, patiences)
def test_the_surer_the_model_is_the_sooner_a_turn_is_over(one: float, other: float, patience: Patience):
    low, high = sorted((one, other))
    assert ending_silence(high, patience) <= ending_silence(low, patience)


@given(probabilities)
def test_who_is_more_patient_never_ends_a_turn_sooner(probability: float):
    eager, normal, patient = (ending_silence(probability, patience) for patience in Patience)
    assert eager <= normal <= patient


@pytest.mark.parametrize("patience", Patience)
def test_the_silences_of_every_patience_reach_from_0_to_1(patience: Patience):
    points = [probability for probability, _ in SILENCES[patience]]
    assert (points[0], points[-1]) == (0, 1)
    assert points == sorted(set(points))
    assert [ending_silence(*point) for point in ((0, patience), (1, patience))] == [
        SILENCES[patience][0][1],
        SILENCES[patience][-1][1],
    ]


def test_between_two_points_the_silence_falls_evenly():
    (low, longer), (high, shorter) = SILENCES[Patience.NORMAL][:2]
    assert ending_silence((low + high) / 2, Patience.NORMAL) == pytest.approx((longer + shorter) / 2)


@given(probabilities | st.none(), patiences, st.floats(0.128, 10), st.floats(0.128, 10))
def test_no_turn_ends_outside_of_its_bounds(
    probability: float | None, patience: Patience, one: float, other: float
) -> None:
    shortest, longest = sorted((one, other))
    config = by_model(patience=patience, shortest_silence_seconds=shortest, longest_silence_seconds=longest)
    windows = config.unjudged_stop_windows if probability is None else config.stop_after(probability)
    windows = config.stop_windows if windows is None else windows
    assert round(shortest / 0.032) <= windows <= round(longest / 0.032)


def test_without_a_judgement_the_stop_window_decides():
    assert by_model().unjudged_stop_windows is None
    assert by_model(longest_silence_seconds=2.0).unjudged_stop_windows is None
    assert by_model(longest_silence_seconds=0.32).unjudged_stop_windows == 10
    assert by_model(shortest_silence_seconds=0.96).unjudged_stop_windows == 30


def test_an_utterance_ends_after_the_silence_that_it_is_given():
    follower, found = Endpointer(by_model()), []
    for number, speech in enumerate([True] * 20 + [False] * 30):
        follower, boundary = follower.push(speech=speech, stop_after=8)
        found += [(number, boundary)] if boundary else []
    assert found == [(2, Boundary.START), (27, Boundary.STOP)]


@pytest.mark.parametrize(
    ("field", "bounds"),
    [
        ("shortest_silence", {"shortest_silence_seconds": 0.1}),
        ("shortest_silence", {"shortest_silence_seconds": float("nan")}),
        ("longest_silence", {"longest_silence_seconds": 10.1}),
        ("shortest_silence", {"shortest_silence_seconds": 1.0, "longest_silence_seconds": 0.5}),
    ],
)
def test_a_bad_bound_is_refused_by_name(field: str, bounds: dict[str, float]):
    with pytest.raises(InvalidInputError) as refused:
        by_model(**bounds)
    assert refused.value.field == f"config.endpointing.{field}"
