"""State of a conversation: open speech, and turns before their replies.

Every window of audio makes a new state, so the records here are msgspec's: copying one with a change takes a thirtieth
of what it takes with a dataclass.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from pipelines.audio.formats import MODEL_RATE_HZ
from pipelines.data.stages import SPEECH
from pipelines.models.turn_end_port import MAX_JUDGED_SECONDS
from pipelines.turns.interruption import InterruptionConfig
from pipelines.vad.endpointing import Endpointer, EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode

if TYPE_CHECKING:
    from pipelines.data.stages import PlannedStage
    from pipelines.turns.turn import Turn
    from pipelines.turns.voicing import Voicing


DEFAULT_LATE_SECONDS = 10.0
_MAX_JUDGED_SAMPLES = round(MAX_JUDGED_SECONDS * MODEL_RATE_HZ)


@dataclass(frozen=True, slots=True)
class TurnSettings:
    """Settings of all turns of a conversation.

    Attributes:
        endpointing: when an utterance begins and ends.
        interim_results: whether transcripts that may change are wanted.
        stages: what is made of a turn's text, each stage behind those that it needs.
        budget_seconds: time from the end of an utterance within which its reply is due.
        late_seconds: time after the budget within which what was missing in the reply may follow.
        speculates: whether replies are worked out during the trailing silence; without it nobody is told that an end
            is likely.
        replies: whether utterances are understood and answered; otherwise they are only recognized.
        alternatives: how many texts a final transcript tells that may have been said.
        join_samples: an utterance goes on over a pause while its segment is shorter than this, 16 kHz; 0: it ends.
        interruption: what interrupts a spoken reply.
        diarizes: whether final transcripts wait for their speakers.
        reads_again: whether another recognizer reads what was said as well.
        speaks: whether replies are spoken.
        is_dialog: whether turns depend on those before them.
        judges: whether a model judges pauses, for which texts are needed.
    """

    endpointing: EndpointingConfig = dataclasses.field(default_factory=EndpointingConfig)
    interim_results: bool = False
    stages: tuple[PlannedStage, ...] = ()
    budget_seconds: float = 0.3
    late_seconds: float = DEFAULT_LATE_SECONDS
    speculates: bool = True
    replies: bool = True
    alternatives: int = 0
    join_samples: int = 0
    interruption: InterruptionConfig = dataclasses.field(default_factory=InterruptionConfig)
    diarizes: bool = False
    reads_again: bool = False

    speaks: bool = dataclasses.field(init=False, repr=False, compare=False)
    is_dialog: bool = dataclasses.field(init=False, repr=False, compare=False)
    judges: bool = dataclasses.field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        # Read for every event.
        judges = self.speculates and self.endpointing.enabled and self.endpointing.mode is EndpointingMode.MODEL
        object.__setattr__(self, "speaks", any(stage.name == SPEECH for stage in self.stages))
        object.__setattr__(self, "is_dialog", any(stage.in_order for stage in self.stages))
        object.__setattr__(self, "judges", judges)


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
        probabilities: those of speech in the last windows, as many as an utterance begins with.
        floor: audio before this sample belongs to an earlier utterance.
        background: whether a voice in the background was heard since the last speech.
        speaking: the turn of the utterance under way.
        withholding: whether audio is held back because the speaker pauses.
        quiet: where to cut the open segment.
        ending: turns whose utterance is over and whose transcript or whole reply is outstanding, oldest first.
        next_turn: number of the next turn.
        next_segment: number of the next segment.
        next_speculation: number of the next speculation.
        next_pause: number of the next pause.
        half_closed: whether the caller will send nothing more.
        finished: whether the conversation is over.
        voicing: the reply that is spoken, until it was played, and those that wait behind it.
        unspoken: turns without a whole reply yet that are not to be answered aloud.
        spoken_early: turns whose reply is spoken, or was, before all of it is there.
        hears_itself: whether what was heard over a reply was the reply.
        fulfilling: numbers of the fulfilments that are under way.
    """

    settings: TurnSettings
    endpointer: Endpointer
    heard_to: int = 0
    was_speech: bool = False
    background: bool = False
    probabilities: tuple[float, ...] = ()
    floor: int = 0
    speaking: Turn | None = None
    withholding: bool = False
    quiet: QuietPoint | None = None
    ending: tuple[Turn, ...] = ()
    next_turn: int = 1
    next_segment: int = 1
    next_speculation: int = 1
    next_pause: int = 1
    half_closed: bool = False
    finished: bool = False
    voicing: tuple[Voicing, ...] = ()
    unspoken: tuple[int, ...] = ()
    spoken_early: tuple[int, ...] = ()
    hears_itself: bool = False
    fulfilling: tuple[int, ...] = ()

    @classmethod
    def initial(cls, settings: TurnSettings) -> State:
        """Return the state of a new conversation."""
        return cls(settings, Endpointer(settings.endpointing))

    @property
    def turns(self) -> tuple[Turn, ...]:
        """Every turn that is not done, the oldest first."""
        return (*self.ending, self.speaking) if self.speaking else self.ending

    @property
    def reply_is_due(self) -> bool:
        """True while a model is awaited for a reply or its completion."""
        if not self.settings.replies:
            return False
        if any(not turn.is_complete for turn in self.ending):
            return True
        turn = self.speaking
        if turn is None or not self.withholding or not self.settings.speculates or turn.asr_failed:
            return False
        return turn.speculation is None or bool(turn.speculation.missing) or self.awaits_judgement

    @property
    def awaits_judgement(self) -> bool:
        """True while a pause's judgement, or the text for it, is awaited."""
        turn = self.speaking
        if turn is None or turn.pause is None:
            return False
        return turn.pause.awaited or not (turn.pause.asked or turn.decoded or turn.asr_failed)

    @property
    def silence_that_ends(self) -> int | None:
        """Windows of silence that end the utterance; None: the stop window decides."""
        turn = self.speaking
        if turn is None or not self.settings.judges:
            return None
        pause = turn.pause
        if pause is None or pause.stop_after is None:
            return self.settings.endpointing.unjudged_stop_windows
        return pause.stop_after

    @property
    def judged_from(self) -> int:
        """First sample of the utterance that the model of its end hears."""
        assert self.speaking is not None
        return max(self.speaking.segments[0].start, self.heard_to - _MAX_JUDGED_SAMPLES)

    @property
    def running_stages(self) -> list[tuple[int, int, str]]:
        """The stages that run and are waited for, as turn, speculation and name."""
        found: list[tuple[int, int, str]] = []
        for turn in self.turns:
            speculation = turn.speculation
            if speculation is not None and speculation.started and not turn.is_complete:
                found += [(turn.number, speculation.number, stage) for stage in speculation.running]
        return found

    @property
    def phase(self) -> str:
        """State in one word, from idle to finished."""
        if self.finished:
            return "finished"
        if self.speaking:
            return "pausing" if self.withholding or self.speaking.open_segment is None else "listening"
        if self.ending:
            return "replying" if self.ending[0].text_is_final else "finalizing"
        return "speaking" if self.has_speech_to_send else "idle"

    @property
    def has_speech_to_send(self) -> bool:
        """True while a part of a spoken reply is unsent."""
        return any(not voicing.is_sent for voicing in self.voicing)

    def turn(self, number: int) -> Turn:
        """Return the turn with this number, which is not done."""
        return next(turn for turn in self.turns if turn.number == number)

    def awaits_opinion(self, turn: int, segment: int, stop: int) -> bool:
        """Return whether another recognizer's reading up to ``stop`` is awaited."""
        segments = (it for held in self.turns if held.number == turn and not held.text_is_final for it in held.segments)
        return any(it.number == segment and it.reread_to == stop and it.awaits_opinion for it in segments)

    def turn_of(self, segment: int) -> int:
        """Return a segment's turn number; 0 if that turn is done."""
        return next((turn.number for turn in self.turns if any(it.number == segment for it in turn.segments)), 0)

    def with_turn(self, turn: Turn) -> State:
        """Return the state with ``turn`` where it belongs: speaking, or ending."""
        if self.speaking is not None and self.speaking.number == turn.number:
            return replace(self, speaking=turn)
        return self.with_ending(turn)

    def with_ending(self, turn: Turn) -> State:
        """Return the state with ``turn`` added or replaced among ending ones."""
        others = tuple(turn if other.number == turn.number else other for other in self.ending)
        if turn not in others:
            others = (*others, turn)
        return replace(self, ending=others)
