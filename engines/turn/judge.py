"""Judgement of a pause: two linear steps on sound and text results.

The first weighs what the network for sound hears in and before the pause; the second weighs its result with the words
and with how long the silence has been. How long the speech was tells nothing: a turn may be one word or a story.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from engines.turn.sound import FRAME_SAMPLES

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

    from engines.turn.sound import Heard

    Floats = npt.NDArray[np.float32]

_FRAMES_A_SECOND = 16_000 // FRAME_SAMPLES
_LAST, _BEFORE = round(0.3 * _FRAMES_A_SECOND), round(1.0 * _FRAMES_A_SECOND)
_MAX_SILENCE_SECONDS = 1.5


class JudgeFileError(ValueError):
    """A file holds no weights of a judge; the message names it."""


@dataclass(frozen=True, slots=True, eq=False)
class Judge:
    """Weights of both steps, float32.

    Attributes:
        sound_mean: of :func:`sound_evidence` in training, ``[evidence]``.
        sound_scale: by which the difference from it is multiplied, and weighed, ``[evidence]``.
        sound_bias: ``[]``.
        weights: of :func:`evidence`, ``[evidence]``.
        bias: ``[]``.
    """

    sound_mean: Floats
    sound_scale: Floats
    sound_bias: Floats
    weights: Floats
    bias: Floats

    @classmethod
    def load(cls, path: Path) -> Judge:
        """Read ``judge.npz``.

        Raises:
            JudgeFileError: it holds something else.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                return cls(*(arrays[field.name] for field in fields(cls)))
        except (OSError, EOFError, KeyError, ValueError) as error:
            raise JudgeFileError(f"{path} holds no weights of a judge: train them again ({error})") from error

    def save(self, path: Path) -> None:
        """Write ``judge.npz``."""
        np.savez(path, **{field.name: getattr(self, field.name) for field in fields(self)})

    def sound_logit(self, heard: Heard, silence: float) -> float:
        """Judge by sound alone."""
        found = sound_evidence(heard, silence) - self.sound_mean
        return float(found @ self.sound_scale + self.sound_bias)

    def probability(self, heard: Heard, silence: float, word_logit: float | None) -> float:
        """Return how probable it is that the turn is over.

        Args:
            heard: by the network for sound.
            silence: seconds at the end of the sound.
            word_logit: of the network for text; None where there are no words.
        """
        found = evidence(self.sound_logit(heard, silence), silence, word_logit)
        return float(1 / (1 + np.exp(-(found @ self.weights + self.bias))))


def sound_evidence(heard: Heard, silence: float) -> Floats:
    """Return features of the sound: whole, last 0.3 s, second before, silence."""
    quiet = round(min(silence, _MAX_SILENCE_SECONDS) * _FRAMES_A_SECOND)
    end = max(_LAST, len(heard.frames) - quiet)
    parts = (
        heard.frames[end - _LAST : end],
        heard.frames[max(0, end - _BEFORE) : max(1, end - _LAST)],
        heard.frames[min(end, len(heard.frames) - 1) :],
    )
    found: Floats = np.concatenate([[heard.logit], heard.summary, *(part.mean(axis=0) for part in parts)])
    return found.astype(np.float32)


def evidence(sound: float, silence: float, word_logit: float | None) -> Floats:
    """Return the final features; see :meth:`Judge.probability`."""
    return np.array([sound, min(silence, _MAX_SILENCE_SECONDS), word_logit or 0.0], np.float32)
