"""Endpointing: begin and end of utterances, by windows of speech and silence.

No clock and no I/O: what counts is the audio, so that a file sent faster than real time is cut as if it were live.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, field

from msgspec import Struct
from msgspec.structs import replace

from pipelines.errors import InvalidInputError
from pipelines.vad.turn_end import EndpointingMode, Patience, ending_silence
from pipelines.vad.voice_activity import SPEECH_BEGINS, SPEECH_ENDS, WINDOW_SECONDS


@dataclass(frozen=True, slots=True)
class EndpointingConfig:
    """Settings of the begin and end of utterances.

    Attributes:
        enabled: whether silence ends an utterance; otherwise only the caller does (push-to-talk).
        start_window_seconds: length of the window that begins an utterance.
        start_threshold: share of it that must be speech.
        stop_window_seconds: length of the window that ends an utterance.
        stop_threshold: the utterance ends when no more than this share of it is speech.
        likely_stop_window_seconds: length of a shorter window that makes the end likely, of which the caller is then
            told; None for no such window.
        likely_stop_threshold: the end is likely when no more than this share of that window is speech.
        speech_begins: probability from which on a window of 32 ms is speech after silence.
        speech_ends: probability below which it is silence after speech.
        mode: what decides whether a pause is the end of an utterance.
        patience: how long a speaker may think, where the model decides.
        shortest_silence_seconds: silence that an utterance never ends before, where the model decides; None: as short
            as the patience allows.
        longest_silence_seconds: silence that always ends an utterance, where the model decides; None: as long as the
            patience allows.
        start_windows, stop_windows, likely_stop_windows: the lengths in windows of 32 ms.
        unjudged_stop_windows: silence that ends an utterance while the model has not judged it, in windows; None where
            the stop window decides.

    Raises:
        InvalidInputError: a value is out of its range; the error names the field.
    """

    enabled: bool = True
    start_window_seconds: float = 0.160
    start_threshold: float = 0.6
    stop_window_seconds: float = 0.608
    stop_threshold: float = 0.05
    likely_stop_window_seconds: float | None = None
    likely_stop_threshold: float = 0.05
    speech_begins: float = SPEECH_BEGINS
    speech_ends: float = SPEECH_ENDS
    mode: EndpointingMode = EndpointingMode.SILENCE
    patience: Patience = Patience.NORMAL
    shortest_silence_seconds: float | None = None
    longest_silence_seconds: float | None = None
    start_windows: int = field(init=False, repr=False, compare=False)
    stop_windows: int = field(init=False, repr=False, compare=False)
    likely_stop_windows: int | None = field(init=False, repr=False, compare=False)
    unjudged_stop_windows: int | None = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        _check("start_window", self.start_window_seconds, 0.032, 2.0, "s")
        _check("stop_window", self.stop_window_seconds, 0.128, 10.0, "s")
        if not 0 < self.start_threshold <= 1:
            raise _out_of_range("start_threshold", self.start_threshold, "above 0 and at most 1")
        if not 0 <= self.stop_threshold < 1:
            raise _out_of_range("stop_threshold", self.stop_threshold, "0 to below 1")
        if not 0 <= self.likely_stop_threshold < 1:
            raise _out_of_range("likely_stop_threshold", self.likely_stop_threshold, "0 to below 1")
        if not 0 < self.speech_ends <= self.speech_begins <= 1:
            raise _out_of_range(
                "speech_ends", self.speech_ends, "above 0 and at most speech_begins, which is at most 1"
            )
        self._check_likely_stop()
        # Read for every window of audio.
        likely, stop = self.likely_stop_window_seconds, self._bounded(self.stop_window_seconds)
        object.__setattr__(self, "start_windows", _windows(self.start_window_seconds))
        object.__setattr__(self, "stop_windows", _windows(self.stop_window_seconds))
        object.__setattr__(self, "likely_stop_windows", None if likely is None else _windows(likely))
        object.__setattr__(self, "unjudged_stop_windows", None if stop == self.stop_window_seconds else _windows(stop))

    def _check_likely_stop(self) -> None:
        self._check_bounds()
        window = self.likely_stop_window_seconds
        if window is None:
            return
        _check("likely_stop_window", window, 0.064, 10.0, "s")
        if window >= self.stop_window_seconds:
            raise _out_of_range("likely_stop_window", window, "shorter than stop_window")

    def _check_bounds(self) -> None:
        shortest, longest = self.shortest_silence_seconds, self.longest_silence_seconds
        if shortest is not None:
            _check("shortest_silence", shortest, 0.128, 10.0, "s")
        if longest is not None:
            _check("longest_silence", longest, 0.128, 10.0, "s")
        if shortest is not None and longest is not None and shortest > longest:
            raise _out_of_range("shortest_silence", shortest, f"at most longest_silence, which is {longest:g} s")

    def stop_after(self, probability: float) -> int:
        """Return the windows of silence that end an utterance, by the model's judgement."""
        return _windows(self._bounded(ending_silence(probability, self.patience)))

    def _bounded(self, seconds: float) -> float:
        shortest, longest = self.shortest_silence_seconds, self.longest_silence_seconds
        at_least = seconds if shortest is None else max(seconds, shortest)
        return at_least if longest is None else min(at_least, longest)


class Boundary(enum.Enum):
    """Boundary completed by a window."""

    START = "start"
    LIKELY_STOP = "likely_stop"
    STOP = "stop"


class Endpointer(Struct, frozen=True):
    """Immutable endpointer of one stream; :meth:`push` returns the next one.

    Attributes:
        config: the caller's parameters.
        speaking: whether an utterance is under way.
        recent: speech or silence of the last windows, oldest first, as many as a decision needs.
        trailing_silence: windows since the last speech.
        stop_is_likely: whether the end was found to be likely since the last speech.
    """

    config: EndpointingConfig
    speaking: bool = False
    recent: tuple[bool, ...] = ()
    trailing_silence: int = 0
    stop_is_likely: bool = False

    def push(self, *, speech: bool, stop_after: int | None = None) -> tuple[Endpointer, Boundary | None]:
        """Take the next window; return the next endpointer and the boundary.

        Args:
            speech: whether somebody speaks in it.
            stop_after: windows of silence that end the utterance; None: the stop window decides.
        """
        span = self.config.stop_windows if self.speaking else self.config.start_windows
        following = replace(
            self,
            recent=(*self.recent, speech)[-span:],
            trailing_silence=0 if speech else self.trailing_silence + 1,
            stop_is_likely=self.stop_is_likely and not speech,
        )
        if not self.speaking:
            return (following.begin(), Boundary.START) if following.has_started() else (following, None)
        silence = following.trailing_silence
        if following.has_stopped() if stop_after is None else silence >= stop_after:
            return following.end(), Boundary.STOP
        likely = self.config.likely_stop_windows
        if likely is not None and silence and not following.stop_is_likely and following.has_likely_stopped(likely):
            return replace(following, stop_is_likely=True), Boundary.LIKELY_STOP
        return following, None

    def begin(self) -> Endpointer:
        """Return the follower for which an utterance is under way."""
        return replace(self, speaking=True)

    def end(self) -> Endpointer:
        """Return the follower for which no utterance is under way."""
        return replace(self, speaking=False, recent=(), stop_is_likely=False)

    def has_started(self) -> bool:
        """Return whether the start window has speech enough."""
        return sum(self.recent) >= max(1, math.ceil(self.config.start_threshold * self.config.start_windows - 1e-9))

    def has_stopped(self) -> bool:
        """Return whether the full stop window has little enough speech."""
        windows = self.config.stop_windows
        full = len(self.recent) == windows
        return self.config.enabled and full and sum(self.recent) <= self.config.stop_threshold * windows + 1e-9

    def has_likely_stopped(self, windows: int) -> bool:
        """Return whether so many last windows have little enough speech for a likely end."""
        if not self.config.enabled or len(self.recent) < windows:
            return False
        return sum(self.recent[-windows:]) <= self.config.likely_stop_threshold * windows + 1e-9

    def windows_since_onset(self) -> int | None:
        """Return the windows since speech began, the last being 1, or None."""
        return len(self.recent) - self.recent.index(True) if True in self.recent else None


def _windows(seconds: float) -> int:
    return max(1, round(seconds / WINDOW_SECONDS))


def _check(name: str, value: float, low: float, high: float, unit: str) -> None:
    if not low <= value <= high:
        raise _out_of_range(name, value, f"{low:g} to {high:g} {unit}")


def _out_of_range(name: str, value: float, allowed: str) -> InvalidInputError:
    return InvalidInputError(
        f"config.endpointing.{name}", "ENDPOINTING_OUT_OF_RANGE", f"{name} is {value:g}: it must be {allowed}"
    )
