"""Speech of recordings, as voices are enrolled from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.formats import MODEL_RATE_HZ, AudioFormat, Encoding
from pipelines.audio.high_pass import BLOCK_SAMPLES, HighPass
from pipelines.models.speaker_port import WINDOW_SAMPLES
from pipelines.vad.voice_activity import WINDOW_SAMPLES as VOICE_SAMPLES
from pipelines.vad.voice_activity import SileroModel, is_speech

if TYPE_CHECKING:
    import numpy.typing as npt

MAX_SECONDS = 600.0
"""Of a recording that is read; a minute is plenty."""
_WINDOWS_AT_A_TIME = 16


def speech_windows(data: bytes) -> list[npt.NDArray[np.float32]]:
    """Return the speech of a file in windows of 1.6 s that do not overlap.

    Args:
        data: the bytes of an audio file.

    Raises:
        UndecodableAudioError: they are none.
    """
    samples = _decoded(data)
    count = len(samples) // VOICE_SAMPLES
    voice, was_speech = SileroModel().new_stream(), False
    spoken = np.zeros(count, bool)
    for first in range(0, count, _WINDOWS_AT_A_TIME):
        stop = min(first + _WINDOWS_AT_A_TIME, count)
        windows = samples[first * VOICE_SAMPLES : stop * VOICE_SAMPLES].reshape(-1, VOICE_SAMPLES)
        for place, probability in enumerate(voice.probabilities(windows), first):
            spoken[place] = was_speech = is_speech(probability, was_speech=was_speech)
    speech = samples[: count * VOICE_SAMPLES].reshape(-1, VOICE_SAMPLES)[spoken].ravel()
    return [speech[at : at + WINDOW_SAMPLES] for at in range(0, len(speech) - WINDOW_SAMPLES // 2, WINDOW_SAMPLES)]


def _decoded(data: bytes) -> npt.NDArray[np.float32]:
    """Decode a file, and filter it as conversations are."""
    decoder = AudioDecoder(AudioFormat(Encoding.CONTAINER))
    blocks = [*decoder.decode(data), decoder.flush()]
    samples = np.concatenate(blocks)[: round(MAX_SECONDS * MODEL_RATE_HZ)]
    whole = samples[: len(samples) - len(samples) % BLOCK_SAMPLES]
    return HighPass().filter(whole.reshape(-1, BLOCK_SAMPLES)).ravel() if len(whole) else whole
