"""What the options of Riva's pipelines choose."""

import pytest

from pipelines.errors import InvalidInputError
from pipelines.vad.voice_activity import SPEECH_BEGINS, SPEECH_ENDS
from service.api.riva.asr.options import ends_utterance, to_options


@pytest.mark.parametrize(
    ("values", "begins", "ends"),
    [
        ({}, SPEECH_BEGINS, SPEECH_ENDS),
        ({"neural_vad.onset": "0.8"}, 0.8, SPEECH_ENDS),
        ({"neural_vad.onset": "0.3"}, 0.3, 0.3),
        ({"neural_vad.offset": "0.2"}, SPEECH_BEGINS, 0.2),
        ({"neural_vad.offset": "0.6"}, 0.6, 0.6),
        ({"neural_vad.onset": "0.6", "neural_vad.offset": "0.55"}, 0.6, 0.55),
    ],
)
def test_a_threshold_that_was_not_sent_gives_way_to_the_other_one(values: dict[str, str], begins: float, ends: float):
    options = to_options(values, "f")
    assert (options.speech_begins, options.speech_ends) == (begins, ends)


def test_thresholds_that_cross_are_refused():
    with pytest.raises(InvalidInputError, match=r"neural_vad.offset must be at most that of neural_vad.onset, 0.3"):
        to_options({"neural_vad.onset": "0.3", "neural_vad.offset": "0.31"}, "f")


@pytest.mark.parametrize(("value", "ends"), [("true", True), ("True", True), (" FALSE ", False)])
def test_truth_values_are_read_alike_wherever_they_stand(value: str, ends: bool):
    assert ends_utterance({"force_eou": value}) is ends
    assert to_options({"apply_partial_itn": value}, "f").figures_in_partials is ends
