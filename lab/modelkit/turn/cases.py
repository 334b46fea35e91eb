"""Cases that the judge learns from: what is heard of pauses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.turn.judge import sound_evidence
from engines.turn.sound import silence_seconds
from modelkit.turn.halves import name_number
from modelkit.turn.pauses import Pause, Recording, find_pauses, spliced_end, spliced_pauses

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    import numpy.typing as npt

    from engines.turn.sound import SoundNetwork
    from modelkit.turn.hearing import Hearing

ASKED_SECONDS = (0.2, 0.4, 0.7)
"""Silence after which a pause is looked at."""


@dataclass(frozen=True, slots=True, eq=False)
class Case:
    """A pause at one moment of it.

    Attributes:
        turn: name of the recording, of which all cases belong together.
        is_end: whether the turn is over.
        sound: see :func:`engines.turn.judge.sound_evidence`.
        smart_turn: Smart Turn's own judgement.
        silence: seconds.
        text: recognized words of the turn so far.
    """

    turn: str
    is_end: bool
    sound: npt.NDArray[np.float32]
    smart_turn: float
    silence: float
    text: str


class Looking:
    """Makes cases of turns.

    Args:
        hearing: recognizes words.
        sound: the network for sound.
    """

    def __init__(self, hearing: Hearing, sound: SoundNetwork) -> None:
        self._hearing, self._sound = hearing, sound

    def cases(self, turns: Iterable[Recording], spliced: int, seed: int) -> Iterator[Case]:
        """Yields the cases of turns: their own pauses, as many more as are put in, and their ends in two ways."""
        for turn in turns:
            rng = np.random.default_rng([seed, name_number(turn.name)])
            gaps = self._hearing.gaps(turn.samples)
            end = spliced_end(turn, rng)
            made = [*find_pauses(turn), *spliced_pauses(turn, gaps, spliced, rng), *([end] if end else [])]
            for pause in made:
                yield from self._of(pause)

    def _of(self, pause: Pause) -> Iterator[Case]:
        text = self._hearing.text(pause.heard(ASKED_SECONDS[0]))
        for asked in ASKED_SECONDS:
            if asked <= pause.seconds:
                samples = pause.heard(asked)
                silence, heard = silence_seconds(samples), self._sound.hear(samples)
                evidence = sound_evidence(heard, silence)
                yield Case(pause.recording.name, pause.is_end, evidence, heard.logit, silence, text)
