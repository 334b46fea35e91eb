"""Decoding of the intent and slot engine: intent, confidence, exact spans."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.slots import Slot
from engines.bert.tag_paths import TagSteps, best_tags, likely_spans, spans_of
from engines.bert.tag_priors import TagPriors
from engines.bert.tokenizing import NO_OFFSET
from engines.bert.word_edges import EDGE_PUNCTUATION, whole_words

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy.typing as npt

    from engines.bert.closed_slots import ClosedSlots
    from engines.bert.intent_kinds import IntentKinds
    from engines.bert.utterance_kinds import KindClassifier

NO_INTENT = "none"
"""The intent of an utterance that the model was not made for."""

MAX_CANDIDATES = 10
"""Intents that are told beside the best."""

_DOTTED = re.compile(r"(?<!\w)[^\W\d_]\. ?[^\W\d_]$")
_INITIAL = re.compile(r"(?<!\w)[^\W\d_]\.$")


@dataclass(frozen=True, slots=True)
class Understanding:
    """Intent and slots of an utterance.

    Attributes:
        intent: one of the model's intents, or :data:`NO_INTENT` where the model is not sure enough.
        confidence: calibrated probability of the best intent, 0 to 1, also where it was not enough, or where the
            intent does not take utterances of this kind.
        slots: in the order of the text, never overlapping; empty without an intent.
        kind: ``command``, ``question`` or ``statement``; "" where the engine does not tell.
        negated: whether what is said is denied.
        candidates: the most likely intents with their probabilities, the best first.
    """

    intent: str
    confidence: float
    slots: tuple[Slot, ...]
    kind: str = ""
    negated: bool = False
    candidates: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class IntentLabels:
    """Names of the model's outputs and how its logits become a decision.

    Attributes:
        intents: name of every intent logit; :data:`NO_INTENT` may be one of them.
        tags: name of every tag logit: ``O``, and ``B-x`` directly before ``I-x`` for every slot ``x``.
        temperature: divides the intent logits before the softmax (Guo et al., 2017, "On Calibration of Modern
            Neural Networks").
        threshold: least confidence of an intent.
    """

    intents: tuple[str, ...]
    tags: tuple[str, ...]
    temperature: float = 1.0
    threshold: float = 0.0

    def __post_init__(self) -> None:
        expected = tuple(f"{edge}-{name}" for name in self.slot_names for edge in "BI")
        if self.tags[:1] != ("O",) or self.tags[1:] != expected:
            raise ValueError(
                "tags must be O, then B-x and I-x for every slot x: train the model again or mend its labels"
            )
        if not self.temperature > 0:
            raise ValueError(f"the temperature must be positive, not {self.temperature}")

    @property
    def slot_names(self) -> tuple[str, ...]:
        """Slot types in the order of the tags."""
        return tuple(tag[2:] for tag in self.tags[1::2])

    @classmethod
    def load(cls, path: Path) -> IntentLabels:
        """Read ``labels.json``: an object with the attributes of this class.

        Raises:
            ValueError: the file does not hold labels; the message names it.
        """
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return cls(
                tuple(fields["intents"]),
                tuple(fields["tags"]),
                float(fields["temperature"]),
                float(fields["threshold"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(f"{path} holds no labels of an intent model: {error}") from error


class IntentDecoder:
    """Turns logits into decisions.

    Args:
        labels: of the model that made the logits.
        closed: gives closed slots their values; None where every slot is open.
        priors: what the training data say of slots; None where nothing is known.
        kinds: tells commands, questions and statements apart; None where that is not told.
        intent_kinds: which of these each intent takes; None where all take all.
    """

    def __init__(
        self,
        labels: IntentLabels,
        closed: ClosedSlots | None = None,
        priors: TagPriors | None = None,
        kinds: KindClassifier | None = None,
        intent_kinds: IntentKinds | None = None,
    ) -> None:
        self._labels = labels
        self._priors = priors or TagPriors.none(len(labels.intents), len(labels.slot_names))
        self._steps = TagSteps(self._priors.transitions)
        self._closed = closed
        self._kinds, self._intent_kinds = kinds, intent_kinds
        self._slot_names = labels.slot_names

    def decode(
        self,
        texts: Sequence[str],
        offsets: npt.NDArray[np.int64],
        intent_logits: npt.NDArray[np.float32],
        tag_logits: npt.NDArray[np.float32],
    ) -> list[Understanding]:
        """Decode a batch.

        Args:
            texts: what was tokenized, one string a row.
            offsets: ``[rows, tokens, 2]``, from :class:`engines.bert.tokenizing.UtteranceTokenizer`.
            intent_logits: ``[rows, intents]``.
            tag_logits: ``[rows, tokens, tags]``.

        Returns:
            One decision a row.
        """
        confidences = softmax(intent_logits / self._labels.temperature)
        return [
            self._decode_row(text, offsets[row], confidences[row], tag_logits[row]) for row, text in enumerate(texts)
        ]

    def _decode_row(
        self,
        text: str,
        offsets: npt.NDArray[np.int64],
        confidences: npt.NDArray[np.float32],
        tag_logits: npt.NDArray[np.float32],
    ) -> Understanding:
        words = offsets[:, 0] != NO_OFFSET
        best = int(confidences.argmax())
        confidence = float(confidences[best])
        intent = self._labels.intents[best]
        if not words.any():
            return Understanding(NO_INTENT, 0.0, ())
        told = self._kinds.classify(text) if self._kinds else None
        kind, negated = (told.kind, told.negated) if told else ("", False)
        candidates = self._candidates(confidences)
        misses_kind = told and self._intent_kinds and not self._intent_kinds.takes(best, told.probabilities)
        if confidence < self._labels.threshold or intent == NO_INTENT or misses_kind:
            return Understanding(NO_INTENT, confidence, (), kind, negated, candidates)
        logits = tag_logits[words] + self._priors.tag_bias(confidences)
        slots = self._slots(text, offsets[words], logits)
        if self._closed is not None:
            slots = self._closed.settle(text, slots)
        slots = whole_words(text, slots)
        return Understanding(intent, confidence, slots, kind, negated, candidates)

    def _candidates(self, confidences: npt.NDArray[np.float32]) -> tuple[tuple[str, float], ...]:
        """List the most likely intents, without :data:`NO_INTENT`."""
        order = np.argsort(-confidences, kind="stable")[: MAX_CANDIDATES + 1].tolist()
        named = [(self._labels.intents[n], float(confidences[n])) for n in order]
        return tuple(pair for pair in named if pair[0] != NO_INTENT)[:MAX_CANDIDATES]

    def _slots(self, text: str, words: npt.NDArray[np.int64], logits: npt.NDArray[np.float32]) -> tuple[Slot, ...]:
        if (least := self._priors.least) > 0:
            spans = likely_spans(logits, self._steps, least)
        else:
            spans = spans_of(best_tags(logits, self._steps))
        trimmed = (
            Slot(self._slot_names[span.slot], *trim(text, int(words[span.first, 0]), int(words[span.last, 1])))
            for span in spans
        )
        return tuple(slot for slot in trimmed if slot.start < slot.end)


def softmax(logits: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    """Softmax over the last axis."""
    exponents = np.exp(logits - logits.max(axis=-1, keepdims=True))
    normalized: npt.NDArray[np.float32] = exponents / exponents.sum(axis=-1, keepdims=True)
    return normalized


def trim(text: str, start: int, end: int) -> tuple[int, int]:
    """Take space and punctuation off both ends of a span.

    The full stop of an initial stays, and the one that an abbreviation needs is added: "u. s. d.", "7 p.m.".
    """
    while start < end and (text[start].isspace() or text[start] in EDGE_PUNCTUATION):
        start += 1
    while end > start and (text[end - 1].isspace() or text[end - 1] in EDGE_PUNCTUATION):
        if text[end - 1] == "." and _INITIAL.search(text, start, end):
            break
        end -= 1
    if text[end : end + 1] == "." and _DOTTED.search(text, start, end):
        end += 1
    return start, end
