"""The state of a conversation: what is being heard, and the turns whose reply is on its way.

Every window of audio makes a new state, so the records here are msgspec's: copying one with a change takes a thirtieth
of what it takes with a dataclass.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from pipelines.messages import EndReason, Stage, Transcript
from pipelines.turns.alternatives import join_alternatives
from pipelines.vad.endpointing import Endpointer, EndpointingConfig

if TYPE_CHECKING:
    from pipelines.messages import Message
    from pipelines.models.ports import Alternative, TimedWord, Timing
    from pipelines.stages.answering import AnswerSearch
    from pipelines.stages.understanding import Understanding


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """What the caller chose for all turns of a conversation.

    Attributes:
        endpointing: when an utterance begins and ends.
        interim_results: whether transcripts that may change are wanted.
        has_documents: whether there is anything to look for an answer in.
        budget_seconds: time from the end of an utterance within which its reply is due.
        speculates: whether replies are worked out during the trailing silence; without it nobody is told that an end
            is likely.
        replies: whether utterances are understood and answered; otherwise they are only recognized.
        alternatives: how many texts a final transcript tells that may have been said.
    """

    endpointing: EndpointingConfig = dataclasses.field(default_factory=EndpointingConfig)
    interim_results: bool = False
    has_documents: bool = False
    budget_seconds: float = 0.3
    speculates: bool = True
    replies: bool = True
    alternatives: int = 0


class Segment(Struct, frozen=True):
    """A part of an utterance that is one sequence of the recognizer.

    Attributes:
        number: its number within the conversation.
        start: first sample of it.
        sent_to: one past the last sample sent.
        text: what was recognized so far.
        told: what is told of it in transcripts that may still change; see ``pipelines.turns.stability``.
        covered_to: one past the last sample that ``text`` covers.
        settled_to: one past the last sample up to which ``text`` is what the final one would be.
        closing: whether nothing more will be sent.
        final: whether ``text`` stays as it is.
        alternatives: what it may be, the best (``text``) first, where that was looked for.
        words: when its words were said, in samples of the conversation, where the recognizer tells it.
    """

    number: int
    start: int
    sent_to: int
    text: str = ""
    covered_to: int = 0
    settled_to: int = 0
    closing: bool = False
    final: bool = False
    alternatives: tuple[Alternative, ...] = ()
    words: tuple[TimedWord, ...] = ()
    told: str = ""

    @property
    def settled(self) -> bool:
        """Whether the text of all that was sent is what the final one would be."""
        return self.settled_to >= self.sent_to


class Guess(Struct, frozen=True):
    """A text of a turn that is being understood and answered; the final text if it turns out to be right.

    Attributes:
        number: its number within the conversation.
        text: what is understood.
        understanding: what was found in it; None until then.
        search: what answering it found; None until then.
        failures: the stages that failed, with the reason of each.
        sent_to: one past the last sample of the utterance that had been sent when the guess was made; 0 if typed.
        is_fragment: whether words are missing in the text: what it seems to ask for may be the opposite of what was
            said, so it is neither understood nor answered.
    """

    number: int
    text: str
    understanding: Understanding | None = None
    search: AnswerSearch | None = None
    failures: tuple[tuple[Stage, str], ...] = ()
    sent_to: int = 0
    is_fragment: bool = False

    @property
    def missing(self) -> tuple[Stage, ...]:
        """The stages that are wanted, and have neither finished nor failed."""
        if self.is_fragment:
            return ()
        results = {Stage.NLU: self.understanding, Stage.QA: self.search}
        failed = {stage for stage, _ in self.failures}
        return tuple(stage for stage, result in results.items() if result is None and stage not in failed)


class Turn(Struct, frozen=True):
    """One utterance, or one typed text, and the work on its reply.

    Attributes:
        number: its number within the conversation, from 1.
        onset: first sample of speech.
        speech_end: one past the last sample of speech.
        segments: the parts of the utterance, in order; empty for a typed turn.
        ended_at: when the utterance was over, in seconds; None while it goes on.
        reason: what ended it.
        request_id: the caller's name for the typed turn, or for the request that ended the utterance; "" if none did.
        guess: the text that is being understood.
        guessed_early: whether the guess was made while the utterance went on.
        asr_timing: what the last decoding cost.
        asr_failed: whether the recognizer gave a segment up.
        end_is_likely: whether the end was found to be likely, and the caller was not told what was said until then.
        text_is_final: whether the text stays as it is, or was typed.
        replied: whether the reply is made.
        untold: the final transcript and the reply, with its notices, as far as they wait for those of earlier turns.
    """

    number: int
    onset: int = 0
    speech_end: int = 0
    segments: tuple[Segment, ...] = ()
    ended_at: float | None = None
    reason: EndReason | None = None
    request_id: str = ""
    guess: Guess | None = None
    guessed_early: bool = False
    asr_timing: Timing | None = None
    asr_failed: bool = False
    end_is_likely: bool = False
    text_is_final: bool = False
    replied: bool = False
    untold: tuple[Message, ...] = ()

    @property
    def sent_to(self) -> int:
        """One past the last sample that was sent; 0 for a typed turn."""
        return self.segments[-1].sent_to if self.segments else 0

    @property
    def open_segment(self) -> Segment | None:
        """The segment that audio is being sent to."""
        last = self.segments[-1] if self.segments else None
        return last if last and not last.closing else None

    @property
    def text(self) -> str:
        """Everything recognized so far."""
        return " ".join(segment.text for segment in self.segments if segment.text)

    @property
    def stable_text(self) -> str:
        """What of it is told while it may still change."""
        return " ".join(segment.told for segment in self.segments if segment.told)

    @property
    def recognized(self) -> bool:
        """Whether all text of an utterance that is over is final."""
        return self.ended_at is not None and all(segment.final for segment in self.segments)

    @property
    def decoded(self) -> bool:
        """Whether the text covers all audio that was sent."""
        return all(
            segment.final or (not segment.closing and segment.covered_to >= segment.sent_to)
            for segment in self.segments
        )

    def transcript(self, *, is_final: bool, end_is_likely: bool = False) -> Transcript:
        """Returns what was recognized so far as a message."""
        covered_to = max((segment.covered_to for segment in self.segments), default=self.onset)
        end = self.speech_end if is_final else covered_to
        words = tuple(word for segment in self.segments for word in segment.words)
        text = self.text if is_final or end_is_likely else self.stable_text
        return Transcript(self.number, text, is_final, self.onset, max(end, self.onset), end_is_likely, words=words)

    def final_transcript(self, alternatives: int) -> Transcript:
        """Returns what was recognized as a message that tells at most so many alternatives."""
        found = join_alternatives([(s.text, s.alternatives) for s in self.segments], max(1, alternatives))
        return dataclasses.replace(
            self.transcript(is_final=True),
            alternatives=found if alternatives else (),
            confidence=found[0].confidence if any(segment.alternatives for segment in self.segments) else 0.0,
            request_id=self.request_id,
        )

    def with_segment(self, segment: Segment) -> Turn:
        """Returns the turn with ``segment`` in the place of the one with its number, or behind the others."""
        if any(other.number == segment.number for other in self.segments):
            replaced = tuple(segment if other.number == segment.number else other for other in self.segments)
            return replace(self, segments=replaced)
        return replace(self, segments=(*self.segments, segment))


class QuietPoint(Struct, frozen=True):
    """The quietest place of a segment so far: where it is cut if it must be."""

    probability: float
    sample: int


class State(Struct, frozen=True):
    """All that a conversation must remember.

    Attributes:
        settings: what the caller chose.
        endpointer: follows speech and silence.
        heard_to: one past the last sample that was judged.
        was_speech: whether the last window was speech.
        floor: audio before this sample belongs to an earlier utterance.
        speaking: the turn of the utterance under way.
        withholding: whether audio is held back because the speaker pauses.
        quiet: where to cut the open segment.
        ending: turns whose utterance is over and whose transcript or reply is outstanding, oldest first.
        next_turn: number of the next turn.
        next_segment: number of the next segment.
        next_guess: number of the next guess.
        half_closed: whether the caller will send nothing more.
        finished: whether the conversation is over.
    """

    settings: TurnSettings
    endpointer: Endpointer
    heard_to: int = 0
    was_speech: bool = False
    floor: int = 0
    speaking: Turn | None = None
    withholding: bool = False
    quiet: QuietPoint | None = None
    ending: tuple[Turn, ...] = ()
    next_turn: int = 1
    next_segment: int = 1
    next_guess: int = 1
    half_closed: bool = False
    finished: bool = False

    @classmethod
    def initial(cls, settings: TurnSettings) -> State:
        """The state of a conversation in which nothing has happened yet."""
        return cls(settings, Endpointer(settings.endpointing))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn that is not done, the oldest first."""
        return (*self.ending, self.speaking) if self.speaking else self.ending

    @property
    def reply_is_due(self) -> bool:
        """Whether a model is waited for, so that a reply comes in time."""
        if not self.settings.replies:
            return False
        if any(not turn.replied for turn in self.ending):
            return True
        turn = self.speaking
        if turn is None or not self.withholding or not self.settings.speculates or turn.asr_failed:
            return False
        return turn.guess is None or bool(turn.guess.missing)

    @property
    def phase(self) -> str:
        """One word for what goes on: idle, listening, pausing, finalizing, replying or finished."""
        if self.finished:
            return "finished"
        if self.speaking:
            return "pausing" if self.withholding or self.speaking.open_segment is None else "listening"
        if self.ending:
            return "replying" if self.ending[0].text_is_final else "finalizing"
        return "idle"

    def with_ending(self, turn: Turn) -> State:
        """Returns the state with ``turn`` among those that end, in the place of its former self if it was there."""
        others = tuple(turn if other.number == turn.number else other for other in self.ending)
        if turn not in others:
            others = (*others, turn)
        return replace(self, ending=others)
