"""Training rows of the question answering engine: windows of documents with the tokens of the answer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from engines.bert.tokenizing import NO_OFFSET
from modelkit.squad import Question
from modelkit.training.padding import pad

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

    import numpy.typing as npt

    from engines.bert.tokenizing import DocumentTokenizer

_KEPT_WITHOUT_ANSWER = 1 / 3


@dataclass(frozen=True, slots=True)
class Window:
    """Token ids, and the token span to find; ``(0, 0)`` means that the answer is not here."""

    input_ids: npt.NDArray[np.int64]
    token_type_ids: npt.NDArray[np.int64]
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Batch:
    """Padded windows, int64: ids, mask and types ``[rows, tokens]``, start and end ``[rows]``."""

    ids: torch.Tensor
    mask: torch.Tensor
    types: torch.Tensor
    start: torch.Tensor
    end: torch.Tensor


def make_windows(
    questions: Sequence[Question], tokenizer: DocumentTokenizer, wrong_paragraph: float, rng: random.Random
) -> list[Window]:
    """Cuts questions into windows, and puts a share of them to a paragraph of another question.

    Of the windows that do not hold the answer of their question one in three is kept, lest ``[CLS]`` win always.

    Args:
        questions: with their paragraphs.
        tokenizer: cuts them.
        wrong_paragraph: the share.
        rng: source of chance.
    """
    windows: list[Window] = []
    for question in questions:
        windows += [w for w in label(question, tokenizer) if w.end > 0 or rng.random() < _KEPT_WITHOUT_ANSWER]
        if rng.random() < wrong_paragraph:
            other = rng.choice(questions)
            if other.context != question.context:
                wrong = Question(question.id, question.text, other.context, ())
                windows.append(rng.choice(label(wrong, tokenizer)))
    return windows


def label(question: Question, tokenizer: DocumentTokenizer) -> list[Window]:
    """Cuts one question into windows.

    Of several answers the agreed one is to be found: annotators differ in how much of a sentence they take, and of a
    network that learns from any of them spans are longer than most would give.
    """
    batch = tokenizer.encode(question.text, question.context)
    answer = _covered(batch.offsets, agreed) if (agreed := question.agreed) else None
    windows = []
    for row in range(len(batch)):
        length = int(batch.attention_mask[row].sum())
        start, end = _token_span(batch.offsets[row], answer) if answer else (0, 0)
        windows.append(Window(batch.input_ids[row, :length], batch.token_type_ids[row, :length], start, end))
    return windows


def make_batches(windows: Sequence[Window], tokens: int, rng: random.Random) -> list[Batch]:
    """Groups windows of like length into batches of about ``tokens`` tokens, in random order."""
    ordered = sorted(windows, key=lambda w: (len(w.input_ids) // 8, rng.random()))
    groups: list[list[Window]] = []
    for window in ordered:
        if not groups or len(groups[-1]) * len(window.input_ids) >= tokens:
            groups.append([])
        groups[-1].append(window)
    rng.shuffle(groups)
    return [_collate(group) for group in groups]


def _covered(offsets: npt.NDArray[np.int64], answer: tuple[int, str]) -> tuple[int, int] | None:
    """Shrinks an answer to the characters that tokens stand for.

    At its edges may be others, which the tokenizer drops: spaces, combining marks, format characters.

    Args:
        offsets: of all windows, ``[windows, tokens, 2]``; one alone may lack a part of the answer.
        answer: where it begins, and its text.

    Returns:
        Its first character, and the one after its last; None where no token stands for any of it.
    """
    first_char, last_char = answer[0], answer[0] + len(answer[1])
    tokens = offsets[(offsets[..., 1] > first_char) & (offsets[..., 0] < last_char) & (offsets[..., 0] != NO_OFFSET)]
    if not len(tokens):
        return None
    return max(first_char, int(tokens[:, 0].min())), min(last_char, int(tokens[:, 1].max()))


def _token_span(offsets: npt.NDArray[np.int64], answer: tuple[int, int]) -> tuple[int, int]:
    """Finds the first and last token of an answer; ``(0, 0)`` where the window does not hold all of it."""
    first_char, last_char = answer
    inside = offsets[:, 0] != NO_OFFSET
    tokens = np.flatnonzero(inside & (offsets[:, 1] > first_char) & (offsets[:, 0] < last_char))
    whole = tokens.size and offsets[tokens[0], 0] <= first_char and offsets[tokens[-1], 1] >= last_char
    return (int(tokens[0]), int(tokens[-1])) if whole else (0, 0)


def _collate(group: Sequence[Window]) -> Batch:
    ids = [window.input_ids for window in group]
    types = [window.token_type_ids for window in group]
    start, end = (torch.tensor(places) for places in zip(*((w.start, w.end) for w in group), strict=True))
    return Batch(pad(ids), pad([np.ones_like(row) for row in ids]), pad(types), start, end)
