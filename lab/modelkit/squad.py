"""Reads question answering data in the JSON format of SQuAD 1.1 and 2.0 (Rajpurkar et al., 2016, 2018)."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

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

    @property
    def references(self) -> list[str]:
        """The texts of the answers."""
        return [text for _, text in self.answers]

    @property
    def agreed(self) -> tuple[int, str] | None:
        """The answer that most annotators gave, of equals the shortest; None where the paragraph does not hold one."""
        times = Counter(self.references)
        return max(self.answers, key=lambda answer: (times[answer[1]], -len(answer[1])), default=None)


def read_squad(path: Path) -> list[Question]:
    """Reads every question of a SQuAD file.

    Raises:
        DataError: the file cannot be read, is no SQuAD JSON, holds no question, a question or a paragraph is empty, or
            an answer does not stand at its offset; the message names the question or the paragraph.
    """
    text = read_text(path)
    try:
        questions = list(_questions(json.loads(text), path, text))
    except (json.JSONDecodeError, TypeError) as error:
        reason = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else str(error)
        raise DataError(f"{path} is no SQuAD file ({reason}): it needs data/paragraphs/qas as in SQuAD 1.1") from error
    if not questions:
        raise DataError(f"{path} holds no question: give a SQuAD file with questions")
    return questions


def _questions(root: object, path: Path, text: str) -> Iterator[Question]:
    for number, article in enumerate(_objects(root, "data"), 1):
        title = str(article.get("title", ""))
        for count, paragraph in enumerate(_objects(article, "paragraphs", f"article {number}: "), 1):
            place = f"article {number}, paragraph {count}: "
            context = _text(paragraph, "context", place)
            for entry in _objects(paragraph, "qas", place):
                if "id" not in entry:
                    raise TypeError(f"{place}a question has no id")
                name = str(entry["id"])
                try:
                    asked = _text(entry, "question").strip()
                    answers = tuple(_answer(answer, context) for answer in _objects(entry, "answers"))
                except (TypeError, ValueError) as error:
                    raise DataError(f"{path}, {_line(text, name)}question {name}: {error}") from error
                yield Question(name, asked, context, answers, title)


def _objects(fields: object, name: str, place: str = "") -> list[dict[str, object]]:
    listed = fields.get(name) if isinstance(fields, dict) else None
    if not isinstance(listed, list) or not all(isinstance(entry, dict) for entry in listed):
        raise TypeError(f"{place}{name} must be a list of objects")
    return listed


def _text(fields: dict[str, object], name: str, place: str = "") -> str:
    value = fields.get(name)
    if not isinstance(value, str) or not value.strip():
        raise TypeError(f"{place}{name} must be a text that is not empty")
    return value


def _answer(answer: dict[str, object], context: str) -> tuple[int, str]:
    start, text = answer.get("answer_start"), answer.get("text")
    if not isinstance(start, int) or isinstance(start, bool) or not isinstance(text, str):
        raise TypeError("an answer needs answer_start, a whole number, and a text")
    if not text or start < 0 or context[start : start + len(text)] != text:
        raise ValueError(f"no {text!r} at offset {start} of its paragraph")
    return start, text


def _line(text: str, identifier: str) -> str:
    """Says in which line of the file an entry stands, where its identifier can be found."""
    position = text.find(json.dumps(identifier))
    return f"line {text.count(chr(10), 0, position) + 1}, " if position >= 0 else ""
