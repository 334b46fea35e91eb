"""Reads Hugging Face directories: question answering, and a sequence with a token classifier, in two or joint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from modelkit.errors import CheckpointError
from modelkit.importing.architectures import SUPPORTED, Architecture, architecture_of, positions
from modelkit.importing.assembly import Labels, Source, assemble_answers, assemble_understanding
from modelkit.importing.engine import digests
from modelkit.importing.heads import EncoderWithIntentsAndTags, SpanHead, TwoClassifiers, linear
from modelkit.importing.labels import check_count, configured_labels, read_labels
from modelkit.importing.vocabulary import read_tokenizer
from modelkit.importing.weights import read_state
from modelkit.loading import CONFIG, read_config

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import transformers
    from tokenizers import Tokenizer

    from modelkit.importing.engine import Imported
    from modelkit.importing.tags import Scheme
    from modelkit.importing.weights import State

_ANSWERS = "ForQuestionAnswering"
_INTENTS = "ForSequenceClassification"
_TAGS = "ForTokenClassification"
_JOINT = "JointBERT"
_LABEL_FILES = ("intent_label.txt", "slot_label.txt")
_FILES = (
    *(CONFIG, "*.safetensors", "pytorch_model*.bin", "*.index.json"),
    *("tokenizer.json", "tokenizer_config.json", "vocab.*", "merges.txt", "*_label.txt"),
)


@dataclass(frozen=True, slots=True)
class Directory:
    """A Hugging Face directory, of which the configuration is read."""

    path: Path
    config: dict[str, Any]
    architecture: Architecture

    @classmethod
    def open(cls, path: Path) -> Directory:
        """Reads ``config.json``.

        Raises:
            CheckpointError: there is none, or it names an architecture that cannot be imported.
            DataError: it is no text.
        """
        config = read_config(path, CheckpointError)
        return cls(path, config, architecture_of(config, str(path)))

    @property
    def class_name(self) -> str:
        """The class that the checkpoint was saved from."""
        names = self.config.get("architectures") or [""]
        return str(names[0])

    def is_for(self, suffix: str) -> bool:
        """Whether it was saved from the class of that suffix."""
        return self.class_name == f"{self.architecture.name}{suffix}"

    def build(self, suffix: str) -> transformers.PreTrainedModel:
        """Builds the network."""
        return self.architecture.build(suffix, self.config, self.state(), str(self.path))

    def state(self) -> State:
        """Reads the tensors.

        Raises:
            CheckpointError: there are none, or those of a CRF are among them.
        """
        state = read_state(self.path)
        crf = next((key for key in state if key.startswith("crf.")), None)
        if crf is not None:
            raise CheckpointError(
                f"{self.path} chooses its slots by a CRF ({crf}), which cannot be imported, and without it the slots "
                "would be others: train the network without one (JointBERT: without --use_crf), and import that"
            )
        return state

    def card(self) -> dict[str, object]:
        """Says where the network comes from."""
        files = [file for pattern in _FILES for file in self.path.glob(pattern)]
        return {"name": self.path.resolve().name, "architecture": self.class_name, "files": digests(files)}


def read_hugging_face(paths: Sequence[Path], scratch: Path, scheme: Scheme | None = None) -> Imported:
    """Reads one directory, or two: a sequence classifier for intents and a token classifier for slots, in any order.

    Args:
        paths: of the directories.
        scratch: a folder for the network.
        scheme: of the slot labels.

    Raises:
        CheckpointError: something is missing or does not fit; the message names it.
        DataError: a file is no text.
    """
    directories = [Directory.open(path) for path in paths]
    first = directories[0]
    if len(directories) == 2:
        intents = next((d for d in directories if d.is_for(_INTENTS)), None)
        tags = next((d for d in directories if d.is_for(_TAGS)), None)
        if intents is None or tags is None:
            given = " and ".join(d.class_name or "a network without a named class" for d in directories)
            raise CheckpointError(f"two directories are an intent engine of {_INTENTS} and {_TAGS}, not of {given}")
        return _read_two(intents, tags, scratch, scheme)
    if first.is_for(_ANSWERS):
        return _read_answers(first, scratch)
    if first.class_name == _JOINT:
        return _read_joint(first, scratch, scheme)
    if first.is_for(_INTENTS) or first.is_for(_TAGS):
        other = "token classifier for its slots" if first.is_for(_INTENTS) else "sequence classifier for its intents"
        raise CheckpointError(f"{first.path} is half an intent engine: give the directory of a {other} with it")
    raise CheckpointError(
        f"{first.path} was saved from {first.class_name or 'no class that its config.json names'}, "
        f"which has no head to import: take {SUPPORTED}"
    )


def _read_answers(directory: Directory, scratch: Path) -> Imported:
    network = directory.build(_ANSWERS)
    segments = ("token_type_ids",) if directory.architecture.reads_segments(network.config) else ()
    inputs = ("input_ids", "attention_mask", *segments)
    return assemble_answers(SpanHead(network, inputs), inputs, _source([directory], [network.config]), scratch)


def _read_two(intents: Directory, tags: Directory, scratch: Path, scheme: Scheme | None) -> Imported:
    tokenizer, other = read_tokenizer(intents.path), read_tokenizer(tags.path)
    if _behaviour(tokenizer) != _behaviour(other):
        raise CheckpointError(
            f"{intents.path} and {tags.path} have different tokenizers: take two networks whose vocabularies and "
            "tokenizer_config.json agree"
        )
    if intents.config.get("problem_type") == "multi_label_classification":
        raise CheckpointError(f"{intents.path} gives several labels at once: take a network that chooses one")
    names = configured_labels(intents.config, intents.path / CONFIG)
    slots = configured_labels(tags.config, tags.path / CONFIG)
    networks = intents.build(_INTENTS), tags.build(_TAGS)
    if len({network.config.vocab_size for network in networks}) > 1:
        raise CheckpointError(f"{intents.path} and {tags.path} have embeddings for different vocabularies: take a pair")
    source = _source([intents, tags], [network.config for network in networks])
    return assemble_understanding(TwoClassifiers(*networks), Labels(names, slots, scheme), source, scratch)


def _behaviour(tokenizer: Tokenizer) -> tuple[dict[str, int], str, str]:
    """What makes two tokenizers give the same ids for a text."""
    return tokenizer.get_vocab(), str(tokenizer.normalizer), str(tokenizer.pre_tokenizer)


def _read_joint(directory: Directory, scratch: Path, scheme: Scheme | None) -> Imported:
    """Reads what the public implementation of JointBERT (Chen et al., 2019) saves, with its label files beside it."""
    names, slots = (read_labels(directory.path / name) for name in _LABEL_FILES)
    state = directory.state()
    encoder = directory.architecture.build_encoder(directory.config, state, "bert.", str(directory.path), pooled=True)
    intent_head, slot_head = (
        linear(state, f"{kind}_classifier.linear", encoder.config.hidden_size, str(directory.path))
        for kind in ("intent", "slot")
    )
    for labels, head, file in zip((names, slots), (intent_head, slot_head), _LABEL_FILES, strict=True):
        check_count(labels, head.out_features, str(directory.path / file))
    network = EncoderWithIntentsAndTags(encoder, intent_head, slot_head, pooled=True)
    return assemble_understanding(
        network, Labels(names, slots, scheme), _source([directory], [encoder.config]), scratch
    )


def _source(directories: Sequence[Directory], configs: Sequence[transformers.PretrainedConfig]) -> Source:
    path = directories[0].path
    return Source(
        name=str(path),
        tokenizer=read_tokenizer(path),
        config=min(configs, key=positions),
        origin={"format": "Hugging Face", "networks": [directory.card() for directory in directories]},
    )
