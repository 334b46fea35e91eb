"""What interrupts a spoken reply, and what does not."""

import pytest

from pipelines.data.messages import EndReason
from pipelines.errors import InvalidInputError
from pipelines.turns.interruption import BACKCHANNELS, InterruptionConfig, Verdict, is_backchannel, verdict
from pipelines.turns.turn import Segment, Turn

DEFAULT = InterruptionConfig()


def speech(seconds: float, text: str = "", *, is_over: bool = False, failed: bool = False) -> Turn:
    return Turn(
        2,
        speech_windows=round(seconds / 0.032),
        segments=(Segment(1, 0, 100, text=text, covered_to=100, closing=is_over, final=is_over),),
        ended_at=1.0 if is_over else None,
        reason=EndReason.SILENCE if is_over else None,
        asr_failed=failed,
    )


@pytest.mark.parametrize(
    "text",
    [
        "Mhm.",
        "mm-hmm",
        "Yeah, okay.",
        "OKAY",
        "Uh-huh!",
        "right",
        "All right, I see.",
        "Yeah yeah yeah",
        "I'm him.",
        "And him",
    ],
)
def test_what_listeners_say_is_a_backchannel(text: str) -> None:
    assert is_backchannel(text, BACKCHANNELS)


@pytest.mark.parametrize("text", ["", "...", "stop", "yeah but what about Monday", "okay stop", "no", "wait"])
def test_what_means_more_is_none(text: str) -> None:
    assert not is_backchannel(text, BACKCHANNELS)


@pytest.mark.parametrize(
    ("turn", "pauses", "expected"),
    [
        (speech(0.3), False, Verdict.HOLD),
        (speech(0.5, "turn the"), False, Verdict.HOLD),
        (speech(0.8, "turn the lights"), False, Verdict.INTERRUPT),
        (speech(0.8, ""), False, Verdict.HOLD),
        (speech(0.8, "yah o"), False, Verdict.HOLD),
        (speech(1.3, ""), False, Verdict.INTERRUPT),
        (speech(0.8, "yeah okay rig"), False, Verdict.HOLD),
        (speech(1.3, "yeah okay rig"), False, Verdict.INTERRUPT),
        (speech(1.4, "okay, right"), False, Verdict.HOLD),
        (speech(1.7, "okay, right"), False, Verdict.INTERRUPT),
        (speech(0.4, "Yeah."), True, Verdict.GO_ON),
        (speech(0.4, ""), True, Verdict.GO_ON),
        (speech(0.4, "Stop."), True, Verdict.INTERRUPT),
        (speech(0.1, "Stop."), True, Verdict.GO_ON),
        (speech(0.4, "Yeah.", is_over=True), False, Verdict.IGNORE),
        (speech(0.1, "Stop.", is_over=True), False, Verdict.IGNORE),
        (speech(0.4, "Stop.", is_over=True), False, Verdict.INTERRUPT),
        (speech(0.4, "Yeah.", is_over=True, failed=True), False, Verdict.INTERRUPT),
    ],
)
def test_speech_is_judged_by_its_length_and_its_words(turn: Turn, pauses: bool, expected: Verdict) -> None:
    assert verdict(DEFAULT, turn, rests=pauses, pauses=pauses, is_noise=False) is expected


def test_the_words_of_speech_that_is_over_are_waited_for() -> None:
    open_end = Turn(2, speech_windows=15, segments=(Segment(1, 0, 100, closing=True),), ended_at=1.0)
    assert verdict(DEFAULT, open_end, rests=False, pauses=False, is_noise=False) is Verdict.HOLD


@pytest.mark.parametrize(("seconds", "expected"), [(0.15, Verdict.GO_ON), (0.3, Verdict.HOLD)])
def test_a_sound_too_short_to_interrupt_is_not_waited_for_until_it_is_recognized(
    seconds: float, expected: Verdict
) -> None:
    assert verdict(DEFAULT, speech(seconds), rests=True, pauses=False, is_noise=False) is expected


def test_noise_does_not_interrupt() -> None:
    assert verdict(DEFAULT, speech(0.4, "Thank you."), rests=True, pauses=True, is_noise=True) is Verdict.GO_ON


def test_without_backchannels_all_speech_that_is_long_enough_interrupts() -> None:
    config = InterruptionConfig(shortest_speech_seconds=0.3, backchannels=())
    assert verdict(config, speech(0.25, "yeah"), rests=False, pauses=False, is_noise=False) is Verdict.HOLD
    assert verdict(config, speech(0.32, "yeah"), rests=False, pauses=False, is_noise=False) is Verdict.INTERRUPT


@pytest.mark.parametrize(
    ("chosen", "reason"),
    [
        ({"shortest_speech_seconds": -0.1}, "INTERRUPTION_OUT_OF_RANGE"),
        ({"shortest_speech_seconds": 5.1}, "INTERRUPTION_OUT_OF_RANGE"),
        ({"shortest_speech_seconds": float("nan")}, "INTERRUPTION_OUT_OF_RANGE"),
        ({"backchannels": ("yes",) * 101}, "TOO_MANY_BACKCHANNELS"),
        ({"backchannels": ("...",)}, "BAD_BACKCHANNEL"),
        ({"backchannels": ("a" * 51,)}, "BAD_BACKCHANNEL"),
    ],
)
def test_what_cannot_be_honoured_is_refused(chosen: dict[str, object], reason: str) -> None:
    with pytest.raises(InvalidInputError) as refused:
        InterruptionConfig(**chosen)
    assert refused.value.reason == reason
    assert refused.value.field.startswith("config.interruption.")
