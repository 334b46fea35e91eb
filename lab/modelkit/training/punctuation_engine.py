"""Makes an engine directory of a trained punctuation network: compressed, scored, with its card."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np

from engines.bert.punctuator import WordTokenizer
from engines.bert.session import BertSession
from modelkit.compress import compress
from modelkit.export import PUNCTUATION_INPUTS, PUNCTUATION_OUTPUTS, export
from modelkit.punctuation import collect_spellings
from modelkit.training.punctuation_data import running_texts
from modelkit.training.punctuation_task import score
from modelkit.triton_models import write_punctuation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from modelkit.training.punctuation_data import Passage, PunctuationData
    from modelkit.training.saved import SavedPunctuation

SAMPLES = 400
"""Inputs on which the ranges of the activations are measured."""
_SAMPLE_WORDS = 60


def finish(
    saved: SavedPunctuation, directory: Path, data: PunctuationData, card: Mapping[str, object]
) -> dict[str, object]:
    """Writes the engine directory.

    Args:
        saved: the trained network.
        directory: is written.
        data: the first of its training passages compress the network; the others score it, as it is served.
        card: what the network was made of; the scores are added.

    Returns:
        The scores.
    """
    tokenizer = WordTokenizer(saved.tokenizer)
    with TemporaryDirectory() as folder:
        plain, small = Path(folder, "model.onnx"), Path(folder, "model.int8.onnx")
        export(saved.network, plain, PUNCTUATION_INPUTS, PUNCTUATION_OUTPUTS)
        compress(plain, small, _samples(tokenizer, data.training[:SAMPLES]))
        session = BertSession(small)
        scores: dict[str, object] = {"validation": _scores(session, tokenizer, data.validation)}
        if data.test:
            scores["test"] = _scores(session, tokenizer, data.test)
        write_punctuation(
            directory,
            onnx=small,
            tokenizer=saved.tokenizer,
            spellings=collect_spellings(word for passage in data.training for word in passage.words),
            card={**card, "scores": scores},
        )
    return scores


def _samples(tokenizer: WordTokenizer, passages: Sequence[Passage]) -> list[dict[str, npt.NDArray[np.int64]]]:
    encoded = tokenizer.encode([[word.text for word in passage.words[:_SAMPLE_WORDS]] for passage in passages])
    rows = [tokenizer.frame(words)[0][np.newaxis] for words in encoded]
    return [{"input_ids": row, "attention_mask": np.ones_like(row)} for row in rows]


def _scores(session: BertSession, tokenizer: WordTokenizer, passages: Sequence[Passage]) -> dict[str, float]:
    scores = score(session, tokenizer, running_texts(passages))
    return {name: round(value, 4) for name, value in scores.items()}
