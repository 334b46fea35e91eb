"""What is done with the user's own data once a checkpoint is read: 8 bits, and a calibrated score of answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from engines.bert.session import BertSession
from engines.bert.tokenizing import DocumentTokenizer, UtteranceTokenizer
from modelkit.calibrate_qa import calibrate
from modelkit.compress import compress
from modelkit.nlu import read_utterances
from modelkit.sessions import row_of
from modelkit.squad import read_squad

if TYPE_CHECKING:
    from pathlib import Path

    import numpy as np
    import numpy.typing as npt

    from engines.bert.span_decoding import Calibration
    from engines.bert.tokenizing import TokenBatch

_SAMPLES = 400
_SEED = 7


@dataclass(frozen=True, slots=True)
class Refinement:
    """The user's wishes.

    Attributes:
        int8: texts to measure the ranges of 8 bits on, labelled utterances or a SQuAD file; None stays with float32.
        calibrate: a SQuAD file to fit the score and threshold of answers on; None keeps those of the checkpoint.
    """

    int8: Path | None = None
    calibrate: Path | None = None


def in_8_bits(task: Literal["qa", "nlu"], network: Path, target: Path, tokenizer: Path, samples: Path) -> Path:
    """Quantizes a network to ``target``, which is returned.

    Raises:
        DataError: the samples cannot be read.
    """
    if task == "qa":
        documents = DocumentTokenizer(tokenizer)
        batches = [documents.encode(question.text, question.context) for question in read_squad(samples)[:_SAMPLES]]
    else:
        utterances = UtteranceTokenizer(tokenizer)
        batches = [utterances.encode([utterance.text]) for utterance in read_utterances(samples)[:_SAMPLES]]
    inputs = BertSession(network).inputs
    compress(network, target, [row_of(batch, row, inputs) for batch in batches for row in range(len(batch))])
    return target


def calibrated(network: Path, tokenizer: Path, questions: Path) -> tuple[Calibration, dict[str, object]]:
    """Fits score and threshold on questions that the network was not trained on.

    Returns:
        The calibration, and for the card on what it was fitted with the scores there.

    Raises:
        DataError: the questions cannot be read, there are too few, or none has an answer.
    """
    asked = read_squad(questions)
    fitted, report = calibrate(BertSession(network), DocumentTokenizer(tokenizer), asked, _SEED, str(questions))
    return fitted, {"fitted_on": questions.name, "scores": report}


def feed(session: BertSession, batch: TokenBatch) -> dict[str, npt.NDArray[np.int64]]:
    """Takes from a batch what a network reads."""
    return {name: getattr(batch, name) for name in session.inputs}
