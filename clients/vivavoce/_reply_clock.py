"""Client-side latency of replies.

The clock runs from the moment in which the message that completes an utterance is handed to the connection. Which
message that is depends on what ended the utterance:

- `EndOfUtterance` and typed turns: that message itself, which the reply names (not by a server of before 0.2);
- the end of the audio: the half-close;
- silence: the audio chunk that completes the silence that the server tells (an older one does not: its stop window),
  counted from where it heard the last speech end. It is known only where bytes tell durations (not for FLAC, OGGOPUS
  and CONTAINER), and not when the server, having forgiven some noise, ended the utterance before that chunk was sent.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from operator import itemgetter
from typing import TYPE_CHECKING

from vivavoce._events import EndReason, Notice, NoticeCode, SpeechEnded
from vivavoce._reply import ReplyStatus

if TYPE_CHECKING:
    from vivavoce._reply import Reply
    from vivavoce._spoken import ReplyAudio

# How much is remembered: chunks that were sent, and turns that were asked for and not yet answered.
_MEMORY = 4096

# The server counts speech and silence in whole windows; where one ends on a chunk's border, it may round either way.
_WINDOW_SECONDS = 0.032
_ROUNDING_SECONDS = 0.001


class ReplyClock:
    """Send times and reply latencies, in seconds of one clock."""

    def __init__(self, stop_window_seconds: float) -> None:
        self._stop_window_seconds = round(stop_window_seconds / _WINDOW_SECONDS) * _WINDOW_SECONDS
        self._sent_seconds = 0.0
        self._audio_moments: deque[tuple[float, float]] = deque(maxlen=_MEMORY)
        self._requests: dict[str, float] = {}
        self._half_closed: float | None = None
        self._completed: dict[int, float | None] = {}
        self._last_sounds: dict[int, float | None] = {}
        self._unvoiced: set[int] = set()

    def audio_sent(self, duration_seconds: float, moment: float) -> None:
        """Note that another `duration_seconds` of audio went out."""
        self._sent_seconds += duration_seconds
        self._audio_moments.append((self._sent_seconds, moment))

    def requested(self, request_id: str, moment: float) -> None:
        """Record a typed turn or an `EndOfUtterance`; beyond the bound forget the oldest."""
        if len(self._requests) >= _MEMORY:
            del self._requests[next(iter(self._requests))]
        self._requests[request_id] = moment

    def half_closed(self, moment: float) -> None:
        """Note that the end of the audio was announced."""
        self._half_closed = moment

    def notice(self, notice: Notice) -> None:
        """Note that a request to end an utterance came to nothing."""
        if notice.code is NoticeCode.NO_SPEECH:
            self._requests.pop(notice.request_id, None)

    def speech_ended(self, ended: SpeechEnded) -> None:
        """Work out which moment completed the utterance."""
        if len(self._completed) >= _MEMORY:
            del self._completed[next(iter(self._completed))]
        self._completed[ended.turn] = self._completion(ended)
        self._note_last_sound(ended.turn, self._moment_of(ended.end_seconds))

    def latency_seconds(self, reply: Reply, moment: float) -> float | None:
        """Return the latency of `reply`, which arrived at `moment`; None if unknown."""
        completed = self._completed.get(reply.turn)
        if reply.request_id:
            completed = self._requests.get(reply.request_id)
            if reply.turn not in self._last_sounds:  # It was typed.
                self._note_last_sound(reply.turn, completed)
        if reply.status is not ReplyStatus.PARTIAL:  # Otherwise the whole reply follows.
            self._completed.pop(reply.turn, None)
            self._requests.pop(reply.request_id, None)
        return moment - completed if completed is not None and completed <= moment else None

    def turn_seconds(self, reply: Reply, moment: float) -> float | None:
        """Return the turn latency of `reply`; None if unknown.

        To be asked after `latency_seconds`.
        """
        sounded = self._last_sounds.get(reply.turn)
        return moment - sounded if sounded is not None and sounded <= moment else None

    def first_audio_seconds(self, audio: ReplyAudio, moment: float) -> float | None:
        """Return the voice-to-voice latency of a turn's first reply audio.

        None of the pieces after the first, and where that is not known.
        """
        if audio.turn not in self._unvoiced:
            return None
        self._unvoiced.discard(audio.turn)
        sounded = self._last_sounds.get(audio.turn)
        return moment - sounded if sounded is not None and sounded <= moment else None

    def _note_last_sound(self, turn: int, moment: float | None) -> None:
        """Record a turn's last sound; beyond the bound forget the oldest."""
        if len(self._last_sounds) >= _MEMORY:
            oldest = next(iter(self._last_sounds))
            del self._last_sounds[oldest]
            self._unvoiced.discard(oldest)
        self._last_sounds[turn] = moment
        self._unvoiced.add(turn)

    def _completion(self, ended: SpeechEnded) -> float | None:
        match ended.reason:
            case EndReason.HALF_CLOSE:
                return self._half_closed
            case EndReason.SILENCE:
                told = ended.silence_seconds
                return self._moment_of(ended.end_seconds + (self._stop_window_seconds if told is None else told))
            case _:  # The reply names the request that ended it.
                return None

    def _moment_of(self, position_seconds: float) -> float | None:
        """Return when the chunk that reaches `position_seconds` went out."""
        index = bisect_left(self._audio_moments, position_seconds - _ROUNDING_SECONDS, key=itemgetter(0))
        return self._audio_moments[index][1] if index < len(self._audio_moments) else None
