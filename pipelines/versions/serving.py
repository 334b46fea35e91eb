"""The versions that serve: new turns begin with the active ones, and each turn keeps those that it began with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.versions.held import HeldAnswers, HeldIntents, HeldRecognizer, ServedVersion

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pipelines.ports import AnswerModel, IntentModel, Recognizer


@dataclass(slots=True)
class ActiveVersions:
    """The versions that new turns begin with; each is replaced by assigning another one."""

    asr: ServedVersion[Recognizer]
    intent_slot: ServedVersion[IntentModel]
    qa: ServedVersion[AnswerModel]

    @property
    def recognizer(self) -> HeldRecognizer:
        """Speech recognition, apart from any turn."""
        return HeldRecognizer(self.asr)

    @property
    def intents(self) -> HeldIntents:
        """Intent classification and slot filling, apart from any turn."""
        return HeldIntents(self.intent_slot)

    @property
    def answers(self) -> HeldAnswers:
        """Extractive question answering, apart from any turn."""
        return HeldAnswers(self.qa)

    def engine(self, name: str) -> HeldRecognizer | HeldIntents | HeldAnswers:
        """Returns the engine of this name, apart from any turn."""
        if name == "asr":
            return self.recognizer
        return self.intents if name == "intent_slot" else self.answers

    def begin_turn(self) -> VersionsOfTurn:
        """Keeps today's versions for one turn."""
        return VersionsOfTurn(self.asr, self.intent_slot, self.qa)


class VersionsOfTurn:
    """The versions that one turn is served by, from its beginning to its end."""

    def __init__(
        self,
        asr: ServedVersion[Recognizer],
        intent_slot: ServedVersion[IntentModel],
        qa: ServedVersion[AnswerModel],
    ) -> None:
        self._asr = asr
        self._intent_slot = intent_slot
        self._qa = qa
        self._used: dict[str, int] = {}
        self._released = False
        for version in (asr, intent_slot, qa):
            version.hold()

    @property
    def recognizer(self) -> HeldRecognizer:
        """Speech recognition."""
        self._use("asr", self._asr)
        return HeldRecognizer(self._asr)

    @property
    def intents(self) -> HeldIntents:
        """Intent classification and slot filling."""
        self._use("intent_slot", self._intent_slot)
        return HeldIntents(self._intent_slot)

    @property
    def answers(self) -> HeldAnswers:
        """Extractive question answering."""
        self._use("qa", self._qa)
        return HeldAnswers(self._qa)

    @property
    def versions(self) -> Mapping[str, int]:
        """The version of each engine that the turn has used so far."""
        return dict(self._used)

    def release(self) -> None:
        """Says that the turn is over; what it still has under way holds its version by itself."""
        if self._released:
            return
        self._released = True
        for version in (self._asr, self._intent_slot, self._qa):
            version.release()

    def _use(self, engine: str, version: ServedVersion[Any]) -> None:
        if engine not in self._used:
            self._used[engine] = version.number
            version.turns_begun += 1
