"""A voice in the background is told from the speaker by its level, and ends a turn as silence does."""

from __future__ import annotations

import numpy as np
import pytest

from pipelines.turns import events
from pipelines.turns.machine import step
from pipelines.turns.state import State, TurnSettings
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.foreground import Foreground
from pipelines.vad.turn_end import EndpointingMode
from pipelines.vad.voice_activity import WINDOW_SAMPLES, WINDOW_SECONDS


def heard(*parts: tuple[float, float, float]) -> list[bool]:
    """Returns what is in the background of parts: seconds, decibels of full scale, probability of speech."""
    foreground, found = Foreground(), []
    for seconds, decibels, probability in parts:
        count = round(seconds / WINDOW_SECONDS)
        windows = np.full((count, WINDOW_SAMPLES), 10 ** (decibels / 20), np.float32)
        found += foreground.follow(windows, [probability] * count)
    return found


@pytest.mark.parametrize(
    ("parts", "seconds"),
    [
        # A television before, behind and after a question.
        (((1.0, -32, 0.9), (1.5, -20, 0.9), (2.0, -32, 0.9)), 2.0 - 0.64),
        (((1.0, -32, 0.9),), 0.0),
        # The end of a sentence is softer, and so is a word after a pause.
        (((1.5, -20, 0.9), (0.5, -32, 0.9)), 0.0),
        (((1.5, -20, 0.9), (2.0, -70, 0.0), (0.35, -32, 0.9)), 0.0),
        (((1.5, -20, 0.9), (2.0, -26, 0.9)), 0.0),
        # It is not speech.
        (((1.5, -20, 0.9), (2.0, -32, 0.1)), 0.0),
        # Somebody else, much softer, is listened to in the end.
        (((1.5, -20, 0.9), (30.0, -32, 0.9)), 4.0 - 0.64),
    ],
)
def test_what_goes_on_much_softer_is_in_the_background(parts: tuple, seconds: float) -> None:
    assert sum(heard(*parts)) * WINDOW_SECONDS == pytest.approx(seconds, abs=0.1)


def test_a_background_ends_a_turn_after_the_stop_window_whatever_the_model_says() -> None:
    state = State.initial(TurnSettings(EndpointingConfig(mode=EndpointingMode.MODEL)))
    told: list[object] = []
    for number in range(100):
        event = events.Heard(((0.9, number >= 40),), number * WINDOW_SECONDS)
        state, effects = step(state, event)
        told += effects
    ended = [effect.message for effect in told if type(getattr(effect, "message", None)).__name__ == "SpeechEnded"]
    (only,) = ended
    assert only.end == 40 * WINDOW_SAMPLES
    assert only.silence == pytest.approx(EndpointingConfig().stop_windows * WINDOW_SAMPLES)
