"""What a reader makes of a checkpoint, and the engine directory that becomes of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Literal

import numpy as np

from engines.bert.session import BertSession
from engines.bert.span_decoding import Calibration
from engines.bert.tokenizing import SETTINGS, DocumentTokenizer, TokenBatch, TokenizerSettings, UtteranceTokenizer
from modelkit.errors import CheckpointError
from modelkit.importing.refinement import Refinement, calibrated, feed, in_8_bits
from modelkit.triton_models import check_target, write_nlu, write_qa

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tokenizers import Tokenizer

    from engines.bert.intent_decoding import IntentLabels

Task = Literal["qa", "nlu"]

_TOKENIZER = "tokenizer.json"
_SHORTEST = 32
_TEXTS = ("turn on the lights", "Who was the tower, which is 330 metres tall, named after?")

FORCED = Calibration(bias=0.0, margin=1.0, rivals=0.0, threshold=0.0)
"""Never abstains: of a network about whose margins nothing is known, the best span is the answer."""
UNCALIBRATED_ANSWERS = "none: the best span is always the answer; import with --calibrate to abstain"
UNCALIBRATED_INTENTS = "none: the best intent is always given, never the intent none"


@dataclass(frozen=True, slots=True)
class Imported:
    """A checkpoint in the form that the engines read, on its way into an engine directory.

    Attributes:
        task: ``qa`` or ``nlu``.
        onnx: the network, called ``model.onnx``, with the inputs and outputs of
            :func:`modelkit.triton_models.write_qa` or :func:`modelkit.triton_models.write_nlu`.
        tokenizer: ready for the engines: see :func:`modelkit.importing.vocabulary.prepare`.
        settings: what the network wants of the tokenizer besides.
        card: where it comes from and what was found out about it.
        labels: of ``nlu``.
        calibration: of ``qa``.
        precision: of the network's weights.
    """

    task: Task
    onnx: Path
    tokenizer: Tokenizer
    settings: TokenizerSettings
    card: Mapping[str, object]
    labels: IntentLabels | None = None
    calibration: Calibration = FORCED
    precision: str = "float32"


def write_engine(imported: Imported, directory: Path, refinement: Refinement | None = None) -> dict[str, object]:
    """Checks a checkpoint in the session that will serve it, and makes ``directory`` an engine directory of it.

    Returns:
        The card, as it was written.

    Raises:
        CheckpointError: the network cannot be served.
        DataError: a file of ``refinement`` cannot be used.
        EngineError: ``directory`` holds an engine, or none can be written there.
    """
    check_target(directory)
    wanted = refinement or Refinement()
    if wanted.calibrate and imported.task != "qa":
        raise CheckpointError("only answers can be calibrated: leave out --calibrate")
    if wanted.int8 and "int" in imported.precision:
        raise CheckpointError(f"the network's weights are {imported.precision} already: leave out --int8")
    with TemporaryDirectory() as scratch:
        tokenizer = Path(scratch, _TOKENIZER)
        imported.tokenizer.save(str(tokenizer))
        tokenizer.with_name(SETTINGS).write_text(json.dumps(asdict(imported.settings)), encoding="utf-8")
        check_served(imported, tokenizer)
        network, card = imported.onnx, {**imported.card, "precision": imported.precision}
        if wanted.int8:
            network = in_8_bits(imported.task, network, Path(scratch, "model.int8.onnx"), tokenizer, wanted.int8)
            card["precision"] = "INT8, static ranges"
        calibration = imported.calibration
        if wanted.calibrate:
            calibration, card["calibration"] = calibrated(network, tokenizer, wanted.calibrate)
        if imported.labels is not None:
            write_nlu(directory, onnx=network, tokenizer=tokenizer, labels=imported.labels, card=card)
        else:
            write_qa(directory, onnx=network, tokenizer=tokenizer, calibration=calibration, card=card)
    return card


def readable(longest: int, name: str, *, split_at_spaces: bool = False) -> TokenizerSettings:
    """Makes the settings of a network that reads ``longest`` tokens.

    Raises:
        CheckpointError: it reads too few for a question and a piece of a document.
    """
    if longest < _SHORTEST:
        raise CheckpointError(f"{name} reads {longest} tokens at most: take a network that reads {_SHORTEST} or more")
    return TokenizerSettings(max_tokens=longest, split_at_spaces=split_at_spaces)


def digests(paths: Iterable[Path]) -> dict[str, str]:
    """Names files with their SHA-256, for the card."""
    return {path.name: _digest(path) for path in sorted(paths)}


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def check_served(imported: Imported, tokenizer: Path) -> None:
    """Runs two texts of unlike length as the engine will.

    Raises:
        CheckpointError: onnxruntime cannot run the network, or it gives no numbers.
    """
    try:
        session = BertSession(imported.onnx)
        outputs = session.run([feed(session, _encode(imported.task, tokenizer, text)) for text in _TEXTS])
    except Exception as error:
        raise CheckpointError(f"onnxruntime cannot run the imported network ({error}): see its export") from error
    values = [value for output in outputs for value in output.values()]
    if not all(np.isfinite(value).all() for value in values):
        raise CheckpointError("the network gives logits that are no numbers: its weights are damaged")


def _encode(task: Task, tokenizer: Path, text: str, document: str = " ".join(_TEXTS)) -> TokenBatch:
    if task == "qa":
        return DocumentTokenizer(tokenizer).encode(text, document)
    return UtteranceTokenizer(tokenizer).encode([text])
