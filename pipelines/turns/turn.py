"""Turn: segments, texts of the utterance, and results.

Every window of audio makes new records, so they are msgspec's: copying one with a change takes a thirtieth of what it
takes with a dataclass.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from pipelines.data.messages import EndReason, Reply, Transcript
from pipelines.speakers.spans import with_speakers
from pipelines.turns.alternatives import join_alternatives
from pipelines.turns.echo import is_echo

if TYPE_CHECKING:
    from pipelines.data.dialog.turn import DialogTurn
    from pipelines.data.messages import Message
    from pipelines.data.recognition import Alternative, SpeakerSpan, TimedWord, Timing
    from pipelines.data.stages import PlannedStage, StageOutput


MIN_SPEECH_PEAK = 0.7
"""Probability of speech that at least one window of an utterance has, unless there is much of it."""

MIN_SPEECH_MARGIN = 0.2
"""By how much it exceeds the probability that speech begins with; the smaller of the two counts."""

MIN_SPEECH_MASS = 8.0
"""Sum of the probabilities of speech of so many windows: a quarter of a second. The shortest words have more."""

MIN_SPEECH_WINDOWS = 3
"""Windows of speech in the shortest word."""

MIN_RECOVERED_BUDGET_SECONDS = 5.0
"""Time for a reply once a lost model is back: it is late already, and models are slow when they have just started."""


class SecondOpinion(Struct, frozen=True):
    """Text of a segment by another recognizer.

    Attributes:
        stop: one past the last sample that it has read.
        text: what it has recognized; None if it did not, or not in time.
        alternatives, words, language: as those of a segment.
    """

    stop: int
    text: str | None = None
    alternatives: tuple[Alternative, ...] = ()
    words: tuple[TimedWord, ...] = ()
    language: str = ""


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
        is_lost: whether the recognizer was lost, and has not heard the segment again.
        language: code of the language that is spoken, as far as it is known; "" otherwise.
        reread_to: one past the last sample that another recognizer was asked to read; 0 if none was.
        opinion: its latest answer.
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
    is_lost: bool = False
    language: str = ""
    reread_to: int = 0
    opinion: SecondOpinion | None = None

    @property
    def settled(self) -> bool:
        """True if the text covers all that was sent."""
        return self.settled_to >= self.sent_to

    @property
    def awaits_opinion(self) -> bool:
        """True while another recognizer reads all that was sent."""
        answered = self.opinion is not None and self.opinion.stop == self.reread_to
        return self.reread_to == self.sent_to and not answered

    @property
    def best(self) -> Segment:
        """The segment with the text that counts, by whichever recognizer."""
        opinion = self.opinion
        if opinion is None or opinion.text is None or opinion.stop != self.sent_to:
            return self
        return replace(
            self,
            text=opinion.text,
            alternatives=opinion.alternatives,
            words=opinion.words,
            language=opinion.language,
        )


class Speculation(Struct, frozen=True):
    """Text for the stages, final if it turns out to be right.

    Attributes:
        number: its number within the conversation.
        text: what the stages work on.
        stages: the stages that are wanted for it.
        outputs: the last output of each stage that brought one, by name.
        started: the stages that were started.
        finished: the stages whose output is their result.
        failures: the stages that failed, with the reason of each.
        sent_to: one past the last sample of the utterance that had been sent when the speculation was made; 0 if typed.
        is_fragment: whether words are missing in the text: what it seems to ask for may be the opposite of what was
            said, so no stage works on it.
        lost: the stages that wait for a model that was lost.
    """

    number: int
    text: str
    stages: tuple[PlannedStage, ...] = ()
    outputs: dict[str, StageOutput] = {}
    started: tuple[str, ...] = ()
    finished: tuple[str, ...] = ()
    failures: tuple[tuple[str, str], ...] = ()
    sent_to: int = 0
    is_fragment: bool = False
    lost: tuple[str, ...] = ()

    @property
    def results(self) -> dict[str, StageOutput]:
        """Results of finished stages by name, in order."""
        return {stage.name: self.outputs[stage.name] for stage in self.stages if stage.name in self.finished}

    @property
    def missing(self) -> tuple[str, ...]:
        """Stages that are unfinished and can still succeed."""
        lost = {stage for stage, _ in self.failures}
        missing = []
        for stage in self.stages:
            if lost.intersection(stage.after):
                lost.add(stage.name)
            elif stage.name not in lost and stage.name not in self.finished:
                missing.append(stage.name)
        return tuple(missing)

    @property
    def runnable(self) -> tuple[PlannedStage, ...]:
        """Stages that can be started now."""
        return tuple(
            stage
            for stage in self.stages
            if stage.name not in self.started and all(name in self.finished for name in stage.after)
        )

    @property
    def running(self) -> tuple[str, ...]:
        """The stages that were started, and have neither finished nor failed."""
        over = {*self.finished, *dict(self.failures)}
        return tuple([stage for stage in self.started if stage not in over])


class Pause(Struct, frozen=True):
    """A pause in an utterance, of which a model judges whether it is the end.

    Attributes:
        number: its number within the conversation.
        asked: how many of the times at which the model is asked have come.
        awaited: whether the model was asked and has not answered.
        probability: how probable it is that the turn is over, as judged last; None where the model has not answered.
        stop_after: windows of silence that end the utterance, by that; None likewise.
        told: what the caller was told that had been said; None if nothing was told.
    """

    number: int
    asked: int = 0
    awaited: bool = False
    probability: float | None = None
    stop_after: int | None = None
    told: str | None = None


class Turn(Struct, frozen=True):
    """One utterance, or one typed text, and the work on its reply.

    Attributes:
        number: its number within the conversation, from 1.
        onset: first sample of speech.
        speech_end: one past the last sample of speech.
        speech_peak: the highest probability of speech among the windows of the utterance.
        speech_mass: their sum.
        speech_windows: how many of them are speech.
        segments: the parts of the utterance, in order; empty for a typed turn.
        ended_at: when the utterance was over, in seconds; None while it goes on.
        reason: what ended it.
        is_prompt: whether an agent says something by itself, and nobody has spoken or typed.
        request_id: the caller's name for the typed turn, or for the request that ended the utterance; "" if none did.
        speculation: the text that is being understood.
        is_speculative: whether the speculation was made while the utterance went on.
        asr_timing: what the last decoding cost.
        asr_failed: whether the recognizer gave a segment up.
        end_is_likely: whether the end was found to be likely, and the caller was not told what was said until then.
        pause: the pause under way, or that the utterance ended in, where a model judges pauses.
        text_is_final: whether the text stays as it is, or was typed.
        partial: the reply that was made of what was ready when the budget ended; None where none was, or all was ready.
        commits: whether the dialog was asked to let the turn's step count.
        committed: the step that counts for it, of a dialog; None while none does.
        told_failures: the failures of stages that were told with it.
        is_complete: whether the whole reply is made.
        untold: the final transcript and replies, with their notices, as far as they wait for those of earlier turns.
        said_over: words of the reply that was being said when it began; "" where none was.
        silences: runs of windows without speech, as first and last sample, where speakers are told apart.
        speakers: who speaks when; None while that is not known.
        recovered_at: when a model was back that had been lost at work on the turn, in seconds; None if none was.
    """

    number: int
    onset: int = 0
    speech_end: int = 0
    speech_peak: float = 1.0
    speech_mass: float = MIN_SPEECH_MASS
    speech_windows: int = MIN_SPEECH_WINDOWS
    segments: tuple[Segment, ...] = ()
    ended_at: float | None = None
    reason: EndReason | None = None
    is_prompt: bool = False
    request_id: str = ""
    speculation: Speculation | None = None
    is_speculative: bool = False
    asr_timing: Timing | None = None
    asr_failed: bool = False
    end_is_likely: bool = False
    pause: Pause | None = None
    text_is_final: bool = False
    said_over: str = ""
    partial: Reply | None = None
    commits: bool = False
    committed: DialogTurn | None = None
    told_failures: tuple[tuple[str, str], ...] = ()
    is_complete: bool = False
    untold: tuple[Message, ...] = ()
    silences: tuple[tuple[int, int], ...] = ()
    speakers: tuple[SpeakerSpan, ...] | None = None
    recovered_at: float | None = None

    @property
    def awaits_recovery(self) -> bool:
        """True while a lost model is awaited."""
        stage_lost = self.speculation is not None and bool(self.speculation.lost)
        return stage_lost or any(segment.is_lost and not segment.final for segment in self.segments)

    @property
    def replied(self) -> bool:
        """True once a reply was made, whole or not."""
        return self.is_complete or self.partial is not None

    def due(self, budget_seconds: float) -> float | None:
        """Deadline of the reply, in seconds; None while the utterance goes on."""
        if self.ended_at is None:
            return None
        due = self.ended_at + budget_seconds
        if self.recovered_at is None:
            return due
        return max(due, self.recovered_at + max(budget_seconds, MIN_RECOVERED_BUDGET_SECONDS))

    @property
    def uncommitted(self) -> DialogTurn | None:
        """Step of the dialog that must count before the reply is told; None for none."""
        if self.committed is not None:
            return None
        steps = (message.dialog for message in self.untold if isinstance(message, Reply))
        return None if self.is_prompt else next((step for step in steps if step is not None), None)

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
        if len(self.segments) == 1:
            return self.segments[0].best.text
        return " ".join([segment.text for segment in self._best if segment.text])

    @property
    def stable_text(self) -> str:
        """Part of the text to send while it may change."""
        return " ".join(segment.told for segment in self.segments if segment.told)

    def lacks_speech(self, speech_begins: float) -> bool:
        """Return whether an utterance has too little speech for its text.

        An utterance that the caller ended has speech in it because the caller says so.

        Args:
            speech_begins: probability from which on the caller takes a window for speech.
        """
        faint = self.speech_peak < min(MIN_SPEECH_PEAK, speech_begins + MIN_SPEECH_MARGIN)
        few = self.speech_windows < MIN_SPEECH_WINDOWS
        return (faint or few) and self.speech_mass < MIN_SPEECH_MASS and self.reason is not EndReason.REQUESTED

    @property
    def is_echo(self) -> bool:
        """True if the text is the service's own speech."""
        return bool(self.said_over) and is_echo(self.text, self.said_over)

    @property
    def recognized(self) -> bool:
        """True once all text of a finished utterance is final."""
        return self.ended_at is not None and all(segment.final for segment in self.segments)

    @property
    def awaits_opinion(self) -> bool:
        """True while the text may still become another recognizer's."""
        return not self.asr_failed and any(segment.awaits_opinion for segment in self.segments)

    @property
    def decoded(self) -> bool:
        """True if the text covers all audio that was sent."""
        return all(
            segment.final or (not segment.closing and segment.covered_to >= segment.sent_to)
            for segment in self.segments
        )

    def transcript(self, *, is_final: bool, end_is_likely: bool = False) -> Transcript:
        """Return what was recognized so far as a message."""
        covered_to = max((segment.covered_to for segment in self.segments), default=self.onset)
        end = self.speech_end if is_final else covered_to
        words = tuple(word for segment in self._best for word in segment.words)
        text = self.text if is_final or end_is_likely else self.stable_text
        language = next((segment.language for segment in self._best if segment.language), "")
        return Transcript(
            self.number,
            text,
            is_final,
            self.onset,
            max(end, self.onset),
            end_is_likely,
            words=words,
            language=language,
        )

    def final_transcript(self, alternatives: int) -> Transcript:
        """Return the final transcript, with at most so many alternatives."""
        found = join_alternatives([(s.text, s.alternatives) for s in self._best], max(1, alternatives))
        transcript = self.transcript(is_final=True)
        return dataclasses.replace(
            transcript,
            alternatives=found if alternatives else (),
            confidence=found[0].confidence if any(segment.alternatives for segment in self._best) else 0.0,
            request_id=self.request_id,
            words=with_speakers(transcript.words, self.speakers or ()),
            speakers=self.speakers or (),
        )

    def without_text(self) -> Turn:
        """Return the turn with nothing recognized."""
        segments = tuple(replace(s, text="", told="", alternatives=(), words=(), opinion=None) for s in self.segments)
        return replace(self, segments=segments)

    @property
    def _best(self) -> tuple[Segment, ...]:
        return tuple(segment.best for segment in self.segments)

    def with_silence(self, begin: int, end: int) -> Turn:
        """Return the turn with one more silence, or with the last one longer."""
        if self.silences and self.silences[-1][1] == begin:
            return replace(self, silences=(*self.silences[:-1], (self.silences[-1][0], end)))
        return replace(self, silences=(*self.silences, (begin, end)))

    def with_segment(self, segment: Segment) -> Turn:
        """Return the turn with ``segment`` replaced or appended."""
        if self.segments and self.segments[-1].number == segment.number:
            return replace(self, segments=(*self.segments[:-1], segment))
        if any(other.number == segment.number for other in self.segments):
            replaced = tuple(segment if other.number == segment.number else other for other in self.segments)
            return replace(self, segments=replaced)
        return replace(self, segments=(*self.segments, segment))
