"""Engine directories: what training, importing and optimizing write, and what ``vivavoce serve --engine`` loads.

An engine directory holds ``card.json`` and ``triton/``, the Triton models to serve: for intents ``intent_slot`` with
its three steps, for answers ``qa`` with its three, for punctuation ``punctuation`` alone. Their ``config.pbtxt`` and
``model.py`` are those of the shipped repository: they hold nothing of a single network, which is told by the files in
the versions' folders.
"""

from __future__ import annotations

import io
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from engines.asr.moonshine.loading import FOLDER
from engines.asr.recognizers import CARD
from engines.bert.decoder_files import INTENT_KINDS, UTTERANCE_KINDS
from engines.bert.tokenizing import SETTINGS
from engines.build.files import whole_directory, write_whole
from modelkit.cards import dated
from modelkit.errors import EngineError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from engines.bert.intent_decoding import IntentLabels
    from engines.bert.span_decoding import Calibration
    from engines.bert.tag_priors import TagPriors

MODEL_REPOSITORY = Path(__file__).resolve().parents[2] / "model_repository"
"""The shipped Triton models."""
NLU_MODELS = ("intent_slot", "intent_slot_tokenize", "intent_slot_bert", "intent_slot_decode")
"""The ensemble and its steps, in the order in which they work."""
PUNCTUATION_MODELS = ("punctuation",)
"""One model for all steps: it is asked seldom, and each model takes a process."""
QA_MODELS = ("qa", "qa_tokenize", "qa_bert", "qa_decode")
VERSION = "1"
HINTS = "phrase_hints"
"""Parameter of the model ``intent_slot`` that holds phrase hints, which the service asks Triton for."""
HINTS_FILE = "phrase_hints.json"
"""The same, where an engine is made of another one."""
SHIPPED_KINDS = MODEL_REPOSITORY / "intent_slot_decode" / VERSION / UTTERANCE_KINDS
"""The classifier of utterance kinds, which serves every domain."""

_SETTING = r'((?:key: "{0}", value: \{{ string_value: "|\b{0}: ))[\w.,-]+'
"""A parameter or a number of a ``config.pbtxt``, with its value behind the group."""
_OF_ONE_NETWORK = ("*.onnx", "*.onnx.data", "*.safetensors", "*.json", "*.npz", "__pycache__")


def write_nlu(  # noqa: PLR0913 - an engine has so many parts
    directory: Path,
    *,
    onnx: Path,
    tokenizer: Path,
    labels: IntentLabels,
    card: Mapping[str, object],
    slot_values: Mapping[str, Sequence[str]] | None = None,
    priors: TagPriors | None = None,
    kinds: Mapping[str, object] | None = None,
    hints: Sequence[Mapping[str, object]] = (),
) -> None:
    """Makes ``directory`` an engine directory for intents and slots; what else lies in it stays.

    Args:
        directory: need not exist.
        onnx: a network with the inputs ``input_ids`` and ``attention_mask`` ``[rows, tokens]`` int64, and the outputs
            ``intent_logits`` ``[rows, intents]`` and ``tag_logits`` ``[rows, tokens, tags]`` float32.
        tokenizer: a ``tokenizer.json`` of the Hugging Face tokenizers library; settings beside it come along.
        labels: names of the logits.
        card: what the network is; today's date is put before it, unless it has one.
        slot_values: all values of each closed slot.
        priors: what the training data say of slots.
        kinds: of utterances that each intent takes, as :class:`engines.bert.intent_kinds.IntentKinds` reads them; None
            where all take all.
        hints: phrases that recognition is to expect, in groups with ``phrases`` and ``boost``.
    """
    files = {"labels.json": _json(asdict(labels)).encode()}
    if slot_values:
        files["slot_values.json"] = _json(slot_values).encode()
    if priors is not None:
        priors.save(packed := io.BytesIO())
        files["tag_priors.npz"] = packed.getvalue()
    if kinds is not None:
        files[INTENT_KINDS] = _json(kinds).encode()
    if hints:
        files[HINTS_FILE] = _json(list(hints)).encode()
    # Which kind an utterance is of does not hang on the domain.
    files[UTTERANCE_KINDS] = SHIPPED_KINDS.read_bytes()
    parameters = {HINTS: json.dumps(list(hints))} if hints else {}
    _write(directory, NLU_MODELS, onnx, tokenizer, {"intent_slot_decode": files}, dated(card), parameters)


def write_qa(
    directory: Path, *, onnx: Path, tokenizer: Path, calibration: Calibration, card: Mapping[str, object]
) -> None:
    """Makes ``directory`` an engine directory for answers; what else lies in it stays.

    Args:
        directory: need not exist.
        onnx: a network with the inputs ``input_ids``, ``attention_mask`` and ``token_type_ids`` ``[rows, tokens]``
            int64, and the outputs ``start_logits`` and ``end_logits`` ``[rows, tokens]`` float32.
        tokenizer: a ``tokenizer.json`` of the Hugging Face tokenizers library; settings beside it come along.
        calibration: of this network.
        card: what the network is; today's date is put before it, unless it has one.
    """
    files = {"qa_decode": {"calibration.json": _json(asdict(calibration)).encode()}}
    _write(directory, QA_MODELS, onnx, tokenizer, files, dated(card))


def write_punctuation(
    directory: Path, *, onnx: Path, tokenizer: Path, spellings: Mapping[str, str], card: Mapping[str, object]
) -> None:
    """Makes ``directory`` an engine directory for punctuation; what else lies in it stays.

    Args:
        directory: need not exist.
        onnx: a network with the inputs ``input_ids`` and ``attention_mask`` ``[rows, tokens]`` int64, and the outputs
            ``mark_logits`` ``[rows, tokens, 4]`` and ``case_logits`` ``[rows, tokens, 3]`` float32.
        tokenizer: a ``tokenizer.json`` of the Hugging Face tokenizers library.
        spellings: words with capitals inside, by their lower case.
        card: what the network is; today's date is put before it, unless it has one.
    """
    files = {"punctuation": {"spellings.json": _json(spellings).encode()}}
    _write(directory, PUNCTUATION_MODELS, onnx, tokenizer, files, dated(card))


def write_asr(
    directory: Path,
    files: Path,
    recognizer: Mapping[str, object],
    card: Mapping[str, object],
    settings: Mapping[str, str],
) -> None:
    """Makes ``directory`` an engine directory for recognition; what else lies in it stays.

    Args:
        directory: need not exist.
        files: a folder with the files of the recognizer.
        recognizer: its kind, and what that kind wants to know (:mod:`engines.asr.recognizers`).
        card: what the network is; today's date is put before it, unless it has one.
        settings: values of the shipped ``config.pbtxt`` that are others here, by the name of a parameter or field.
    """
    with whole_directory(directory / "triton") as target:
        model = target / "asr"
        shutil.copytree(MODEL_REPOSITORY / "asr", model, ignore=shutil.ignore_patterns(FOLDER, "__pycache__"))
        text = (model / "config.pbtxt").read_text(encoding="utf-8")
        for name, value in settings.items():
            text, count = re.subn(_SETTING.format(re.escape(name)), rf"\g<1>{value}", text)
            if count != 1:
                raise EngineError(f"{MODEL_REPOSITORY / 'asr'} has no {name!r} to be set: use the checkout as it is")
        (model / "config.pbtxt").write_text(text, encoding="utf-8")
        shutil.copytree(files, model / VERSION, dirs_exist_ok=True)
        (model / VERSION / CARD).write_text(_json(recognizer), encoding="utf-8")
        (model / VERSION / "card.json").write_text(_json(dated(card)), encoding="utf-8")
    write_whole(directory / "card.json", _json(dated(card)))


def check_target(directory: Path, *, replace: bool = False) -> None:
    """Makes sure, before long work begins, that an engine can be written.

    Args:
        directory: is to be an engine directory.
        replace: whether it may be one already.

    Raises:
        EngineError: ``directory`` is a file or holds an engine, or the models that engines are made after are missing.
    """
    if not MODEL_REPOSITORY.is_dir():
        raise EngineError(f"there is no {MODEL_REPOSITORY}, after which engines are made: run this in the checkout")
    if directory.exists() and not directory.is_dir():
        raise EngineError(f"{directory} is a file: choose a folder with --out")
    if (directory / "triton").exists() and not replace:
        raise EngineError(
            f"{directory} already holds an engine: choose another --out; --base {directory} lets training go on from it"
        )


def served_models(directory: Path) -> list[Path]:
    """Lists the Triton models of an engine directory.

    Raises:
        EngineError: it is none.
    """
    models = sorted(path.parent for path in directory.glob("triton/*/config.pbtxt"))
    if not models:
        raise EngineError(f"{directory} is no engine directory: it needs triton/ with models, as training writes it")
    return models


def _write(
    directory: Path,
    names: Sequence[str],
    onnx: Path,
    tokenizer: Path,
    files: Mapping[str, Mapping[str, bytes]],
    card: Mapping[str, object],
    parameters: Mapping[str, str] | None = None,
) -> None:
    tokenize, bert = (names[0], names[0]) if len(names) == 1 else names[1:3]
    with whole_directory(directory / "triton") as target:
        for name in names:
            shutil.copytree(MODEL_REPOSITORY / name, target / name, ignore=shutil.ignore_patterns(*_OF_ONE_NETWORK))
        with (target / names[0] / "config.pbtxt").open("a", encoding="utf-8") as config:
            for key, value in (parameters or {}).items():
                # A string of JSON is one of Triton's text format too.
                config.write(f'\nparameters {{ key: "{key}", value: {{ string_value: {json.dumps(value)} }} }}\n')
        shutil.copy(tokenizer, target / tokenize / VERSION / "tokenizer.json")
        if (settings := tokenizer.with_name(SETTINGS)).exists():
            shutil.copy(settings, target / tokenize / VERSION / SETTINGS)
        shutil.copy(onnx, target / bert / VERSION / onnx.name)
        (target / bert / VERSION / "card.json").write_text(_json(card), encoding="utf-8")
        for name, own in files.items():
            for file, content in own.items():
                (target / name / VERSION / file).write_bytes(content)
    write_whole(directory / "card.json", _json(card))


def _json(value: object) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False) + "\n"
