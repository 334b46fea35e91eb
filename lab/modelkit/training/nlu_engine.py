"""Makes an engine directory of a trained intent and slot network: calibrated, exported, compressed, with its card."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.closed_slots import ClosedSlots
from engines.bert.intent_decoding import NO_INTENT, IntentDecoder, IntentLabels
from engines.bert.tokenizing import UtteranceTokenizer
from engines.bert.utterance_kinds import KindClassifier
from modelkit.calibration import choose_temperature, choose_threshold
from modelkit.compress import compress
from modelkit.engine_hints import hint_groups
from modelkit.export import NLU_INPUTS, NLU_OUTPUTS, export
from modelkit.tag_priors import choose_weights, count
from modelkit.training.nlu_rows import word_tags
from modelkit.training.nlu_task import predict, score
from modelkit.triton_models import SHIPPED_KINDS, write_nlu
from modelkit.utterance_kinds.intent_kinds import taken_kinds

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engines.bert.tag_priors import TagPriors
    from modelkit.networks import IntentSlotNetwork
    from modelkit.nlu import Utterance
    from modelkit.training.nlu_data import NluData
    from modelkit.training.nlu_texts import Augmenter
    from modelkit.training.saved import SavedIntents

SAMPLES = 400
"""Inputs on which the ranges of the activations are measured."""
_ALLOWED_LOSS = 0.004
"""Share of the right decisions that the threshold may turn into ``none``."""


def finish(
    saved: SavedIntents, directory: Path, data: NluData, augmenter: Augmenter, card: Mapping[str, object], seed: int
) -> dict[str, object]:
    """Writes the engine directory.

    Args:
        saved: the trained network.
        directory: is written.
        data: the sets on which it is calibrated, scored and compressed.
        augmenter: makes the texts for compression.
        card: what the network was made of; the scores are added.
        seed: of the choice of these texts.

    Returns:
        The scores.
    """
    tokenizer = UtteranceTokenizer(saved.tokenizer)
    labels, priors, scores = calibrate(saved.network, saved.labels, data, tokenizer)
    rng = random.Random(seed)
    shown = rng.sample(data.training, min(SAMPLES, len(data.training)))
    texts = [augmenter.vary(utterance, rng).text for utterance in shown]
    with TemporaryDirectory() as folder:
        plain, small = Path(folder, "model.onnx"), Path(folder, "model.int8.onnx")
        export(saved.network, plain, NLU_INPUTS, NLU_OUTPUTS)
        encoded = [tokenizer.encode([text]) for text in texts]
        compress(plain, small, [{name: getattr(batch, name) for name in NLU_INPUTS} for batch in encoded])
        write_nlu(
            directory,
            onnx=small,
            tokenizer=saved.tokenizer,
            labels=labels,
            card={**card, "scores": scores},
            slot_values=data.slot_values,
            priors=priors,
            kinds=taken_kinds(data.training, KindClassifier.load(SHIPPED_KINDS)),
            hints=hint_groups(data.sentences, data.slot_values),
        )
    return scores


def calibrate(
    network: IntentSlotNetwork, labels: IntentLabels, data: NluData, tokenizer: UtteranceTokenizer
) -> tuple[IntentLabels, TagPriors, dict[str, object]]:
    """Chooses temperature, threshold and the weight of the tags' priors on the validation set, and scores it."""
    inside = predict(network, [utterance.text for utterance in data.validation], tokenizer)
    truth = np.array([labels.intents.index(utterance.intent) for utterance in data.validation])
    temperature = choose_temperature(inside.intents, truth)
    # Where ``none`` is an intent of its own, the most likely one decides.
    rejecting = NO_INTENT not in labels.intents
    threshold = choose_threshold(inside.intents / temperature, truth, _ALLOWED_LOSS) if rejecting else 0.0
    # Rounded down, lest the last decision that may stay be lost.
    calibrated = replace(labels, temperature=round(temperature, 4), threshold=math.floor(threshold * 1e4) / 1e4)
    tags = [word_tags(utterance, labels, tokenizer) for utterance in data.training]
    priors = choose_weights(
        count(data.training, tags, labels),
        lambda weighted: score(inside, data.validation, IntentDecoder(labels, None, weighted))["slot_f1"],
    )
    decoder = IntentDecoder(calibrated, ClosedSlots(data.slot_values) if data.slot_values else None, priors)
    scores: dict[str, object] = {
        "validation_without_priors": _rounded(score(inside, data.validation, IntentDecoder(labels))),
        "validation_forced": _rounded(score(inside, data.validation, IntentDecoder(labels, None, priors))),
        "validation": _rounded(score(inside, data.validation, decoder)),
        "outliers_rejected": {
            kind: _rejected(network, texts, decoder, tokenizer) for kind, texts in data.held_out.items()
        },
    }
    if data.slot_values:
        scores["validation_accepted"] = accepted(network, data, decoder, tokenizer)
    if data.test:
        logits = predict(network, [utterance.text for utterance in data.test], tokenizer)
        scores["test"] = _rounded(score(logits, data.test, decoder))
    return calibrated, priors, scores


def accepted(network: IntentSlotNetwork, data: NluData, decoder: IntentDecoder, tokenizer: UtteranceTokenizer) -> float:
    """Share of the validation set's utterances with the right intent and exactly the right values of all slots."""
    clean = ClosedSlots(data.slot_values)
    texts = [utterance.text for utterance in data.validation]
    logits = predict(network, texts, tokenizer)
    got = decoder.decode(texts, logits.offsets, logits.intents, logits.tags)
    right = [
        result.intent == utterance.intent
        and sorted((s.name, s.value or utterance.text[s.start : s.end]) for s in result.slots)
        == _values(utterance, clean)
        for utterance, result in zip(data.validation, got, strict=True)
    ]
    return round(float(np.mean(right)), 4)


def _values(utterance: Utterance, closed: ClosedSlots) -> list[tuple[str, str]]:
    """Lists the labelled slots; the value of an open one is its words."""
    labelled = [(slot.name, utterance.text[slot.start : slot.end]) for slot in utterance.slots]
    return sorted((name, closed.resolve(name, words) or words) for name, words in labelled)


def _rejected(
    network: IntentSlotNetwork, texts: Sequence[str], decoder: IntentDecoder, tokenizer: UtteranceTokenizer
) -> float:
    logits = predict(network, texts, tokenizer)
    got = decoder.decode(texts, logits.offsets, logits.intents, logits.tags)
    return round(float(np.mean([understanding.intent == NO_INTENT for understanding in got])), 4)


def _rounded(scores: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 4) for name, value in scores.items()}
