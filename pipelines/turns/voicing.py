"""Spoken reply: audio sent and heard, in seconds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

if TYPE_CHECKING:
    from pipelines.data.speech import Mark

CHARACTERS_PER_SECOND = 14.0
"""Pace of speech, for a sentence whose end was not sent yet."""

REPORT_GRACE_SECONDS = 2.0
"""A caller who has told where playback is gets so much more time to tell that it has finished."""


class Voicing(Struct, frozen=True):
    """A reply that is spoken, or waits to be.

    Attributes:
        turn: number of the turn.
        text: what is spoken.
        is_started: whether its audio was asked for.
        sent_seconds: audio that was sent.
        is_sent: whether that is all of it.
        marks: the sentences that were begun, with their times.
        played_seconds: audio that was played at ``now``, below 0 while that of the reply before is played.
        now: time of the last event.
        reported_seconds: position that the caller told last; None: none was told.
        reported_at: when that was.
        is_held: whether it is neither sent nor played, because somebody speaks.
        by: number of the turn that is said over it, and of which it is not known whether it interrupts; 0: none.
    """

    turn: int
    text: str
    is_started: bool = False
    sent_seconds: float = 0.0
    is_sent: bool = False
    marks: tuple[Mark, ...] = ()
    played_seconds: float = 0.0
    now: float = 0.0
    reported_seconds: float | None = None
    reported_at: float = 0.0
    is_held: bool = False
    by: int = 0

    @property
    def heard_seconds(self) -> float:
        """Audio that was heard."""
        return max(0.0, self.played_seconds if self.reported_seconds is None else self.reported_seconds)

    @property
    def is_over(self) -> bool:
        """True once all of it was played."""
        is_played = self.is_sent and self.played_seconds >= self.sent_seconds
        waits = self.reported_seconds is not None and self.now < self.reported_at + REPORT_GRACE_SECONDS
        return is_played and not waits

    def at(self, now: float) -> Voicing:
        """Return its state at ``now``; audio plays as it comes, unless held."""
        if now <= self.now:
            return self
        if self.is_held:
            return replace(self, now=now)
        return replace(self, now=now, played_seconds=min(self.sent_seconds, self.played_seconds + now - self.now))

    def sent(self, seconds: float, now: float, marks: tuple[Mark, ...], *, is_last: bool) -> Voicing:
        """Return what it has become when more audio went out."""
        before = self.at(now)
        marks = (*self.marks, *marks)
        return replace(before, now=now, sent_seconds=self.sent_seconds + seconds, marks=marks, is_sent=is_last)

    def reported(self, seconds: float, now: float, *, is_finished: bool) -> Voicing:
        """Return what it has become when the caller told how far it was played."""
        position = min(seconds, self.sent_seconds)
        if is_finished and self.is_sent:
            return replace(self, now=now, played_seconds=self.sent_seconds, reported_seconds=None)
        return replace(self, now=now, played_seconds=position, reported_seconds=position, reported_at=now)

    def heard_text(self) -> str:
        """Return the text that was heard, to the word."""
        heard, told = self.heard_seconds, []
        ends = [mark.seconds for mark in self.marks[1:]]
        for number, mark in enumerate(self.marks):
            if mark.seconds >= heard:
                break
            end = ends[number] if number < len(ends) else self._end_of(mark)
            share = min(1.0, (heard - mark.seconds) / max(end - mark.seconds, 0.01))
            words = mark.text.split()
            told += words[: round(share * len(words))]
        return " ".join(told)

    def _end_of(self, mark: Mark) -> float:
        """Return where the last sentence that was begun ends, about."""
        if self.is_sent:
            return self.sent_seconds
        return max(self.sent_seconds, mark.seconds + len(mark.text) / CHARACTERS_PER_SECOND)
