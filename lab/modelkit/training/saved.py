"""Loads the float32 networks that training leaves in an engine directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import IntentLabels
from modelkit.errors import EngineError
from modelkit.networks import IntentSlotNetwork, PunctuationNetwork, new_encoder
from modelkit.token_pruning import span_network
from modelkit.training.bases import CONFIG, LABELS, TOKENIZER
from modelkit.training.checkpoint import NETWORK, load_tensors

if TYPE_CHECKING:
    from pathlib import Path

    from torch import nn

    from modelkit.networks import SpanNetwork


@dataclass(frozen=True, slots=True)
class SavedIntents:
    """A trained intent and slot engine: its network, in evaluation mode, and what belongs to it."""

    network: IntentSlotNetwork
    labels: IntentLabels
    tokenizer: Path


@dataclass(frozen=True, slots=True)
class SavedSpans:
    """A trained question answering engine: its network, in evaluation mode, and what belongs to it."""

    network: SpanNetwork
    tokenizer: Path


@dataclass(frozen=True, slots=True)
class SavedPunctuation:
    """A trained punctuation engine: its network, in evaluation mode, and what belongs to it."""

    network: PunctuationNetwork
    tokenizer: Path


def load_intents(directory: Path, *, traceable: bool = True) -> SavedIntents:
    """Loads the network of an engine directory for intents and slots.

    Args:
        directory: holds ``training/``.
        traceable: see :func:`modelkit.networks.new_encoder`.

    Raises:
        EngineError: it holds no such network.
    """
    folder = _training(directory, LABELS)
    labels = IntentLabels.load(folder / LABELS)
    network = IntentSlotNetwork(new_encoder(folder, traceable=traceable), len(labels.intents), len(labels.tags))
    _fill(network, folder)
    return SavedIntents(network, labels, folder / TOKENIZER)


def load_spans(directory: Path, *, traceable: bool = True) -> SavedSpans:
    """Loads the network of an engine directory for answers.

    Args:
        directory: holds ``training/``.
        traceable: see :func:`modelkit.networks.new_encoder`.

    Raises:
        EngineError: it holds no such network.
        TrainingError: its configuration asks for what it cannot do.
    """
    folder = _training(directory)
    network = span_network(new_encoder(folder, traceable=traceable))
    _fill(network, folder)
    return SavedSpans(network, folder / TOKENIZER)


def load_punctuation(directory: Path, *, traceable: bool = True) -> SavedPunctuation:
    """Loads the network of an engine directory for punctuation; see :func:`load_intents`."""
    folder = _training(directory)
    network = PunctuationNetwork(new_encoder(folder, traceable=traceable))
    _fill(network, folder)
    return SavedPunctuation(network, folder / TOKENIZER)


def _training(directory: Path, *more: str) -> Path:
    folder = directory / "training"
    missing = [name for name in (NETWORK, CONFIG, TOKENIZER, *more) if not (folder / name).exists()]
    if missing:
        raise EngineError(f"{folder} lacks {', '.join(missing)}: name an engine directory that training wrote")
    return folder


def _fill(network: nn.Module, folder: Path) -> None:
    try:
        network.load_state_dict(load_tensors(folder / NETWORK))
    except RuntimeError as error:
        raise EngineError(f"{folder / NETWORK} holds another kind of network than its folder says") from error
    network.eval()
