"""Audio of one conversation: bytes become samples, then judged windows.

No I/O, and no clock.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.decoding import AudioDecoder
from pipelines.audio.dtmf import DtmfDetector
from pipelines.audio.high_pass import BLOCK_SAMPLES, HighPass
from pipelines.audio.resampling import NO_SAMPLES
from pipelines.errors import InvalidInputError
from pipelines.input.timeline import Timeline
from pipelines.vad.foreground import Foreground
from pipelines.vad.voice_activity import WINDOW_SAMPLES

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from pipelines.audio.formats import AudioFormat
    from pipelines.turns.events import Window
    from pipelines.vad.voice_activity import VoiceActivity

WINDOWS_AT_A_TIME = 16
"""Windows that are judged before other conversations have a turn: half a second of audio, 1 ms of work."""


class AudioInput:
    """Audio on its way to the turns.

    It is decoded, without keys, behind a high-pass filter, and judged window by window.

    Args:
        audio_format: what bytes are; None where audio comes decoded, or not at all.
        voice: judges it; None where none will come.
        hears_keys: whether keys of a telephone are looked for.

    Attributes:
        end: number of the sample that comes next, 16 kHz.
        judged_to: one past the last sample that was judged.
    """

    def __init__(self, audio_format: AudioFormat | None, voice: VoiceActivity | None, *, hears_keys: bool) -> None:
        self.end = self.judged_to = 0
        self._decoder = AudioDecoder(audio_format) if audio_format else None
        self._keys = DtmfDetector() if hears_keys else None
        self._voice = voice
        self._foreground = Foreground()
        self._high_pass = HighPass()
        self._timeline = Timeline()
        # What is no whole block of the filter yet, as it came.
        self._unfiltered = NO_SAMPLES

    def decode(self, data: bytes) -> Iterator[npt.NDArray[np.float32]]:
        """Return the audio that bytes complete, block by block.

        Returns:
            Blocks as they are asked for, float32 ``[samples]`` at 16 kHz.

        Raises:
            InvalidInputError: no audio format was named, or the bytes cannot be decoded.
        """
        if self._decoder is None:
            raise InvalidInputError("audio", "NO_AUDIO_CONFIG", "audio came, but the config names no audio format")
        return self._decoder.decode(data)

    def flush(self) -> None:
        """Take in what was held back for want of what follows.

        Raises:
            UndecodableAudioError: the audio breaks off in a way that its encoding does not allow.
        """
        if self._decoder is not None:
            self.add(self._decoder.flush())

    def take_damage(self) -> list[str]:
        """Return a sentence for each new kind of damage; damaged audio was left out."""
        return self._decoder.take_damage() if self._decoder is not None else []

    def without_keys(self, samples: npt.NDArray[np.float32]) -> tuple[str, npt.NDArray[np.float32]]:
        """Return the keys in the next samples, and these without their tones."""
        return ("", samples) if self._keys is None else self._keys.hear(samples)

    def add(self, samples: npt.NDArray[np.float32]) -> None:
        """Take the next samples in, float32 ``[samples]`` at 16 kHz."""
        self.end += len(samples)
        heard = np.concatenate((self._unfiltered, samples)) if len(self._unfiltered) else samples
        whole = len(heard) - len(heard) % BLOCK_SAMPLES
        if whole:
            self._timeline.append(self._high_pass.filter(heard[:whole].reshape(-1, BLOCK_SAMPLES)).ravel())
        # A copy: the block that it is a part of need not be kept.
        self._unfiltered = heard[whole:].copy()

    def get(self, start: int, stop: int) -> npt.NDArray[np.float32]:
        """Return samples ``start`` up to ``stop``, exclusive, float32 ``[samples]``.

        Raises:
            IndexError: some of them were forgotten, or were not heard yet.
        """
        filtered = self._timeline.end
        if stop <= filtered:
            return self._timeline.get(start, stop)
        if not start <= stop <= self.end:
            raise IndexError(f"samples {start} to {stop} are not held: they were heard up to {self.end}")
        begun = self._high_pass.peek(self._unfiltered)[max(0, start - filtered) : stop - filtered]
        return np.concatenate((self._timeline.get(min(start, filtered), filtered), begun))

    def judge(self) -> list[Window]:
        """Judge the next whole windows, at most `WINDOWS_AT_A_TIME`."""
        if self._voice is None:
            return []
        judged = self.judged_to // WINDOW_SAMPLES
        windows = min(self._timeline.end // WINDOW_SAMPLES - judged, WINDOWS_AT_A_TIME - judged % WINDOWS_AT_A_TIME)
        if not windows:
            return []
        start, self.judged_to = self.judged_to, self.judged_to + windows * WINDOW_SAMPLES
        samples = self._timeline.get(start, self.judged_to).reshape(windows, WINDOW_SAMPLES)
        probabilities = self._voice.probabilities(samples)
        return list(zip(probabilities, self._foreground.follow(samples, probabilities), strict=True))

    def forget_before(self, sample: int) -> None:
        """Forget all audio before ``sample`` that was judged."""
        self._timeline.forget_before(min(sample, self.judged_to))
