"""Reads ONNX files of other exporters, with the tokenizer and labels that lie beside them."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime as ort
from google.protobuf.message import DecodeError
from onnx import TensorProto
from onnx.external_data_helper import load_external_data_for_model, uses_external_data

from engines.bert.intent_decoding import IntentLabels
from modelkit.errors import CheckpointError
from modelkit.importing.engine import FORCED, UNCALIBRATED_ANSWERS, UNCALIBRATED_INTENTS, Imported, digests, readable
from modelkit.importing.labels import check_count, read_labels
from modelkit.importing.onnx_graph import adapt, recognize_inputs, recognize_outputs
from modelkit.importing.tag_graph import arrange_tags
from modelkit.importing.tags import plan_tags
from modelkit.importing.vocabulary import load_tokenizer, prepare, read_tokenizer, tokenizer_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    from tokenizers import Tokenizer

    from modelkit.importing.engine import Task
    from modelkit.importing.tags import Scheme

_INTENT_FILES = ("intent_labels.csv", "intent_labels.txt", "intent_label.txt", "dict.intents.csv")
_SLOT_FILES = ("slot_labels.csv", "slot_labels.txt", "slot_label.txt", "dict.slots.csv")
_ROW_LENGTHS = (512, 256, 128, 64, 32)
_PRECISIONS: dict[int, str] = {
    TensorProto.FLOAT: "float32",
    TensorProto.DOUBLE: "float64",
    TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16",
    TensorProto.INT8: "int8",
    TensorProto.UINT8: "uint8",
    TensorProto.INT4: "int4",
    TensorProto.UINT4: "uint4",
}
"""Types that weights are kept in; those of ids and shapes are none of them."""
_SMALL_SHARE = 0.01


@dataclass(frozen=True, slots=True)
class OnnxOptions:
    """What the user says of an ONNX file, which says little of itself.

    Attributes:
        task: ``qa`` or ``nlu``; None is told by the outputs.
        tokenizer: file or folder of the tokenizer; None looks beside the network.
        inputs: the graph's name of each of our inputs that is not recognized.
        outputs: likewise of each of our outputs.
        intent_labels: file of labels, one a line; None looks beside the network.
        slot_labels: likewise.
        scheme: of the slot labels.
    """

    task: Task | None = None
    tokenizer: Path | None = None
    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    intent_labels: Path | None = None
    slot_labels: Path | None = None
    scheme: Scheme | None = None


def read_onnx(path: Path, scratch: Path, options: OnnxOptions | None = None) -> Imported:
    """Reads an ONNX file.

    Args:
        path: of the file.
        scratch: a folder for the network.
        options: what is not to be guessed.

    Raises:
        CheckpointError: the file is damaged or incomplete, its inputs or outputs are unknown, or labels or tokenizer do
            not fit.
        DataError: a file beside it is no text.
    """
    given = options or OnnxOptions()
    model, data = _load(path)
    inputs = recognize_inputs(model, given.inputs, str(path))
    outputs = recognize_outputs(model, given.task, given.outputs, str(path))
    target = scratch / "model.onnx"
    onnx.save(adapt(model, inputs, outputs), target)
    session = _session(target, path)
    tokenizer, vocabulary = _tokenizer(given.tokenizer or path.parent)
    rows = _embeddings(model, inputs["input_ids"]) or _highest(tokenizer) + 1
    prepare(tokenizer, rows, str(path))
    settings = readable(_longest(session, _highest(tokenizer)), str(path))
    label_files = _label_files(path, given) if "intent_logits" in outputs else ()
    labels = [read_labels(file) for file in label_files]
    read = digests({path, *data, *vocabulary, *label_files})
    origin = {"format": "ONNX", "inputs": inputs, "outputs": outputs, "files": read}
    precision = _precision(model)
    if not labels:
        card = {"task": "question answering", "imported": origin, "calibration": UNCALIBRATED_ANSWERS}
        return Imported("qa", target, tokenizer, settings, card, calibration=FORCED, precision=precision)
    intents, slots = labels
    results = _run(session, _highest(tokenizer), 8)
    check_count(intents, results["intent_logits"].shape[-1], f"{path}, intent labels")
    check_count(slots, results["tag_logits"].shape[-1], f"{path}, slot labels")
    plan = plan_tags(slots, given.scheme)
    arrange_tags(target, plan)
    origin["slot_scheme"] = plan.scheme
    card = {"task": "joint intent and slots", "imported": origin, "calibration": UNCALIBRATED_INTENTS}
    names = IntentLabels(tuple(intents), plan.tags)
    return Imported("nlu", target, tokenizer, settings, card, labels=names, precision=precision)


def _load(path: Path) -> tuple[onnx.ModelProto, set[Path]]:
    """Loads a model with the data that it keeps in other files, which must lie beside it; returns those, too."""
    try:
        model = onnx.load(path, load_external_data=False)
    except (DecodeError, OSError) as error:
        raise CheckpointError(f"{path} is truncated or no ONNX file: get it again") from error
    if not model.graph.node:
        raise CheckpointError(f"{path} is truncated or no ONNX file: get it again")
    kept_elsewhere = [each for each in model.graph.initializer if uses_external_data(each)]
    data = {_external_file(path, initializer) for initializer in kept_elsewhere}
    try:
        load_external_data_for_model(model, str(path.parent))
    except (ValueError, OSError, onnx.checker.ValidationError) as error:
        raise CheckpointError(f"{path}: its weights in other files are truncated ({error}): get them again") from error
    return model, data


def _external_file(path: Path, initializer: TensorProto) -> Path:
    name = next((entry.value for entry in initializer.external_data if entry.key == "location"), "")
    location = PurePath(name)
    if not name or location.is_absolute() or ".." in location.parts or (path.parent / location).is_symlink():
        raise CheckpointError(f"{path} keeps weights in {name!r}, which does not lie beside it: do not trust it")
    if not (path.parent / location).is_file():
        raise CheckpointError(f"{path} keeps weights in {name}, which is missing: put that file beside it")
    return path.parent / location


def _session(network: Path, path: Path) -> ort.InferenceSession:
    try:
        return ort.InferenceSession(str(network), providers=["CPUExecutionProvider"])
    except Exception as error:
        raise CheckpointError(f"{path} cannot be loaded by onnxruntime ({error}): export it again") from error


def _tokenizer(place: Path) -> tuple[Tokenizer, list[Path]]:
    """Reads a tokenizer; returns its files, too."""
    if place.is_dir():
        return read_tokenizer(place), tokenizer_files(place)
    return load_tokenizer(place), [place]


def _label_files(path: Path, given: OnnxOptions) -> tuple[Path, Path]:
    return (
        given.intent_labels or _beside(path, _INTENT_FILES, "--intent-labels"),
        given.slot_labels or _beside(path, _SLOT_FILES, "--slot-labels"),
    )


def _beside(path: Path, names: Sequence[str], option: str) -> Path:
    found = next((path.with_name(name) for name in names if path.with_name(name).is_file()), None)
    if found is None:
        raise CheckpointError(f"{path} has no labels: put {names[0]}, one label a line, beside it, or give {option}")
    return found


def _embeddings(model: onnx.ModelProto, input_ids: str) -> int | None:
    """Finds how many words the network knows, by the table that their ids are looked up in."""
    sizes = {initializer.name: initializer.dims for initializer in model.graph.initializer}
    names = {input_ids}
    for node in model.graph.node:
        looked_up = node.input[1:2] if node.op_type == "Gather" else node.input[:1]
        table = {"Gather": 0, "EmbedLayerNormalization": 2}.get(node.op_type)
        if not names.intersection(looked_up):
            continue
        if table is not None and node.input[table] in sizes:
            return int(sizes[node.input[table]][0])
        if node.op_type in ("Cast", "Identity"):
            names.update(node.output)
    return None


def _precision(model: onnx.ModelProto) -> str:
    """Says what types most of the weights have, the commonest first."""
    sizes: Counter[str] = Counter()
    for weights in model.graph.initializer:
        if len(weights.dims) > 1 and weights.data_type in _PRECISIONS:
            sizes[_PRECISIONS[weights.data_type]] += math.prod(weights.dims)
    kept = [name for name, size in sizes.most_common() if size >= _SMALL_SHARE * sizes.total()]
    return " and ".join(kept) or "unknown"


def _highest(tokenizer: Tokenizer) -> int:
    return max(tokenizer.get_vocab(with_added_tokens=True).values(), default=0)


def _longest(session: ort.InferenceSession, token: int) -> int:
    """Finds how long a row the network reads, by trial."""
    problem: Exception | None = None
    for length in _ROW_LENGTHS:
        try:
            _run(session, token, length)
        except Exception as error:  # noqa: BLE001 - onnxruntime's errors have no class in common
            problem = error
        else:
            return length
    raise CheckpointError(f"the network cannot read the vocabulary's last token ({problem}): give its own tokenizer")


def _run(session: ort.InferenceSession, token: int, length: int) -> dict[str, npt.NDArray[np.float32]]:
    """Runs a row that holds one token ``length`` times."""
    row = np.full((1, length), token, np.int64)
    feeds = {node.name: row if node.name == "input_ids" else np.ones_like(row) for node in session.get_inputs()}
    names = [node.name for node in session.get_outputs()]
    return dict(zip(names, session.run(names, feeds), strict=True))
