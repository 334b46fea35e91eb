"""Reads question answering data in the JSON format of SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016, 2018)."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from modelkit.errors import DataError
from modelkit.text_files import read_text

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
        article: title of the article that the paragraph belongs to; "" where the data names none.
    """

    id: str
    text: str
    context: str
    answers: tuple[tuple[int, str], ...]
    article: str = ""


def read_squad(path: Path) -> list[Question]:
    """Reads every question of a SQuAD file.

    Raises:
        DataError: the file cannot be read, is no SQuAD JSON, holds no question, or an answer does not stand at its
            offset.
    """
    text = read_text(path)
    try:
        questions = list(_questions(json.loads(text)["data"], path, text))
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        reason = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else repr(error)
        raise DataError(f"{path} is no SQuAD file ({reason}): it needs data/paragraphs/qas as in SQuAD 1.1") from error
    if not questions:
        raise DataError(f"{path} holds no question: give a SQuAD file with questions")
    return questions


def _questions(articles: list[dict[str, object]], path: Path, text: str) -> Iterator[Question]:
    for article in articles:
        title = str(article.get("title", ""))
        for paragraph in cast("list[dict[str, object]]", article["paragraphs"]):
            context = paragraph["context"]
            if not isinstance(context, str):
                raise TypeError("a context must be a text")
            for entry in cast("list[dict[str, object]]", paragraph["qas"]):
                answers = tuple(_answer(answer) for answer in cast("list[object]", entry["answers"]))
                for start, answer in answers:
                    if not answer or start < 0 or context[start : start + len(answer)] != answer:
                        raise DataError(
                            f"{path}, {_line(text, str(entry['id']))}question {entry['id']}: "
                            f"no {answer!r} at offset {start} of its paragraph"
                        )
                yield Question(str(entry["id"]), str(entry["question"]).strip(), context, answers, title)


def _answer(answer: object) -> tuple[int, str]:
    if not isinstance(answer, dict) or type(answer["answer_start"]) is not int or not isinstance(answer["text"], str):
        raise TypeError("an answer needs answer_start, a whole number, and a text")
    return answer["answer_start"], answer["text"]


def _line(text: str, identifier: str) -> str:
    """Says in which line of the file an entry stands, where its identifier can be found."""
    position = text.find(json.dumps(identifier))
    return f"line {text.count(chr(10), 0, position) + 1}, " if position >= 0 else ""
