"""Makes an engine directory of a trained question answering network: compressed, calibrated, with its card."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from engines.bert.session import BertSession
from engines.bert.tokenizing import DocumentTokenizer
from engines.build.quantize import UNSCALED
from modelkit.calibrate_qa import calibrate
from modelkit.compress import compress
from modelkit.export import QA_INPUTS, QA_OUTPUTS, export
from modelkit.sessions import row_of
from modelkit.token_pruning import PrunedSpanNetwork
from modelkit.triton_models import write_qa

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from modelkit.squad import Question
    from modelkit.training.saved import SavedSpans

SAMPLES = 400
"""Questions on whose windows the ranges of the activations are measured."""


def finish(
    saved: SavedSpans,
    directory: Path,
    *,
    training: Sequence[Question],
    validation: Sequence[Question],
    card: Mapping[str, object],
    seed: int,
) -> dict[str, object]:
    """Writes the engine directory.

    Args:
        saved: the trained network.
        directory: is written.
        training: the first of these compress it.
        validation: questions on texts that it has not seen, which calibrate it.
        card: what the network was made of; the scores are added.
        seed: of the wrong paragraphs that it is calibrated with.

    Returns:
        The scores.
    """
    tokenizer = DocumentTokenizer(saved.tokenizer)
    with TemporaryDirectory() as folder:
        plain, small = Path(folder, "model.onnx"), Path(folder, "model.int8.onnx")
        export(saved.network, plain, QA_INPUTS, QA_OUTPUTS)
        encoded = [tokenizer.encode(question.text, question.context) for question in training[:SAMPLES]]
        inputs = BertSession(plain).inputs  # A network that knows no token types has lost their input.
        samples = [row_of(batch, row, inputs) for batch in encoded for row in range(len(batch))]
        compress(plain, small, samples, UNSCALED if isinstance(saved.network, PrunedSpanNetwork) else None)
        calibration, report = calibrate(BertSession(small), tokenizer, validation, seed)
        scores: dict[str, object] = {"validation": report}
        write_qa(
            directory,
            onnx=small,
            tokenizer=saved.tokenizer,
            calibration=calibration,
            card={**card, "scores": scores},
        )
    return scores
