"""The versions of the models that each turn of a conversation is served by."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pipelines.models.contracts import ASR, INTENT_SLOT

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pipelines.data.recognition import PhraseHint
    from pipelines.models.ports import IntentModel, Models, Recognizer, TurnModels


class ModelsByTurn:
    """Model versions of a turn, kept for all its work.

    Args:
        models: all models.
        variants: the chosen variant of a role.
        language: what the chosen recognizer is asked for.
        second: the recognizer that reads finished speech as well, by its variant; "": none.
    """

    def __init__(self, models: Models, variants: Mapping[str, str], language: str, second: str = "") -> None:
        self._models, self._variants, self._language, self._second = models, variants, language, second
        self._turns: dict[int, TurnModels] = {}
        self._languages: dict[int, str] = {}
        self._seconds: dict[int, str] = {}

    @property
    def hints(self) -> tuple[PhraseHint, ...]:
        """Phrase hints of the engine for intents that new turns begin with."""
        model: IntentModel = self._models.get(INTENT_SLOT, self._variants.get(INTENT_SLOT))
        return model.hints

    def choose(self, variants: Mapping[str, str], language: str, second: str = "") -> None:
        """Let turns that have not begun be served by other engines."""
        self._variants, self._language, self._second = variants, language, second

    def language(self, turn: int) -> str:
        """Return what the recognizer of a turn is asked for."""
        return self._languages.get(turn, self._language)

    def second(self, turn: int) -> tuple[Recognizer, str] | None:
        """Return the recognizer that reads a turn as well, and its language.

        Returns:
            None where there is none, or it lacks the language of the first.
        """
        models = self.of(turn)
        if not (variant := self._seconds[turn]):
            return None
        recognizer: Recognizer = models.get(ASR, variant)
        language = recognizer.languages.code(self.language(turn) or models.recognizer.languages.default)
        return None if language is None else (recognizer, language)

    def of(self, turn: int) -> TurnModels:
        """Return the models of a turn; the first call keeps today's versions for it."""
        if turn not in self._turns:
            self._turns[turn] = self._models.begin_turn(self._variants)
            self._languages[turn] = self._language
            self._seconds[turn] = self._second if self._second != self._variants.get(ASR, "") else ""
        return self._turns[turn]

    def versions(self, turn: int) -> Mapping[str, int]:
        """Return the versions that a turn has used, by role."""
        return self._turns[turn].versions if turn in self._turns else {}

    def keep(self, turns: Collection[int]) -> None:
        """Release the models of all other turns."""
        for turn in self._turns.keys() - turns:
            self._turns.pop(turn).release()
            del self._languages[turn], self._seconds[turn]
