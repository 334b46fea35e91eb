"""Reads ``.nemo`` archives of NVIDIA NeMo's intent and slot and question answering models, without NeMo.

NeMo writes a tar of ``model_config.yaml``, ``model_weights.ckpt`` and artifacts; the configuration names these as
``nemo:FILE``. Encoder, heads and labels are called there as in NeMo 1.0 to 1.23, the last release with these models.
"""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

from torch import nn

from engines.bert.span_decoding import Calibration
from modelkit.errors import CheckpointError
from modelkit.importing.architectures import architecture_of
from modelkit.importing.assembly import Labels, Source, assemble_answers, assemble_understanding
from modelkit.importing.engine import FORCED, UNCALIBRATED_ANSWERS, digests
from modelkit.importing.heads import EncoderWithIntentsAndTags, EncoderWithSpans, output_size, perceptron
from modelkit.importing.labels import check_count, checked_labels, split_labels
from modelkit.importing.lines import split_lines
from modelkit.importing.nemo_archive import WEIGHTS, Archive
from modelkit.importing.vocabulary import wordpiece
from modelkit.importing.weights import read_pickled

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import transformers
    from tokenizers import Tokenizer

    from modelkit.importing.architectures import Architecture
    from modelkit.importing.engine import Imported
    from modelkit.importing.tags import Scheme
    from modelkit.importing.weights import State

_INTENT_SLOT = "IntentSlotClassificationModel"
_ANSWERS = ("QAModel", "BERTQAModel")
_ENCODER = "bert_model."
_ACTIVATIONS: dict[str, type[nn.Module]] = {"relu": nn.ReLU, "tanh": nn.Tanh, "sigmoid": nn.Sigmoid}


def read_nemo(path: Path, scratch: Path, scheme: Scheme | None = None) -> Imported:
    """Reads an archive.

    Args:
        path: of the archive.
        scratch: a folder for what is unpacked and made.
        scheme: of the slot labels; None tells it by the labels, which have no ``B-`` in NeMo as a rule.

    Raises:
        CheckpointError: the archive is damaged, not to be trusted, of another model, or incomplete.
        DataError: a file in it is no text.
    """
    unpacked = scratch / "archive"
    unpacked.mkdir()
    archive = Archive.open(path, unpacked)
    kind = archive.word("target").rpartition(".")[2]
    if kind not in (_INTENT_SLOT, *_ANSWERS):
        shown = kind or "a model whose class it does not name"
        raise CheckpointError(f"{path} holds {shown}, which cannot be imported: take {_INTENT_SLOT} or {_ANSWERS[1]}")
    architecture, settings = _encoder_settings(archive)
    state = read_pickled(archive.files[WEIGHTS], f"{path}: {WEIGHTS}")
    encoder = architecture.build_encoder(settings, state, _ENCODER, str(path))
    source = Source(
        name=str(path),
        tokenizer=_tokenizer(archive),
        config=encoder.config,
        origin={
            "format": "NeMo",
            "architecture": kind,
            "nemo": archive.word("nemo_version") or None,
            "files": digests([path]),
        },
        split_at_spaces=kind == _INTENT_SLOT,
    )
    if kind == _INTENT_SLOT:
        return _understanding(archive, encoder, state, source, scratch, scheme)
    return _answers(archive, encoder, state, source, scratch, segments=architecture.reads_segments(encoder.config))


def _understanding(
    archive: Archive,
    encoder: transformers.PreTrainedModel,
    state: State,
    source: Source,
    scratch: Path,
    scheme: Scheme | None,
) -> Imported:
    hidden, name = encoder.config.hidden_size, str(archive.path)
    intent_head, slot_head = (perceptron(state, f"classifier.{kind}_mlp", hidden, name) for kind in ("intent", "slot"))
    intents, slots = (_labels(archive, kind) for kind in ("intent", "slot"))
    for labels, head, kind in ((intents, intent_head, "intent"), (slots, slot_head, "slot")):
        check_count(labels, output_size(head), f"{name}, {kind} labels")
    network = EncoderWithIntentsAndTags(encoder, intent_head, slot_head)
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
    activation = archive.word("token_classifier.activation") or "relu"
    if archive.get("token_classifier.log_softmax") or activation not in _ACTIVATIONS:
        raise CheckpointError(f"{archive.path} has a head with {activation} or log_softmax, which cannot be imported")
    hidden = encoder.config.hidden_size
    head = perceptron(state, "classifier.mlp", hidden, str(archive.path), _ACTIVATIONS[activation])
    if output_size(head) != 2:
        raise CheckpointError(f"{archive.path} gives {output_size(head)} values a token: answers have start and end")
    inputs = ("input_ids", "attention_mask", *(["token_type_ids"] if segments else []))
    network = EncoderWithSpans(encoder, head, inputs)
    return assemble_answers(network, inputs, source, scratch, _calibration(archive))


def _calibration(archive: Archive) -> tuple[Calibration, str]:
    """Takes over when the model abstained: where "no answer" beat the best span by more than a threshold."""
    longest = int(archive.number("dataset.max_answer_length") or FORCED.max_answer_tokens)
    if not archive.get("dataset.version_2_with_negative"):
        return Calibration(threshold=0.0, max_answer_tokens=longest), UNCALIBRATED_ANSWERS
    allowed = archive.number("dataset.null_score_diff_threshold")
    threshold = 1 / (1 + math.exp(max(-30.0, min(30.0, allowed))))
    note = f"null_score_diff_threshold of the archive, {allowed:g}"
    return Calibration(threshold=threshold, max_answer_tokens=longest), note


def _encoder_settings(archive: Archive) -> tuple[Architecture, dict[str, Any]]:
    text = archive.artifact("language_model.config_file")
    settings = archive.get("language_model.config")
    if text is not None:
        try:
            settings = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise CheckpointError(
                f"{archive.path}: the configuration of its encoder is no JSON: save it again"
            ) from error
    if not isinstance(settings, dict):
        raise CheckpointError(f"{archive.path} does not say what its encoder is like: save it with NeMo 1.0 or later")
    return architecture_of(settings, str(archive.path)), settings


def _tokenizer(archive: Archive) -> Tokenizer:
    text = archive.artifact("tokenizer.vocab_file")
    if not text or text.lstrip().startswith("{"):
        raise CheckpointError(
            f"{archive.path} holds no WordPiece vocabulary, and no other tokenizer is complete in a .nemo archive: "
            "save encoder and heads as a Hugging Face directory"
        )
    name = archive.word("tokenizer.tokenizer_name") or archive.word("language_model.pretrained_model_name")
    lowercase = True if "uncased" in name else False if "cased" in name else None
    return wordpiece(split_lines(text), f"{archive.path}, vocabulary", lowercase=lowercase)


def _labels(archive: Archive, kind: str) -> Sequence[str]:
    """Reads the labels of ``intent`` or ``slot``: from their file, or from the description of the data."""
    text = archive.artifact(f"class_labels.{kind}_labels_file")
    ids = archive.get(f"data_desc.{kind}_label_ids")
    if text is not None:
        labels = split_labels(text)
    elif isinstance(ids, dict) and all(isinstance(index, int) for index in ids.values()):
        labels = [str(label) for label in sorted(ids, key=ids.__getitem__)]
    else:
        raise CheckpointError(f"{archive.path} has no {kind} labels: save the model with its class_labels")
    return checked_labels(labels, f"{archive.path}, {kind} labels")
