"""Texts that learn whether a turn is over: whole utterances, and their beginnings."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engines.turn.spoken_words import MAX_WORDS, spoken_words
from modelkit.domain import SENTENCES
from modelkit.errors import DataError
from modelkit.nlu import read_utterances
from modelkit.squad import read_squad
from modelkit.text_files import read_text

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

SAYINGS = Path(__file__).with_name("sayings.txt")
"""Sentences of our own, which are trained on beside the data."""

_SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_SAYINGS_TIMES = 24.0
"""Short answers are rare in the data, and common in conversations."""
_MIN_STATEMENT_WORDS, _MAX_STATEMENT_WORDS = 5, 25
_FILLERS = ("um", "uh", "and", "so", "the", "like", "or", "with", "to", "a", "er", "but", "for", "and a", "well", "of")


@dataclass(frozen=True, slots=True)
class Source:
    """Whole utterances of one kind.

    Attributes:
        utterances: words of each.
        times: how often an epoch shows each; below 1, which share of them.
        is_ours: whether they are our own sentences, of which none is held out, and which are no beginnings of others.
    """

    utterances: tuple[tuple[str, ...], ...]
    times: float
    is_ours: bool = False


@dataclass(frozen=True, slots=True)
class Example:
    """Words that somebody has said when he pauses, and whether the turn is over."""

    words: tuple[str, ...]
    is_over: bool


def read_sources(paths: Sequence[Path]) -> list[Source]:
    """Reads utterances (``.jsonl``), questions and statements (SQuAD's ``.json``), and sentences (others).

    Raises:
        DataError: a file cannot be read, or holds no words.
    """
    sources = [Source(_words(read_text(SAYINGS).splitlines()), _SAYINGS_TIMES, is_ours=True)]
    for path in paths:
        sources += _read(path / SENTENCES if path.is_dir() else path)
    return sources


def split(sources: Sequence[Source], share: float, rng: random.Random) -> tuple[list[Source], list[Source]]:
    """Holds a share of each source out; returns what is left, and what is held out."""
    training, held_out = [], []
    for source in sources:
        if source.is_ours:
            training.append(source)
            continue
        shuffled = list(source.utterances)
        rng.shuffle(shuffled)
        kept = max(1, round(share * len(shuffled)))
        training.append(Source(tuple(shuffled[kept:]), source.times))
        held_out.append(Source(tuple(shuffled[:kept]), source.times))
    return training, held_out


def draw(sources: Sequence[Source], rng: random.Random) -> list[Example]:
    """Draws whole utterances, and about as many beginnings, cut anywhere between words."""
    answers = {words for source in sources if source.is_ours for words in source.utterances}
    examples = []
    for source in sources:
        whole = list(source.utterances) * max(1, int(source.times))
        if source.times < 1:
            whole = rng.sample(whole, max(1, round(source.times * len(whole))))
        for words in whole:
            examples.append(Example(words[-MAX_WORDS:], True))
            # "Yes" begins "yes, please", and is an answer of its own.
            if (begun := _beginning(words, rng)) not in answers:
                examples.append(Example(begun[-MAX_WORDS:], False))
    rng.shuffle(examples)
    return examples


def _beginning(words: tuple[str, ...], rng: random.Random) -> tuple[str, ...]:
    """Cuts an utterance, now and then inside a word, as recognition writes those, or before a filler."""
    chance = rng.random()
    if len(words) < 2 or chance < 0.08:
        return (*words, *rng.choice(_FILLERS).split())
    kept = words[: rng.randrange(1, len(words))]
    if chance < 0.16 and len(kept[-1]) > 3:
        return (*kept[:-1], kept[-1][: rng.randrange(2, len(kept[-1]))])
    return (*kept, rng.choice(_FILLERS[:2])) if chance < 0.2 else kept


def _read(path: Path) -> list[Source]:
    if path.suffix == ".jsonl":
        return [_checked(path, [utterance.text for utterance in read_utterances(path)], 1.0)]
    if path.suffix == ".json":
        questions = read_squad(path)
        paragraphs = dict.fromkeys(question.context for question in questions)
        sentences = [sentence for text in paragraphs for sentence in _SENTENCE_END.split(text)]
        short = [s for s in sentences if _MIN_STATEMENT_WORDS <= len(s.split()) <= _MAX_STATEMENT_WORDS]
        return [
            _checked(path, [question.text for question in questions], 0.2),
            _checked(path, short or sentences, 0.15),
        ]
    return [_checked(path, read_text(path).splitlines(), 8.0)]


def _checked(path: Path, texts: Sequence[str], times: float) -> Source:
    source = Source(_words(texts), times)
    if not source.utterances:
        raise DataError(f"{path} holds no utterance of words: give whole utterances, one a line")
    return source


def _words(texts: Sequence[str]) -> tuple[tuple[str, ...], ...]:
    return tuple(dict.fromkeys(words for text in texts if (words := tuple(spoken_words(text)))))
