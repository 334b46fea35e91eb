"""Windows of an utterance's speech, and the spans of its speakers."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.recognition import Speaker, SpeakerSpan
from pipelines.models.speaker_port import WINDOW_SAMPLES
from pipelines.speakers.clustering import MAX_WINDOWS_AT_ONCE, Voices, tell_apart

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from pipelines.speakers.enrolled import EnrolledVoices

    Floats = npt.NDArray[np.float32]

HOP_SAMPLES = WINDOW_SAMPLES // 2
MIN_SAMPLES = MODEL_RATE_HZ // 5
"""Speech that is embedded at least: of less, no voice can be told."""
_MIN_LENGTH = 1e-9
_MIN_TAIL = MODEL_RATE_HZ // 4
"""New speech behind the last whole window for which there is a window more."""


@dataclass(slots=True)
class Utterance:
    """The speech of a turn so far.

    Speech is counted without what was not sent: silence of more than some windows.

    Attributes:
        windows: samples of speech where each embedded window begins and ends, in order.
        embeddings: of the windows, a unit vector each.
        heard_to: one past the last sample of the conversation that was taken.
        is_over: whether nothing follows.
    """

    windows: list[tuple[int, int]] = field(default_factory=list)
    embeddings: list[Floats] = field(default_factory=list)
    heard_to: int = 0
    is_over: bool = False
    _pieces: list[tuple[int, int, int]] = field(default_factory=list)
    _samples: Floats = field(default_factory=lambda: np.zeros(0, np.float32))
    _kept_from: int = 0
    _tail: tuple[int, Floats] | None = None

    @property
    def speech_samples(self) -> int:
        """Samples of speech so far."""
        return self._kept_from + len(self._samples)

    @property
    def is_embedded(self) -> bool:
        """True once a part of it can be told."""
        return bool(self.embeddings) or self._tail is not None

    def add(self, start: int, samples: Floats) -> None:
        """Take speech from sample ``start`` on; what was taken is left out."""
        new = samples[max(0, self.heard_to - start) :]
        if not len(new):
            return
        start = max(start, self.heard_to)
        begin = self.speech_samples
        if self._pieces and start == self.heard_to:
            first, at, _ = self._pieces[-1]
            self._pieces[-1] = (first, at, begin + len(new))
        else:
            self._pieces.append((start, begin, begin + len(new)))
        self.heard_to = start + len(new)
        self._samples = np.concatenate((self._samples, new))

    def due(self, *, at_once: bool) -> list[tuple[int, int]]:
        """Return the windows that are to be embedded now.

        Args:
            at_once: whether that begins with the rest behind the last whole window.
        """
        begin = self.windows[-1][0] + HOP_SAMPLES if self.windows else 0
        due = []
        while begin + WINDOW_SAMPLES <= self.speech_samples:
            due.append((begin, begin + WINDOW_SAMPLES))
            begin += HOP_SAMPLES
        heard = due[-1][1] if due else self.windows[-1][1] if self.windows else 0
        rest = self.speech_samples - heard
        if at_once and rest >= (_MIN_TAIL if heard else MIN_SAMPLES) and not self._tail_is_embedded:
            due.append((max(0, self.speech_samples - WINDOW_SAMPLES), self.speech_samples))
        return due

    def samples(self, window: tuple[int, int]) -> Floats:
        """Return the speech of a window."""
        return self._samples[window[0] - self._kept_from : window[1] - self._kept_from]

    def take(self, windows: Sequence[tuple[int, int]], embeddings: Floats) -> None:
        """Keep embeddings; forget speech that no later window needs."""
        for window, embedding in zip(windows, embeddings, strict=True):
            if window[1] - window[0] == WINDOW_SAMPLES and window[0] % HOP_SAMPLES == 0:
                self.windows.append(window)
                self.embeddings.append(embedding)
            else:
                self._tail = (window[1], embedding)
        keep = min(self.windows[-1][0] + HOP_SAMPLES, self.speech_samples) if self.windows else 0
        keep = max(self._kept_from, min(keep, self.speech_samples - WINDOW_SAMPLES))
        self._samples = self._samples[keep - self._kept_from :].copy()
        self._kept_from = keep

    def told(self, voices: Voices, enrolled: EnrolledVoices) -> tuple[Voices, tuple[SpeakerSpan, ...]]:
        """Tell the speakers apart; return the conversation's voices after it."""
        windows, embeddings = list(self.windows), list(self.embeddings)
        if self._tail is not None and self._tail[0] > (windows[-1][1] if windows else 0):
            windows.append((max(0, self._tail[0] - WINDOW_SAMPLES), self._tail[0]))
            embeddings.append(self._tail[1])
        tags: list[int] = []
        seconds = min(HOP_SAMPLES, self.speech_samples) / MODEL_RATE_HZ
        for first in range(0, len(embeddings), MAX_WINDOWS_AT_ONCE):
            voices, more = tell_apart(voices, np.stack(embeddings[first : first + MAX_WINDOWS_AT_ONCE]), seconds)
            tags += more
        speakers = {tag: Speaker(tag, _name(tag, tags, embeddings, seconds, enrolled)) for tag in set(tags)}
        return voices, self._spans(windows, [speakers[tag] for tag in tags])

    @property
    def _tail_is_embedded(self) -> bool:
        return self._tail is not None and self._tail[0] == self.speech_samples

    def _spans(self, windows: Sequence[tuple[int, int]], speakers: Sequence[Speaker]) -> tuple[SpeakerSpan, ...]:
        """Return what each speaker says, changes being halfway between windows' middles."""
        spans: list[SpeakerSpan] = []
        middles = [(begin + end) // 2 for begin, end in windows]
        edges = [
            0,
            *((one + other) // 2 for one, other in itertools.pairwise(middles)),
            self.speech_samples,
        ]
        for speaker, begin, end in zip(speakers, edges, edges[1:], strict=False):
            for first, at, stop in self._pieces:
                start, last = max(begin, at), min(end, stop)
                if start >= last:
                    continue
                span = SpeakerSpan(first + start - at, first + last - at, speaker)
                if spans and spans[-1].speaker == speaker and spans[-1].end == span.start:
                    span = SpeakerSpan(spans.pop().start, span.end, speaker)
                spans.append(span)
        return tuple(spans)


def _name(tag: int, tags: Sequence[int], embeddings: Sequence[Floats], seconds: float, enrolled: EnrolledVoices) -> str:
    mine = [embedding for embedding, one in zip(embeddings, tags, strict=True) if one == tag]
    mean = np.mean(mine, axis=0)
    return enrolled.name_of(mean / max(float(np.linalg.norm(mean)), _MIN_LENGTH), len(mine) * seconds)
