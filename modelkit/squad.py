"""Reads question answering data in the JSON format of SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016, 2018)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modelkit.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass(frozen=True, slots=True)
class Question:
    """A question, the paragraph that it is put to, and what annotators answered.

    Attributes:
        id: the data set's own identifier.
        text: the question.
        context: the paragraph.
        answers: ``(character offset, text)`` of every annotator's answer; empty where the paragraph
            does not hold one.
    """

    id: str
    text: str
    context: str
    answers: tuple[tuple[int, str], ...]


def read_squad(path: Path) -> list[Question]:
    """Reads every question of a SQuAD file.

    Raises:
        DataError: the file is no SQuAD JSON, or an answer does not stand at its offset.
    """
    try:
        articles = json.loads(path.read_text(encoding="utf-8"))["data"]
        return list(_questions(articles, path))
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DataError(f"{path} is no SQuAD file ({error!r}): it needs data/paragraphs/qas as in SQuAD 1.1") from error


def _questions(articles: list[dict[str, list[dict[str, object]]]], path: Path) -> Iterator[Question]:
    for article in articles:
        for paragraph in article["paragraphs"]:
            context = str(paragraph["context"])
            for entry in paragraph["qas"]:  # type: ignore[attr-defined]
                answers = tuple((int(a["answer_start"]), str(a["text"])) for a in entry["answers"])
                for start, text in answers:
                    if context[start : start + len(text)] != text:
                        raise DataError(
                            f"{path}: question {entry['id']}: no {text!r} at offset {start} of its paragraph"
                        )
                yield Question(str(entry["id"]), str(entry["question"]).strip(), context, answers)
