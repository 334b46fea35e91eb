"""Reader of the files beside the Triton model ``intent_slot_decode``."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from engines.bert.closed_slots import ClosedSlots
from engines.bert.intent_decoding import IntentDecoder, IntentLabels
from engines.bert.intent_kinds import IntentKinds
from engines.bert.tag_priors import TagPriors
from engines.bert.utterance_kinds import KindClassifier

if TYPE_CHECKING:
    from pathlib import Path

UTTERANCE_KINDS, INTENT_KINDS = "utterance_kinds.npz", "intent_kinds.json"


def load_intent_decoder(directory: Path, *, forced: bool = False) -> IntentDecoder:
    """Read ``labels.json``, and the other files of a decoder where there are any.

    These are ``slot_values.json``, ``tag_priors.npz``, ``utterance_kinds.npz`` and ``intent_kinds.json``.

    Args:
        directory: of a version of the model.
        forced: name an intent even where the model is not sure.

    Raises:
        ValueError: a file does not hold what it should; the message names it.
    """
    labels = IntentLabels.load(directory / "labels.json")
    closed = ClosedSlots.load(directory / "slot_values.json")
    priors = TagPriors.load(path) if (path := directory / "tag_priors.npz").exists() else None
    kinds = KindClassifier.load(path) if (path := directory / UTTERANCE_KINDS).exists() else None
    taken = None
    if not forced and (path := directory / INTENT_KINDS).exists():
        taken = IntentKinds.load(path, labels.intents)
    return IntentDecoder(replace(labels, threshold=0.0) if forced else labels, closed, priors, kinds, taken)
