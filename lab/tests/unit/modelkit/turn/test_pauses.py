from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from modelkit.turn import pauses
from modelkit.turn.pauses import (
    SAMPLE_RATE,
    SPLICED_SECONDS,
    Recording,
    blend,
    end_of_speech,
    find_pauses,
    quiet_places,
    room_noise,
    spliced_end,
    spliced_pauses,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

WINDOW = 512


def loud_windows(samples: npt.NDArray[np.float32]) -> npt.NDArray[np.bool_]:
    """Takes for speech what is loud, without lag."""
    windows = samples[: len(samples) // WINDOW * WINDOW].reshape(-1, WINDOW)
    return np.sqrt(np.mean(np.square(windows), axis=1)) > 0.03


@pytest.fixture(autouse=True)
def _loudness_is_speech(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pauses, "speech_windows", loud_windows)


def sound(*script: tuple[float, float]) -> npt.NDArray[np.float32]:
    """Noise by a script of seconds and levels."""
    rng = np.random.default_rng(3)
    parts = [level * rng.standard_normal(round(seconds * SAMPLE_RATE)) for seconds, level in script]
    return np.concatenate(parts).astype(np.float32)


@pytest.fixture
def record() -> Callable[..., Recording]:
    return lambda *script: Recording.of("r", sound(*script))


QUIET, LOUD = 0.002, 0.2


def test_pauses_and_the_end_are_found_in_order(record: Callable[..., Recording]):
    recording = record((1, QUIET), (0.8, LOUD), (0.48, QUIET), (0.8, LOUD), (0.1, QUIET), (0.8, LOUD), (4, QUIET))
    hold, end = find_pauses(recording)
    assert (hold.is_end, end.is_end) == (False, True)
    assert hold.seconds == pytest.approx(0.48, abs=0.07)
    assert end.seconds == pytest.approx(2.5, abs=0.07)
    assert len(hold.heard(0.2)) == hold.start + 3_200
    assert hold.start / SAMPLE_RATE == pytest.approx(0.3 + 0.8, abs=0.1)


def test_a_recording_without_speech_has_no_pauses(record: Callable[..., Recording]):
    recording = record((2, QUIET))
    assert find_pauses(recording) == []
    assert spliced_end(recording, np.random.default_rng(1)) is None


def test_a_recording_that_stops_with_its_speech_has_no_end(record: Callable[..., Recording]):
    assert find_pauses(record((0.5, QUIET), (1, LOUD))) == []


def test_quiet_places_lie_between_words_and_apart(record: Callable[..., Recording]):
    recording = record((0.3, QUIET), (0.5, LOUD), (0.06, 0.01), (0.5, LOUD), (0.06, 0.005), (0.5, LOUD), (1, QUIET))
    gaps = [(round(0.8 * 16_000), round(0.86 * 16_000)), (round(1.36 * 16_000), round(1.42 * 16_000))]
    places = quiet_places(recording, gaps, 5)
    assert [round(at / 16_000, 1) for at in places] == [1.4, 0.8]
    assert quiet_places(recording, gaps, 1) == places[:1]
    assert quiet_places(recording, [(12_000, 12_000)], 5) == []
    assert len(quiet_places(recording, [gaps[0], gaps[0]], 5)) == 1


def test_a_pause_is_put_in_with_silence_of_the_recording(record: Callable[..., Recording]):
    recording = record((0.3, QUIET), (0.8, LOUD), (0.06, QUIET), (0.8, LOUD), (1, QUIET))
    (pause,) = spliced_pauses(recording, [(round(1.1 * 16_000), round(1.16 * 16_000))], 2, np.random.default_rng(1))
    assert pause.is_spliced
    assert not pause.is_end
    assert pause.seconds == pytest.approx(SPLICED_SECONDS, abs=0.15)
    silence = pause.recording.samples[pause.start + 1_600 : pause.start + 16_000]
    assert np.sqrt(np.mean(silence**2)) == pytest.approx(QUIET, rel=0.1)
    assert len(pause.recording.samples) > len(recording.samples) + 1.9 * SAMPLE_RATE


def test_an_end_gets_the_silence_that_pauses_get(record: Callable[..., Recording]):
    recording = record((0.3, QUIET), (0.8, LOUD), (1, QUIET))
    end = spliced_end(recording, np.random.default_rng(1))
    assert end is not None
    assert end.is_end
    assert end.is_spliced
    assert end.seconds == pytest.approx(SPLICED_SECONDS, abs=0.15)
    assert end_of_speech(recording) / SAMPLE_RATE == pytest.approx(1.1, abs=0.03)


def test_without_a_stretch_of_silence_nothing_is_put_in(record: Callable[..., Recording]):
    recording = record((0.8, LOUD), (0.06, QUIET), (0.8, LOUD))
    assert room_noise(recording, 16_000, np.random.default_rng(1)) is None
    assert spliced_pauses(recording, [(12_800, 13_760)], 2, np.random.default_rng(1)) == []


def test_what_is_drawn_hangs_on_the_seed(record: Callable[..., Recording]):
    recording = record((0.3, QUIET), (0.8, LOUD), (1, QUIET))
    made = [room_noise(recording, 20_000, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert np.array_equal(made[0], made[1])
    assert not np.array_equal(made[0], made[2])


def test_blending_keeps_the_level_and_loses_the_overlap():
    before, after = np.ones(1_000, np.float32), np.zeros(1_000, np.float32)
    joined = blend(before, after)
    assert len(joined) == 2_000 - 80
    assert np.all(np.diff(joined) <= 1e-6)
    assert len(blend(before, after[:0])) == 1_000


def test_speech_is_found_by_voice_activity_detection():
    # In a process of its own: the detector brings an ONNX Runtime, which may crash beside those of other tests.
    program = (
        "import numpy as np; from modelkit.turn.pauses import speech_windows; "
        f"noise = ({QUIET} * np.random.default_rng(3).standard_normal(16_000)).astype(np.float32); "
        "print(speech_windows(noise).any(), len(speech_windows(noise)))"
    )
    result = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True)
    assert result.stdout.split() == ["False", "31"]
