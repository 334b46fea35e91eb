"""Value list of a closed slot: a value a line, synonyms behind "="."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pipelines.dialog.agent.problems import AgentError, Problem
from pipelines.dialog.agent.yaml_file import read_text

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

MAX_BETWEEN = 3
"""Words between those of a value that is said in another order."""
MAX_VALUES = 2_000
"""Of one list."""

_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_FORM = "write one value a line, synonyms behind it: large = big, grande"


@dataclass(frozen=True, slots=True)
class Word:
    """Lower-case word of a text, with code points ``start`` to ``end`` (exclusive)."""

    text: str
    start: int
    end: int


def spoken_name(name: str) -> str:
    """Return a name of an intent or a slot as words: "book_table", "bookTable"."""
    return re.sub(r"([a-z])([A-Z])", r"\1 \2", name).replace("_", " ").lower()


def words_of(text: str) -> tuple[Word, ...]:
    """Divide a text into words, without punctuation."""
    return tuple(
        Word(match[0].lower().replace("\u2019", "'"), match.start(), match.end()) for match in _WORD.finditer(text)
    )


@dataclass(frozen=True, slots=True)
class Mention:
    """A value of a list in a text.

    Attributes:
        value: as the list writes it.
        start: first code point in the text.
        end: one past the last one.
        length: words of the mention.
    """

    value: str
    start: int
    end: int
    length: int


@dataclass(frozen=True)
class ValueList:
    """The values of a closed slot.

    Attributes:
        values: in the order of the file, which is that of choices.
        synonyms: other ways to say a value, each with the value.
    """

    values: tuple[str, ...]
    synonyms: Mapping[str, str]

    @cached_property
    def _spoken(self) -> dict[tuple[str, ...], str]:
        spoken = {tuple(word.text for word in words_of(said)): value for said, value in self.synonyms.items()}
        return spoken | {tuple(word.text for word in words_of(value)): value for value in self.values}

    @cached_property
    def spoken(self) -> tuple[tuple[str, str], ...]:
        """Spoken forms of values, lower case without spaces, each with its value."""
        return tuple(("".join(words), value) for words, value in self._spoken.items())

    @cached_property
    def _max_words(self) -> int:
        return max(map(len, self._spoken))

    @cached_property
    def _parts(self) -> dict[str, frozenset[str]]:
        return {value: frozenset(word.text for word in words_of(value)) for value in self.values}

    def find(self, words: tuple[Word, ...]) -> tuple[Mention, ...]:
        """Find all mentions of values, of those that overlap the longest."""
        found: list[Mention] = []
        at = 0
        while at < len(words):
            for length in range(min(self._max_words, len(words) - at), 0, -1):
                value = self._spoken.get(tuple(word.text for word in words[at : at + length]))
                if value is not None:
                    found.append(Mention(value, words[at].start, words[at + length - 1].end, length))
                    at += length
                    break
            else:
                at += 1
        return tuple(found)

    def find_all(self, words: tuple[Word, ...]) -> tuple[Mention, ...]:
        """Find the mentions of values; without one, a value in another order."""
        scattered = () if (found := self.find(words)) else (self.find_scattered(words),)
        return found or tuple(one for one in scattered if one is not None)

    def find_scattered(self, words: tuple[Word, ...]) -> Mention | None:
        """Find a value whose words stand in another order: "the tyre is flat"."""
        for spoken, value in self._spoken.items():
            if len(spoken) < 2 or any(len(word) < 3 for word in spoken):
                continue
            places = [next((at for at, word in enumerate(words) if word.text == part), None) for part in spoken]
            found = [at for at in places if at is not None]
            if len(found) == len(spoken) and max(found) - min(found) < len(spoken) + MAX_BETWEEN:
                return Mention(value, words[min(found)].start, words[max(found)].end, max(found) - min(found) + 1)
        return None

    def value_of(self, text: str) -> str | None:
        """Return the value that a text is, or is a synonym of; None where it is neither."""
        return self._spoken.get(tuple(word.text for word in words_of(text)))

    def like(self, words: tuple[Word, ...]) -> tuple[str, ...]:
        """Return the values with a telling word of a text in them."""
        said = {word.text for word in words}
        shares = {value: len(said & parts) for value, parts in self._parts.items()}
        best = max(shares.values())
        liked = tuple(value for value, share in shares.items() if share == best)
        return liked if best and len(liked) < len(self.values) else ()


def read_values(path: Path) -> ValueList:
    """Read the file of a value list.

    Raises:
        AgentError: the file cannot be read, holds no values, or something stands in it twice.
    """
    values: list[str] = []
    synonyms: dict[str, str] = {}
    places: dict[tuple[str, ...], int] = {}
    problems: list[Problem] = []
    for number, line in enumerate(read_text(path, within=path.parent.parent).split("\n"), 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        value, sign, others = line.partition("=")
        value = " ".join(value.split())
        said = [" ".join(other.split()) for other in others.split(",")] if sign else []
        for one in (value, *said):
            words = tuple(word.text for word in words_of(one))
            if not words:
                problems.append(Problem(path, number, f"a value without a word: {_FORM}"))
            elif words in places and places[words] == number:
                pass  # "check-up = check up" says the same twice.
            elif words in places:
                message = f"{one!r} stands in line {places[words]} already: remove one of the two"
                problems.append(Problem(path, number, message))
            else:
                places[words] = number
        values.append(value)
        synonyms |= dict.fromkeys(said, value)
    if not values:
        problems.append(Problem(path, 0, f"holds no values: {_FORM}"))
    if len(places) > MAX_VALUES:
        problems.append(Problem(path, 0, f"{len(places)} values and synonyms: {MAX_VALUES} are the most, shorten it"))
    if problems:
        raise AgentError(problems)
    return ValueList(tuple(values), synonyms)
