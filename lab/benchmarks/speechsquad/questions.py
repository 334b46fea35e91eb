"""Which questions are asked, how they are said, and when: the plan of every stream."""

from __future__ import annotations

import heapq
import random
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from benchmarks.sla.material import RATE_HZ, Item, samples
from benchmarks.sla.scripts import Line, Script
from benchmarks.speechsquad.voices import SPEAKERS, Recordings
from modelkit.squad import read_squad

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from modelkit.squad import Question

_LEAD_SECONDS = 0.3
_SPREAD_SECONDS = 3.0
"""Streams begin within so many seconds of each other."""
_PAUSE_SECONDS = 0.5
"""Mean of the exponentially distributed pause between the questions of a stream."""


class Ending(Enum):
    """How a question ends, with the seconds that are still recorded after its last sound."""

    PUSH_TO_TALK = "push-to-talk"
    """The stream is half-closed behind the last chunk, as by SpeechSquad's own client."""
    ENDPOINTING = "endpointing"
    """The service finds the end by the silence that follows."""

    @property
    def trail_seconds(self) -> float:
        """Time from the last sound to the end of what is sent."""
        return 0.1 if self is Ending.PUSH_TO_TALK else 1.5


@dataclass(frozen=True, slots=True)
class SpokenQuestion:
    """A question with its recording."""

    question: Question
    recording: Path


@dataclass(frozen=True, slots=True)
class Turn:
    """A question of a stream.

    Attributes:
        question: what is asked, about which paragraph.
        script: what is sent; ``arrival_seconds`` counts from the beginning of the load.
        last_sound_seconds: where in the stream the last sample of the recording is.
    """

    question: Question
    script: Script
    last_sound_seconds: float


@dataclass(frozen=True, slots=True)
class Plan:
    """What one stream asks, and how its questions end."""

    turns: tuple[Turn, ...]
    ending: Ending


def choose(path: Path, count: int, seed: int) -> list[Question]:
    """Draws questions that have an answer from a file in SQuAD's format.

    Raises:
        DataError: the file cannot be read as such.
    """
    answerable = [question for question in read_squad(path) if question.answers]
    return random.Random(seed).sample(answerable, min(count, len(answerable)))


def record(
    questions: Sequence[Question], recordings: Recordings, seed: int, tell: Callable[[str], None]
) -> list[SpokenQuestion]:
    """Has every question said by one of the speakers.

    Args:
        questions: what to say.
        recordings: where they are found, or made.
        seed: decides who says what.
        tell: told what is done at the moment.
    """
    rng = random.Random(seed)
    spoken = []
    for number, question in enumerate(questions, 1):
        tell(f"speaking question {number} of {len(questions)}")
        spoken.append(SpokenQuestion(question, recordings.find(question.text, rng.choice(SPEAKERS))))
    return spoken


def deal(questions: Sequence[SpokenQuestion], streams: int, ending: Ending, seconds: float, seed: int) -> list[Plan]:
    """Deals questions to streams, in order, each to the one that is free first, until they or the time are used up.

    The times are fixed beforehand: a stream asks on whether its last question was answered or not.

    Args:
        questions: what to ask.
        streams: how many ask at a time.
        ending: how questions end.
        seconds: no question is begun later.
        seed: same seed, same plans.
    """
    rng = random.Random(seed)
    free = [(rng.uniform(0, _SPREAD_SECONDS), stream) for stream in range(streams)]
    heapq.heapify(free)
    turns: list[list[Turn]] = [[] for _ in range(streams)]
    for spoken in questions:
        begin, stream = heapq.heappop(free)
        if begin > seconds:
            break
        turn = _turn(spoken, ending, begin, rng.randrange(1 << 30))
        turns[stream].append(turn)
        end = begin + turn.script.samples / RATE_HZ
        heapq.heappush(free, (end + rng.expovariate(1 / _PAUSE_SECONDS), stream))
    return [Plan(tuple(asked), ending) for asked in turns]


def _turn(spoken: SpokenQuestion, ending: Ending, begin_seconds: float, seed: int) -> Turn:
    line = Line(Item(spoken.recording, spoken.question.text), round(_LEAD_SECONDS * RATE_HZ))
    end = line.first_sample + len(samples(spoken.recording))
    script = Script(begin_seconds, (line,), None, end + round(ending.trail_seconds * RATE_HZ), seed)
    return Turn(spoken.question, script, (end - 1) / RATE_HZ)
