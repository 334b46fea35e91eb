"""Wording: what is said aloud in reply to a turn.

Whatever decides what is said has the form of :class:`Wording`; a dialog may take the place of :func:`answer_in_words`.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pipelines.data.answers import Document
from pipelines.data.stages import NLU, QA
from pipelines.data.understanding import NO_INTENT, Understanding
from pipelines.speech.sentences import bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pipelines.data.answers import Answer, AnswerSearch
    from pipelines.stages.registry import StageRequest

NO_ANSWER = "I could not find that in the documents."

MAX_SENTENCE_CHARACTERS = 160
"""Of a document's sentence that is spoken as a whole: about ten seconds. Of a longer one only the answer is spoken."""

_PLAIN_CELLS = 2
"""Cells of a row that are told without the headings of their columns."""
_WINDOW_CHARACTERS = 400
"""On each side of an answer, in which its sentence is looked for."""
_MIN_WRAPPED_CHARACTERS = 60
"""Of a line that was wrapped: the sentence goes on in the next one."""
_WRAPPED = re.compile(rf"(?<=[^\n]{{{_MIN_WRAPPED_CHARACTERS}}})(?<![.!?:])\n(?=[^\W_])")


class Wording(Protocol):
    """Decides what is said."""

    def __call__(self, request: StageRequest) -> str:
        """Return what is spoken in reply to a turn; "" for nothing.

        Args:
            request: the turn, with the results of understanding and answering.
        """


def answer_in_words(request: StageRequest) -> str:
    """Return the answer in a sentence; nothing for commands and statements."""
    understanding: Understanding = request.inputs.get(NLU, Understanding())
    search: AnswerSearch | None = request.inputs.get(QA)
    if understanding.kind == "command" and understanding.intent != NO_INTENT:
        return ""
    if search is not None and search.answer is not None:
        return sentence_of(search.answer, read_documents(search.answer, request.config.documents))
    asks = understanding.kind == "question" or (not understanding.kind and request.text.rstrip().endswith("?"))
    return NO_ANSWER if asks else ""


def read_documents(answer: Answer, documents: Sequence[Document]) -> Sequence[Document]:
    """Return the documents of an answer: the caller's, or a base's passage."""
    return documents if answer.source is None else [Document(answer.document_id, answer.source.passage)]


def sentence_of(answer: Answer, documents: Sequence[Document]) -> str:
    """Return the sentence around an answer, or a long one's answer alone."""
    document = next((one for one in documents if one.id == answer.document_id), None)
    if document is not None:
        first = max(0, answer.start - _WINDOW_CHARACTERS)
        window = _WRAPPED.sub(" ", document.text[first : answer.end + _WINDOW_CHARACTERS])
        begin, end = bounds(window, answer.start - first, answer.end - first)
        sentence = " ".join(window[begin:end].split())
        is_whole = begin > 0 or first == 0
        if is_whole and _is_sentence(sentence) and len(sentence) <= MAX_SENTENCE_CHARACTERS:
            return sentence
    alone = " ".join(answer.text.split()).rstrip(",;:–—- ")  # noqa: RUF001
    return alone[:1].upper() + alone[1:] + ("" if alone.endswith((".", "!", "?")) else ".") if alone else ""


def paragraph_of(answer: Answer, documents: Sequence[Document]) -> str:
    """Return an answer's sentence, with the rest of a short paragraph."""
    sentence = sentence_of(answer, documents)
    document = next((one for one in documents if one.id == answer.document_id), None)
    if document is None:
        return sentence
    if not _is_sentence(sentence) or sentence.rstrip(".").lower() == " ".join(answer.text.split()).rstrip(".").lower():
        return _line_of(answer, document.text) or sentence
    # Bases have a paragraph a line.
    end = "\n" if answer.source is not None else "\n\n"
    first = document.text.rfind(end, 0, answer.start) + 1
    last = document.text.find(end, answer.end)
    paragraph = " ".join(document.text[first : last if last >= 0 else None].split())
    if len(paragraph) <= MAX_SENTENCE_CHARACTERS and sentence in paragraph:
        return paragraph
    at = paragraph.find(sentence)
    return paragraph[at:] if at >= 0 and len(paragraph[at:]) <= MAX_SENTENCE_CHARACTERS else sentence


def _line_of(answer: Answer, text: str) -> str:
    """Return an answer's line of a list or table, as it is spoken, or ""."""
    start = text.rfind("\n", 0, answer.start + 1) + 1
    line = text[start:].partition("\n")[0]
    if start + len(line) < answer.end - 1 and "|" in line:
        # Several rows are one answer.
        lines = [replace(answer, start=at) for at in _starts(text, start, answer.end)]
        told = " ".join(_line_of(replace(one, end=one.start + 1), text) for one in lines)
        return told if len(told) <= MAX_SENTENCE_CHARACTERS else ""
    cells = _cells(line)
    if not all(cells) or len(line) > MAX_SENTENCE_CHARACTERS:
        return ""
    headings = [
        _cells(above) for above in text[: max(0, start - 1)].rpartition("\n\n")[2].split("\n")[:1] if "|" in above
    ]
    if len(cells) > _PLAIN_CELLS and headings and len(headings[0]) == len(cells):
        cells = [cells[0], *(f"{name} {cell}" for name, cell in zip(headings[0][1:], cells[1:], strict=True))]
    told = f"{cells[0]}: {', '.join(cells[1:])}" if len(cells) > 1 else cells[0]
    return told if told.endswith((".", "!", "?")) else f"{told}."


def _starts(text: str, start: int, end: int) -> list[int]:
    """Return where the lines of a piece begin."""
    starts = (start, *(start + found.end() for found in re.finditer(r"\n", text[start:end])))
    return [at for at in starts if text[at:end].strip()]


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip(" |-*\t").split("|")]


def _is_sentence(text: str) -> bool:
    return text.endswith((".", "!", "?")) and (text[:1].isupper() or text[:1].isdigit())
