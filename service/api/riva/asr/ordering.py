"""Order of interim transcripts: Riva's results have no turn number."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pipelines.data.messages import Transcript


class InTurnOrder:
    """Holds transcripts of a turn back until every turn before it has its final one.

    Final ones come in that order; those that may change are told at once by a conversation, also while the final one
    of an earlier turn is waited for. Of a turn that has to wait only the newest transcript is kept.
    """

    def __init__(self) -> None:
        self._turn = 1
        self._held: dict[int, Transcript] = {}

    def add(self, transcript: Transcript) -> list[Transcript]:
        """Take the next transcript; return what may be told now, in order."""
        self._held[transcript.turn] = transcript
        told = []
        while (following := self._held.pop(self._turn, None)) is not None:
            told.append(following)
            if not following.is_final:
                break
            self._turn += 1
        return told
