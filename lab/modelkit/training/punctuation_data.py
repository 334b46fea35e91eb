"""Gathers and checks what a punctuation engine is trained on, before anything else is done."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from modelkit.errors import DataError
from modelkit.punctuation import LabelledWord, is_question, label
from modelkit.squad import read_squad
from modelkit.text_files import read_text
from modelkit.training.splits import split_articles

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Passage:
    """A labelled paragraph, or a question that was put to it.

    Attributes:
        words: of the passage, labelled.
        context: the paragraph.
        article: that it belongs to; "" where the data names none.
        is_question: whether it is a question.
    """

    words: tuple[LabelledWord, ...]
    context: str
    article: str
    is_question: bool


@dataclass(frozen=True, slots=True)
class PunctuationData:
    """Passages to train on, others to validate with, and those of ``--test``."""

    training: tuple[Passage, ...]
    validation: tuple[Passage, ...]
    test: tuple[Passage, ...]


def gather(data: Sequence[Path], *, test: Path | None, validation: float) -> PunctuationData:
    """Reads and checks all files and splits off the validation set.

    Args:
        data: SQuAD files, and text files with a paragraph a line.
        test: one whose paragraphs must not be among ``data``.
        validation: share of the passages; whole articles are held out.

    Raises:
        DataError: something is wrong with a file, or with all of them together.
    """
    passages = list(dict.fromkeys(passage for path in data for passage in read_passages(path)))
    tested = tuple(read_passages(test)) if test else ()
    common = {passage.context for passage in passages} & {passage.context for passage in tested}
    if common:
        raise DataError(
            f"{len(common)} paragraphs of {test} are among the training data too, as {min(common)[:60]!r}: "
            "take them out of one of the two"
        )
    training, validating = split_articles(passages, validation)
    if not training or not validating:
        raise DataError(
            f"{len(passages)} paragraphs and questions are too few to train and validate with: "
            "give more data, or another --validation"
        )
    return PunctuationData(tuple(training), tuple(validating), tested)


def running_texts(passages: Sequence[Passage]) -> list[list[LabelledWord]]:
    """Makes texts to score with: each paragraph, and one of its questions after it."""
    asked: dict[str, tuple[LabelledWord, ...]] = {}
    for passage in passages:
        if passage.is_question:
            asked.setdefault(passage.context, passage.words)
    return [[*p.words, *asked.get(p.context, ())] for p in passages if not p.is_question]


def read_passages(path: Path) -> Iterator[Passage]:
    """Reads the passages of a file; those that are carelessly written are left out.

    Raises:
        DataError: the file cannot be read, or nothing in it is punctuated.
    """
    paragraphs, questions = _texts(path)
    found = [Passage(tuple(words), text, article, False) for text, article in paragraphs if (words := label(text))]
    if not found:
        raise DataError(f"{path} holds no text with capitals and full stops: give text that is written with care")
    yield from found
    for text, context, article in questions:
        words = label(text)
        if words and is_question(words):
            yield Passage(tuple(words), context, article, True)


def _texts(path: Path) -> tuple[list[tuple[str, str]], list[tuple[str, str, str]]]:
    """Reads paragraphs with their articles, and questions with their paragraphs and articles."""
    if path.suffix != ".json":
        return [(line, "") for line in read_text(path).splitlines()], []
    asked = read_squad(path)
    paragraphs = dict.fromkeys((question.context, question.article) for question in asked)
    return list(paragraphs), [(question.text, question.context, question.article) for question in asked]
