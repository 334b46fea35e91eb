"""Reads texts without labels: those that no intent covers, and those that only teachers label."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from modelkit.augment import outlier_texts
from modelkit.errors import DataError
from modelkit.nlu import read_utterances
from modelkit.squad import read_squad
from modelkit.text_files import read_text

if TYPE_CHECKING:
    import random

_MAX_OF_A_KIND = 4000
_HELD_OUT = 300


def split_name(given: str) -> tuple[Path, tuple[str, ...]]:
    """Takes ``FILE:INTENT,INTENT`` apart; without intents all of the file counts."""
    name, colon, intents = given.rpartition(":")
    if colon and name.endswith(".jsonl") and not Path(given).exists():
        return Path(name), tuple(filter(None, intents.split(",")))
    return Path(given), ()


def read_plain_texts(given: str, rng: random.Random) -> dict[str, list[str]]:
    """Reads the texts of a file, by kind.

    Args:
        given: a SQuAD file (``.json``), whose questions and sentences are taken; utterances (``.jsonl``), all or those
            of the intents named after a colon, each intent a kind of its own; or a text file, one sentence a line.
        rng: source of chance.

    Raises:
        DataError: the file cannot be read, or has no such intent.
    """
    path, intents = split_name(given)
    if path.suffix == ".json":
        return {path.stem: outlier_texts(read_squad(path), rng)}
    if path.suffix == ".jsonl":
        kinds: dict[str, list[str]] = {}
        for utterance in read_utterances(path):
            if not intents or utterance.intent in intents:
                kinds.setdefault(utterance.intent, []).append(utterance.text.strip())
        missing = [intent for intent in intents if intent not in kinds]
        if missing:
            raise DataError(f"{path} has no utterances of {', '.join(missing)}: name intents that it has")
        return kinds
    return {path.stem: [line.strip() for line in read_text(path).splitlines() if line.strip()]}


def split_outliers(kinds: dict[str, list[str]], rng: random.Random) -> tuple[list[str], dict[str, list[str]]]:
    """Returns outliers to train with, and by kind the ones kept back for validation, a tenth of each."""
    train: list[str] = []
    held_out: dict[str, list[str]] = {}
    for kind, listed in kinds.items():
        texts = list(dict.fromkeys(listed))
        rng.shuffle(texts)
        keep = min(_HELD_OUT, len(texts) // 10)
        held_out[kind] = texts[:keep]
        train += texts[keep : keep + _MAX_OF_A_KIND]
    return train, {kind: texts for kind, texts in held_out.items() if texts}
