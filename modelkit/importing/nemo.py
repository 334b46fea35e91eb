"""Reads ``.nemo`` archives of NVIDIA NeMo's intent and slot and question answering models, without NeMo.

NeMo writes a tar of ``model_config.yaml``, ``model_weights.ckpt`` and artifacts; the configuration names these as
``nemo:FILE``. Encoder, heads and labels are called there as in NeMo 1.0 to 1.23, the last release with these models.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import yaml
from torch import nn

from engines.bert.span_decoding import Calibration
from modelkit.errors import CheckpointError
from modelkit.importing.architectures import architecture_of
from modelkit.importing.archive import unpack
from modelkit.importing.assembly import Labels, Source, assemble_answers, assemble_understanding
from modelkit.importing.engine import FORCED, UNCALIBRATED_ANSWERS, digests
from modelkit.importing.heads import EncoderWithIntentsAndTags, EncoderWithSpans, output_size, perceptron
from modelkit.importing.labels import check_count, checked_labels, split_labels
from modelkit.importing.lines import split_lines
from modelkit.importing.vocabulary import wordpiece
from modelkit.importing.weights import read_pickled
from modelkit.text_files import read_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    import transformers
    from tokenizers import Tokenizer

    from modelkit.importing.architectures import Architecture
    from modelkit.importing.engine import Imported
    from modelkit.importing.tags import Scheme
    from modelkit.importing.weights import State

_CONFIG, _WEIGHTS = "model_config.yaml", "model_weights.ckpt"
_INTENT_SLOT = "IntentSlotClassificationModel"
_ANSWERS = ("QAModel", "BERTQAModel")
_ENCODER = "bert_model."
_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}


@dataclass(frozen=True, slots=True)
class Archive:
    """An unpacked archive.

    Attributes:
        path: of the archive itself.
        files: its members by name.
        config: what ``model_config.yaml`` says.
    """

    path: Path
    files: dict[str, Path]
    config: dict[str, Any]

    @classmethod
    def open(cls, path: Path, scratch: Path) -> Archive:
        """Unpacks an archive into ``scratch`` and reads its configuration.

        Raises:
            CheckpointError: it is damaged, not to be trusted, or no archive of NeMo.
        """
        files = unpack(path, scratch)
        missing = [name for name in (_CONFIG, _WEIGHTS) if name not in files]
        if missing:
            raise CheckpointError(f"{path} has no {' and no '.join(missing)}: give an archive that NeMo saved")
        try:
            config = yaml.safe_load(read_text(files[_CONFIG]))
        except yaml.YAMLError as error:
            raise CheckpointError(f"{path}: {_CONFIG} is no plain YAML: get the archive again") from error
        if not isinstance(config, dict):
            raise CheckpointError(f"{path}: {_CONFIG} is no configuration: get the archive again")
        return cls(path, files, config)

    def get(self, key: str) -> Any:  # noqa: ANN401 - YAML holds anything
        """Returns the value of a dotted key, or None."""
        value: Any = self.config
        for part in key.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        return value

    def artifact(self, key: str) -> Path | None:
        """Returns the file that a dotted key names, or None where the key names none.

        Raises:
            CheckpointError: the archive lacks that file.
        """
        value = self.get(key)
        if not value:
            return None
        name = PurePosixPath(str(value).removeprefix("nemo:")).name
        if name not in self.files:
            raise CheckpointError(f"{self.path} lacks {name}, which {_CONFIG} names as {key}: save the model again")
        return self.files[name]


def read_nemo(path: Path, scratch: Path, scheme: Scheme | None = None) -> Imported:
    """Reads an archive.

    Args:
        path: of the archive.
        scratch: a folder for what is unpacked and made.
        scheme: of the slot labels; None tells it by the labels, which have no ``B-`` in NeMo as a rule.

    Raises:
        CheckpointError: the archive is damaged, not to be trusted, of another model, or incomplete.
    """
    unpacked = scratch / "archive"
    unpacked.mkdir()
    archive = Archive.open(path, unpacked)
    kind = str(archive.get("target") or "").rpartition(".")[2]
    if kind not in (_INTENT_SLOT, *_ANSWERS):
        shown = kind or "a model whose class it does not name"
        raise CheckpointError(f"{path} holds {shown}, which cannot be imported: take {_INTENT_SLOT} or {_ANSWERS[1]}")
    architecture, settings = _encoder_settings(archive)
    state = read_pickled(archive.files[_WEIGHTS], f"{path}: {_WEIGHTS}")
    encoder = architecture.build_encoder(settings, state, _ENCODER, str(path))
    source = Source(
        name=str(path),
        tokenizer=_tokenizer(archive),
        config=encoder.config,
        origin={"format": "NeMo", "architecture": kind, "nemo": archive.get("nemo_version"), "files": digests([path])},
        split_at_spaces=kind == _INTENT_SLOT,
    )
    try:
        if kind == _INTENT_SLOT:
            return _understanding(archive, encoder, state, source, scratch, scheme)
        return _answers(archive, encoder, state, source, scratch, segments=architecture.has_segments)
    except KeyError as error:
        raise CheckpointError(f"{path} lacks the tensor {error.args[0]}: save the model again") from error


def _understanding(
    archive: Archive,
    encoder: transformers.PreTrainedModel,
    state: State,
    source: Source,
    scratch: Path,
    scheme: Scheme | None,
) -> Imported:
    heads = perceptron(state, "classifier.intent_mlp"), perceptron(state, "classifier.slot_mlp")
    intents, slots = (_labels(archive, kind) for kind in ("intent", "slot"))
    for labels, head, kind in zip((intents, slots), heads, ("intent", "slot"), strict=True):
        check_count(labels, output_size(head), f"{archive.path}, {kind} labels")
    network = EncoderWithIntentsAndTags(encoder, *heads)
    return assemble_understanding(network, Labels(intents, slots, scheme), source, scratch)


def _answers(
    archive: Archive,
    encoder: transformers.PreTrainedModel,
    state: State,
    source: Source,
    scratch: Path,
    *,
    segments: bool,
) -> Imported:
    activation = archive.get("token_classifier.activation") or "relu"
    if archive.get("token_classifier.log_softmax") or activation not in _ACTIVATIONS:
        raise CheckpointError(f"{archive.path} has a head with {activation} or log_softmax, which cannot be imported")
    head = perceptron(state, "classifier.mlp", _ACTIVATIONS[activation])
    if output_size(head) != 2:
        raise CheckpointError(f"{archive.path} gives {output_size(head)} values a token: answers have start and end")
    inputs = ("input_ids", "attention_mask", *(["token_type_ids"] if segments else []))
    network = EncoderWithSpans(encoder, head, inputs)
    return assemble_answers(network, inputs, source, scratch, _calibration(archive))


def _calibration(archive: Archive) -> tuple[Calibration, str]:
    """Takes over when the model abstained: where "no answer" beat the best span by more than a threshold."""
    longest = int(archive.get("dataset.max_answer_length") or FORCED.max_answer_tokens)
    if not archive.get("dataset.version_2_with_negative"):
        return Calibration(threshold=0.0, max_answer_tokens=longest), UNCALIBRATED_ANSWERS
    allowed = float(archive.get("dataset.null_score_diff_threshold") or 0.0)
    threshold = 1 / (1 + math.exp(max(-30.0, min(30.0, allowed))))
    note = f"null_score_diff_threshold of the archive, {allowed:g}"
    return Calibration(threshold=threshold, max_answer_tokens=longest), note


def _encoder_settings(archive: Archive) -> tuple[Architecture, dict[str, Any]]:
    file = archive.artifact("language_model.config_file")
    settings = archive.get("language_model.config")
    if file is not None:
        try:
            settings = json.loads(read_text(file))
        except json.JSONDecodeError as error:
            raise CheckpointError(
                f"{archive.path}: the configuration of its encoder is no JSON: save it again"
            ) from error
    if not isinstance(settings, dict):
        raise CheckpointError(f"{archive.path} does not say what its encoder is like: save it with NeMo 1.0 or later")
    return architecture_of(settings, str(archive.path)), settings


def _tokenizer(archive: Archive) -> Tokenizer:
    file = archive.artifact("tokenizer.vocab_file")
    text = read_text(file) if file is not None else ""
    if not text or text.lstrip().startswith("{"):
        raise CheckpointError(
            f"{archive.path} holds no WordPiece vocabulary, and no other tokenizer is complete in a .nemo archive: "
            "save encoder and heads as a Hugging Face directory"
        )
    name = str(archive.get("tokenizer.tokenizer_name") or archive.get("language_model.pretrained_model_name") or "")
    lowercase = True if "uncased" in name else False if "cased" in name else None
    return wordpiece(split_lines(text), f"{archive.path}, vocabulary", lowercase=lowercase)


def _labels(archive: Archive, kind: str) -> Sequence[str]:
    """Reads the labels of ``intent`` or ``slot``: from their file, or from the description of the data."""
    file = archive.artifact(f"class_labels.{kind}_labels_file")
    ids = archive.get(f"data_desc.{kind}_label_ids")
    if file is not None:
        labels = split_labels(read_text(file))
    elif isinstance(ids, dict):
        labels = [str(label) for label in sorted(ids, key=lambda label: int(ids[label]))]
    else:
        raise CheckpointError(f"{archive.path} has no {kind} labels: save the model with its class_labels")
    return checked_labels(labels, f"{archive.path}, {kind} labels")
