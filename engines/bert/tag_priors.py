"""Slot priors of a data set: by intent, and from tag to tag.

The network judges every word by itself. Counting adds what it cannot know: that "canada" in a question about currencies
is one, and that a slot seldom begins right after another of its kind. The logarithm of such counts is added to the
logits before tags are chosen, as in a hybrid of a network and a hidden Markov model (Bourlard and Morgan,
1994, "Connectionist Speech Recognition").
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

if TYPE_CHECKING:
    from pathlib import Path

    import numpy.typing as npt

COMMON = 0.15
"""A slot that at least this share of an intent's utterances have is not held back."""
_NEVER = 1e-4


@dataclass(frozen=True, eq=False, slots=True)
class TagPriors:
    """Weighted counts, in the order of ``intent_decoding.IntentLabels``.

    Attributes:
        slots_given_intent: float32 ``[intents, slots]``: share of an intent's utterances that have the slot.
        slot_weight: how much that counts against the logits, 0 for nothing.
        transitions: float32 ``[tags + 1, tags]``: weighted logarithm of how much more often than elsewhere a tag
            (column) stands after a tag (row); the last row is the beginning of an utterance.
        least: probability that a slot must have (:func:`engines.bert.tag_paths.likely_spans`); 0 takes the slots of the
            best path.
    """

    slots_given_intent: npt.NDArray[np.float32]
    slot_weight: float
    transitions: npt.NDArray[np.float32]
    least: float = 0.0

    def __post_init__(self) -> None:
        tags = 1 + 2 * self.slots_given_intent.shape[1]
        if self.transitions.shape != (tags + 1, tags):
            raise ValueError(f"transitions must be {(tags + 1, tags)} for as many slots, not {self.transitions.shape}")

    @classmethod
    def none(cls, intents: int, slots: int) -> TagPriors:
        """Make priors that change nothing."""
        tags = 1 + 2 * slots
        return cls(np.ones((intents, slots), np.float32), 0.0, np.zeros((tags + 1, tags), np.float32))

    @classmethod
    def load(cls, path: Path) -> TagPriors:
        """Read what :meth:`save` wrote; without ``least`` it is 0.

        Raises:
            ValueError: the file holds something else; the message names it.
        """
        try:
            with np.load(path, allow_pickle=False) as arrays:
                least = float(arrays["least"]) if "least" in arrays else 0.0
                return cls(arrays["slots_given_intent"], float(arrays["slot_weight"]), arrays["transitions"], least)
        except (KeyError, ValueError, IndexError) as error:
            raise ValueError(f"{path} holds no priors of an intent model: {error}") from error

    def save(self, file: Path | BinaryIO) -> None:
        """Write a file for :meth:`load`."""
        np.savez_compressed(
            file,
            slots_given_intent=self.slots_given_intent,
            slot_weight=np.float32(self.slot_weight),
            transitions=self.transitions,
            least=np.float32(self.least),
        )

    def tag_bias(self, intents: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
        """Return additions to the tag logits, given the intents' probabilities.

        Args:
            intents: float32 ``[intents]``, probabilities.

        Returns:
            float32 ``[tags]``: 0 for ``O`` and for slots that are common with these intents, less for others.
        """
        shares = intents @ self.slots_given_intent
        bias = np.zeros(self.transitions.shape[1], np.float32)
        penalties = self.slot_weight * np.minimum(0, np.log((shares + _NEVER) / COMMON))
        bias[1::2] = bias[2::2] = penalties
        return bias
