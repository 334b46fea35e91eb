"""Judges understanding: intents, and slots by exact spans."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import NO_INTENT
from modelkit.evaluation.concurrency import bounded_map
from modelkit.evaluation.outcome import DECIMALS, Case, Evaluation, share
from modelkit.scoring import intent_accuracy, slot_f1
from modelkit.utterance_kinds.contrast import kind_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from engines.bert.intent_decoding import Understanding
    from engines.bert.slots import Slot
    from modelkit.evaluation.concurrency import OnProgress
    from modelkit.evaluation.engines import TextEngines
    from modelkit.evaluation.outcome import Json
    from modelkit.nlu import Utterance
    from modelkit.utterance_kinds.contrast import Labelled

WORST_INTENTS = 10
"""How many intents with the most errors are listed."""


async def evaluate_nlu(
    engines: TextEngines,
    utterances: Sequence[Utterance],
    outside: Sequence[str],
    contrast: Sequence[Labelled] = (),
    *,
    concurrency: int,
    on_progress: OnProgress,
) -> Evaluation:
    """Lets the engines understand every utterance, and compares; ``none`` is a wrong intent.

    Args:
        engines: are judged.
        utterances: with what they ask for.
        outside: texts that none of the intents fits, of which the share that got ``none`` is told.
        contrast: sentences of which the share whose kind and negation are right is told.
        concurrency: requests at a time.
        on_progress: called after every text.
    """
    began = time.monotonic()
    texts = [*(utterance.text for utterance in utterances), *outside, *(one.text for one in contrast)]
    got = await bounded_map(engines.understand, texts, concurrency, on_progress)
    seconds = time.monotonic() - began
    inside, others = got[: len(utterances)], got[len(utterances) :]
    beyond, contrasted = others[: len(outside)], others[len(outside) :]
    scores = score_understanding(utterances, inside)
    if outside:
        scores["outside_rejected"] = _rejected(beyond)
    if contrast:
        right = sum(kind_of(one.label) == (g.kind, g.negated) for one, g in zip(contrast, contrasted, strict=True))
        scores["contrast_right"] = share(right, len(contrast))
    cases = [
        _case(number, utterance, understood)
        for number, (utterance, understood) in enumerate(zip(utterances, inside, strict=True), 1)
    ]
    return Evaluation("nlu", len(utterances), scores, seconds, cases)


def score_understanding(utterances: Sequence[Utterance], got: Sequence[Understanding]) -> dict[str, Json]:
    """Scores intents and slots of a whole set."""
    slots = slot_f1([_spans(u.slots) for u in utterances], [_spans(g.slots) for g in got])
    whole = sum(_right(*pair) == (True, True) for pair in zip(utterances, got, strict=True))
    return {
        "intent_accuracy": round(intent_accuracy(utterances, got), DECIMALS),
        "rejected": _rejected(got),
        "slot_precision": round(slots.precision, DECIMALS),
        "slot_recall": round(slots.recall, DECIMALS),
        "slot_f1": round(slots.f1, DECIMALS),
        "all_right": share(whole, len(utterances)),
        "worst_intents": worst_intents(utterances, got),
    }


def worst_intents(utterances: Sequence[Utterance], got: Sequence[Understanding]) -> list[Json]:
    """Lists the intents that were missed most often, each with what was most often taken for it."""
    found: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for utterance, understood in zip(utterances, got, strict=True):
        found[utterance.intent][understood.intent] += 1
    missed = {intent: Counter({k: v for k, v in counts.items() if k != intent}) for intent, counts in found.items()}
    order = sorted((intent for intent in missed if missed[intent]), key=lambda i: (-missed[i].total(), i))
    return [
        {
            "intent": intent,
            "utterances": found[intent].total(),
            "accuracy": share(found[intent][intent], found[intent].total()),
            "taken_for": missed[intent].most_common(1)[0][0],
        }
        for intent in order[:WORST_INTENTS]
    ]


def _case(number: int, utterance: Utterance, got: Understanding) -> Case:
    reference = {"text": utterance.text, "intent": utterance.intent, "slots": _named(utterance.text, utterance.slots)}
    understood = {"intent": got.intent, "slots": _named(utterance.text, got.slots)}
    return Case(f"utterance {number}", reference, understood, sum(_right(utterance, got)) / 2)


def _right(utterance: Utterance, got: Understanding) -> tuple[bool, bool]:
    """Tells whether the intent is right, and whether all slots are."""
    return got.intent == utterance.intent, Counter(_spans(got.slots)) == Counter(_spans(utterance.slots))


def _spans(slots: Iterable[Slot]) -> list[tuple[str, int, int]]:
    return [(slot.name, slot.start, slot.end) for slot in slots]


def _named(text: str, slots: Iterable[Slot]) -> list[Json]:
    return [{"name": slot.name, "text": text[slot.start : slot.end]} for slot in slots]


def _rejected(got: Sequence[Understanding]) -> float:
    return share(sum(understood.intent == NO_INTENT for understood in got), len(got))
