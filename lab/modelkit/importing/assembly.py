"""Puts together what a reader found in a checkpoint: exports the network, fits tokenizer and labels to it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import IntentLabels
from modelkit.importing.architectures import positions
from modelkit.importing.engine import FORCED, UNCALIBRATED_ANSWERS, UNCALIBRATED_INTENTS, Imported, readable
from modelkit.importing.graph import export_float32
from modelkit.importing.tag_graph import arrange_tags
from modelkit.importing.tags import plan_tags
from modelkit.importing.vocabulary import prepare

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from tokenizers import Tokenizer
    from torch import nn
    from transformers import PretrainedConfig

    from engines.bert.span_decoding import Calibration
    from modelkit.importing.tags import Scheme

NETWORK = "model.onnx"
ANSWERS = {"start_logits": True, "end_logits": True}
"""Outputs of an engine for answers, and that they have a value a token."""
UNDERSTANDING = {"intent_logits": False, "tag_logits": True}
"""Outputs of an engine for intents, and whether they have a vector a token."""


@dataclass(frozen=True, slots=True)
class Source:
    """What there is of a checkpoint besides its network.

    Attributes:
        name: what to call it in errors.
        tokenizer: as it was found.
        config: of the network's encoder; of two, that of the one which reads the shorter rows.
        origin: for the card: format, and the networks with their files.
        split_at_spaces: see :class:`engines.bert.tokenizing.TokenizerSettings`.
    """

    name: str
    tokenizer: Tokenizer
    config: PretrainedConfig
    origin: Mapping[str, object]
    split_at_spaces: bool = False


@dataclass(frozen=True, slots=True)
class Labels:
    """Names of the logits of a checkpoint, in their order, and what those of the slots mean."""

    intents: Sequence[str]
    slots: Sequence[str]
    scheme: Scheme | None = None


def assemble_answers(
    network: nn.Module,
    inputs: Sequence[str],
    source: Source,
    scratch: Path,
    calibration: tuple[Calibration, str] = (FORCED, UNCALIBRATED_ANSWERS),
) -> Imported:
    """Makes an engine for answers of a network that gives start and end logits.

    Args:
        network: takes ``inputs`` in their order.
        inputs: of :data:`engines.bert.session.INPUTS`.
        source: what else there is.
        scratch: a folder for the network.
        calibration: of the network, and what the card says of it.

    Raises:
        CheckpointError: something does not fit; the message names it.
    """
    settings = readable(positions(source.config), source.name)
    prepare(source.tokenizer, source.config.vocab_size, source.name)
    exported = export_float32(network, scratch / NETWORK, inputs, ANSWERS, source.config)
    fitted, note = calibration
    card = {"task": "question answering", "imported": source.origin, **exported.card(), "calibration": note}
    return Imported("qa", scratch / NETWORK, source.tokenizer, settings, card, calibration=fitted)


def assemble_understanding(network: nn.Module, labels: Labels, source: Source, scratch: Path) -> Imported:
    """Makes an engine for intents and slots of a network that gives logits of both.

    Args:
        network: takes ``input_ids`` and ``attention_mask``.
        labels: of its logits.
        source: what else there is.
        scratch: a folder for the network.

    Raises:
        CheckpointError: something does not fit; the message names it.
    """
    settings = readable(positions(source.config), source.name, split_at_spaces=source.split_at_spaces)
    prepare(source.tokenizer, source.config.vocab_size, source.name)
    plan = plan_tags(labels.slots, labels.scheme)
    inputs = ("input_ids", "attention_mask")
    exported = export_float32(network, scratch / NETWORK, inputs, UNDERSTANDING, source.config)
    arrange_tags(scratch / NETWORK, plan)
    card = {
        "task": "joint intent and slots",
        "imported": {**source.origin, "slot_scheme": plan.scheme},
        **exported.card(),
        "calibration": UNCALIBRATED_INTENTS,
    }
    names = IntentLabels(tuple(labels.intents), plan.tags)
    return Imported("nlu", scratch / NETWORK, source.tokenizer, settings, card, labels=names)
