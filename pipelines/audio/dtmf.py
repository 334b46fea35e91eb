"""Detection of telephone keys: DTMF by ITU-T Q.23 and Q.24.

Each key is two tones at once, one of four rows and one of four columns. Frames of 25.6 ms, 10 ms apart, are compared
with all eight tones. A key is heard where two frames in a row hold the same two tones and hardly anything else.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from pipelines.audio.formats import MODEL_RATE_HZ

ROWS_HZ = (697.0, 770.0, 852.0, 941.0)
COLUMNS_HZ = (1209.0, 1336.0, 1477.0, 1633.0)
KEYS = ("123A", "456B", "789C", "*0#D")

FRAME_SAMPLES = 410
HOP_SAMPLES = 160
MIN_SHARE = 0.87
"""Of a frame's power that the two tones have at least. Speech, of which harmonics fall on tones, has less."""
MIN_TONE_SHARE = 0.08
"""Of each: a column may be 8 dB weaker than its row, and a row 4 dB weaker than its column, with room to spare."""
MIN_POWER = 1e-5
"""Mean square of a frame: -50 dB of full scale."""
MIN_FRAMES = 2
"""Frames in a row: 36 ms of tone. Q.24 wants 40 ms to be heard, and less than 23 ms not to be."""
MAX_GAP_FRAMES = 3
"""Frames without a tone in the middle of a key: a break of 10 ms spoils so many."""

_OFFSETS = (-0.012, 0.0, 0.012)
"""Tones are looked for beside their places too: they may be off by 1.5 %."""


def _references() -> npt.NDArray[np.complex64]:
    """Return a frame of each tone and offset, complex64 ``[samples, columns]``."""
    tones = np.array([hz * (1 + offset) for hz in (*ROWS_HZ, *COLUMNS_HZ) for offset in _OFFSETS])
    times = np.arange(FRAME_SAMPLES) / MODEL_RATE_HZ
    return np.asarray(np.exp(-2j * np.pi * np.outer(times, tones)), np.complex64)


_REFERENCES = _references()


class DtmfDetector:
    """Hears keys in a stream of audio at 16 kHz, and takes their tones out."""

    def __init__(self) -> None:
        self._kept = np.zeros(0, np.float32)
        self._candidate = self._pressed = ""
        self._frames = self._gap = 0
        self._in_tone = False

    def hear(self, samples: npt.NDArray[np.float32]) -> tuple[str, npt.NDArray[np.float32]]:
        """Take the next piece of audio.

        Args:
            samples: float32 ``[samples]``, -1 to 1.

        Returns:
            The keys that were pressed, and the audio with silence in the place of tones. The first 25 ms of a tone may
            be left where they lie in an earlier piece.
        """
        audio = np.concatenate([self._kept, samples])
        count = max(0, (len(audio) - FRAME_SAMPLES) // HOP_SAMPLES + 1)
        kept_before = len(self._kept)
        self._kept = audio[count * HOP_SAMPLES :]
        if not count:
            return "", np.zeros_like(samples) if self._in_tone else samples
        frames = np.lib.stride_tricks.sliding_window_view(audio, FRAME_SAMPLES)[::HOP_SAMPLES][:count]
        heard = _keys_of(frames)
        pressed = "".join(self._follow(key) for key in heard)
        self._in_tone = bool(heard[-1])
        if not any(heard):
            return pressed, samples
        samples = samples.copy()
        for number, key in enumerate(heard):
            start = number * HOP_SAMPLES - kept_before
            if key:
                samples[max(0, start) : max(0, start + FRAME_SAMPLES)] = 0.0
        if self._in_tone:
            # It probably goes on.
            samples[max(0, start) :] = 0.0
        return pressed, samples

    def _follow(self, key: str) -> str:
        """Take the next frame's key, "" for none; return the key that is now pressed."""
        if key and key == self._pressed:
            self._gap = 0
            return ""
        self._gap = 0 if key else self._gap + 1
        if self._gap > MAX_GAP_FRAMES:
            self._pressed = ""
        self._frames = self._frames + 1 if key and key == self._candidate else bool(key)
        self._candidate = key
        if self._frames < MIN_FRAMES:
            return ""
        self._pressed, self._candidate, self._frames = key, "", 0
        return key


def _keys_of(frames: npt.NDArray[np.float32]) -> list[str]:
    """Return the key of each frame, "" for none; float32 ``[frames, samples]``."""
    powers = np.mean(np.square(frames), axis=1)
    amplitudes = np.abs(frames @ _REFERENCES).reshape(len(frames), -1, len(_OFFSETS)).max(axis=2)
    shares = 2 * np.square(amplitudes / FRAME_SAMPLES) / np.maximum(powers, MIN_POWER)[:, None]
    rows, columns = shares[:, : len(ROWS_HZ)], shares[:, len(ROWS_HZ) :]
    row, column = rows.argmax(axis=1), columns.argmax(axis=1)
    row_share, column_share = rows.max(axis=1), columns.max(axis=1)
    is_key = (
        (powers > MIN_POWER)
        & (row_share + column_share > MIN_SHARE)
        & (np.minimum(row_share, column_share) > MIN_TONE_SHARE)
    )
    return [KEYS[r][c] if yes else "" for r, c, yes in zip(row, column, is_key, strict=True)]
