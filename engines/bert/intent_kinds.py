"""Utterance kinds allowed for each intent: "are the lights on" is no command."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.utterance_kinds import CLASSES

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt


class IntentKinds:
    """Kinds that each intent takes.

    Args:
        intents: names, in the order of the network's outputs.
        kinds: of :data:`engines.bert.utterance_kinds.CLASSES`, for each intent; an intent without takes all.
        least: least probability, 0 to 1, that an utterance is of a kind that its intent takes.

    Raises:
        ValueError: one of the kinds is none.
    """

    def __init__(self, intents: Sequence[str], kinds: Mapping[str, Sequence[str]], least: float) -> None:
        unknown = {name for names in kinds.values() for name in names} - set(CLASSES)
        if unknown:
            raise ValueError(f"{min(unknown)!r} is no kind of utterance")
        self._taken = np.array([[name in kinds.get(intent, CLASSES) for name in CLASSES] for intent in intents])
        self._least = least

    @classmethod
    def load(cls, path: Path, intents: Sequence[str]) -> IntentKinds:
        """Read ``intent_kinds.json``: an object with ``least`` and ``kinds``.

        Raises:
            ValueError: the file holds something else; the message names it.
        """
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            kinds = {str(intent): [str(name) for name in names] for intent, names in fields["kinds"].items()}
            return cls(intents, kinds, float(fields["least"]))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} does not tell which kinds of utterances intents take: {error}") from error

    def takes(self, intent: int, probabilities: npt.NDArray[np.float32]) -> bool:
        """Return whether an intent takes an utterance of these kind probabilities."""
        return float(probabilities[self._taken[intent]].sum()) >= self._least
