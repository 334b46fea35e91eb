"""Gathers and checks what an intent and slot engine is trained on, before anything else is done."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from engines.bert.intent_decoding import NO_INTENT
from modelkit.agent_folder import is_agent, read_agent_folder
from modelkit.domain import is_domain, read_domain
from modelkit.errors import DataError
from modelkit.labelling import label_sentences
from modelkit.nlu import Utterance, read_utterances, text_key
from modelkit.plain_texts import read_plain_texts, split_outliers
from modelkit.rasa import read_rasa
from modelkit.small_talk import small_talk
from modelkit.training.splits import split_utterances

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

FEW_INTENTS = 5
"""With fewer intents ``none`` is one of them, trained on outliers; with more, outliers leave the model unsure."""
_SMALL_TALK = 1500


@dataclass(frozen=True, slots=True)
class NluData:
    """What an engine is trained on.

    Attributes:
        training: labelled utterances.
        validation: others of the same kind.
        outliers: texts that no intent covers.
        held_out: other such texts, by kind.
        unlabelled: texts that only teachers label.
        test: utterances that training does not see; empty without ``--test``.
        slot_values: all values of each closed slot.
        lookups: further values of slots.
        of_sentences: whether the utterances are a domain's sentences.
        sentences: those of all domains, as people say them.
    """

    training: tuple[Utterance, ...]
    validation: tuple[Utterance, ...]
    outliers: tuple[str, ...]
    held_out: dict[str, list[str]]
    unlabelled: tuple[str, ...]
    test: tuple[Utterance, ...]
    slot_values: dict[str, tuple[str, ...]]
    lookups: dict[str, tuple[str, ...]]
    of_sentences: bool
    sentences: tuple[str, ...] = ()


@dataclass(slots=True)
class _Gathered:
    utterances: list[Utterance]
    slot_values: dict[str, tuple[str, ...]]
    lookups: dict[str, tuple[str, ...]]
    of_sentences: bool = False
    sentences: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class NluFiles:
    """What is read beside the utterances.

    Attributes:
        intents: names of the intents of the folders, in their order; without them, a folder's name is its intent.
        outliers: texts that no intent covers; see :func:`modelkit.plain_texts.read_plain_texts`.
        unlabelled: texts that only teachers label, likewise.
        test: utterances that must not be among ``data``.
        drop_duplicates: leave out of training what ``test`` has, where it would be an error.
    """

    intents: tuple[str, ...] = ()
    outliers: tuple[str, ...] = ()
    unlabelled: tuple[str, ...] = ()
    test: Path | None = None
    drop_duplicates: bool = False


def gather(data: Sequence[Path], files: NluFiles, *, validation: float, seed: int) -> NluData:
    """Reads and checks all files and splits off the validation set.

    Args:
        data: ``.jsonl`` files, ``.yml`` files of Rasa, and folders of domains and agents.
        files: what else is read.
        validation: share of the utterances.
        seed: of the outliers that are chosen.

    Raises:
        DataError: something is wrong with a file, or with all of them together.
    """
    rng = random.Random(seed)
    gathered = _read_all(data, files.intents)
    test = files.test
    tested = tuple(read_utterances(test)) if test else ()
    kept = _without_repetition(gathered.utterances)
    if test and files.drop_duplicates:
        keys = {utterance.key for utterance in tested}
        kept = [utterance for utterance in kept if utterance.key not in keys]
        if not kept:
            raise DataError(f"all utterances are in {test} too: give others to train on")
    elif test:
        check_apart(kept, tested, test)
    kinds = _read_kinds(files.outliers, rng)
    names = {utterance.intent for utterance in kept}
    if len(names - {NO_INTENT}) < FEW_INTENTS and gathered.of_sentences:
        values = [value for listed in gathered.slot_values.values() for value in listed]
        kinds.setdefault("small talk", []).extend(small_talk(_SMALL_TALK, values, rng))
    _check_classes(names, kinds)
    training, validating = split_utterances(kept, validation)
    if not validating:
        raise DataError(
            f"{len(kept)} utterances of {len(names)} intents leave none to validate with, as one of every intent stays "
            "for training: give several of each"
        )
    trained, held_out = split_outliers(kinds, rng)
    return NluData(
        tuple(training),
        tuple(validating),
        tuple(trained),
        held_out,
        _unlabelled(files.unlabelled, (*validating, *tested), rng),
        tested,
        gathered.slot_values,
        gathered.lookups,
        gathered.of_sentences,
        tuple(dict.fromkeys(gathered.sentences)),
    )


def check_apart(training: Sequence[Utterance], test: Sequence[Utterance], path: Path) -> None:
    """Makes sure that no text is both trained on and tested with.

    Raises:
        DataError: some are; the message names the first.
    """
    seen = {utterance.key for utterance in training}
    common = [utterance.text for utterance in test if utterance.key in seen]
    if common:
        raise DataError(
            f"{len(common)} of the {len(test)} utterances of {path} are among the training data too, "
            f"as {common[0]!r}: take them out of one of the two, or out of training with --drop-duplicates"
        )


def _read_all(data: Sequence[Path], intents: Sequence[str]) -> _Gathered:
    folders = [path for path in data if path.is_dir() and not is_agent(path)]
    if intents and len(intents) != len(folders):
        raise DataError(
            f"{len(intents)} names of intents for {len(folders)} folders of sentences: give one --intent for each"
        )
    names = dict(zip(folders, intents or [folder.resolve().name for folder in folders], strict=True))
    gathered = _Gathered([], {}, {})
    for path in data:
        if path in names:
            if not is_domain(path):
                raise DataError(f"{path} holds neither sentences.txt nor slot_values.json: see lab/docs/training.md")
            domain = read_domain(path)
            labelled = label_sentences(domain, names[path], path)
            gathered.utterances += labelled
            gathered.sentences += [utterance.text for utterance in labelled]
            _merge(gathered.slot_values, domain.slot_values)
            gathered.of_sentences = True
        elif is_agent(path):
            labelled, slot_values = read_agent_folder(path)
            gathered.utterances += labelled
            gathered.sentences += [utterance.text for utterance in labelled]
            _merge(gathered.slot_values, slot_values)
            gathered.of_sentences = True
        elif path.suffix in {".yml", ".yaml"}:
            rasa = read_rasa(path)
            gathered.utterances += rasa.utterances
            _merge(gathered.lookups, rasa.lookups)
        else:
            gathered.utterances += read_utterances(path)
    return gathered


def _merge(target: dict[str, tuple[str, ...]], values: dict[str, tuple[str, ...]]) -> None:
    for name, listed in values.items():
        target[name] = tuple(dict.fromkeys((*target.get(name, ()), *listed)))


def _read_kinds(files: Sequence[str], rng: random.Random) -> dict[str, list[str]]:
    """Reads texts without labels; kinds of one name, as of files of one name in two folders, are one."""
    kinds: dict[str, list[str]] = {}
    for given in files:
        for kind, texts in read_plain_texts(given, rng).items():
            kinds.setdefault(kind, []).extend(texts)
    return kinds


def _unlabelled(files: Sequence[str], judged: Sequence[Utterance], rng: random.Random) -> tuple[str, ...]:
    """Reads the texts that teachers label, each once, without those that the network is judged on."""
    texts = {text_key(text): text for texts in _read_kinds(files, rng).values() for text in texts}
    for utterance in judged:
        texts.pop(utterance.key, None)
    return tuple(texts.values())


def _without_repetition(utterances: Sequence[Utterance]) -> list[Utterance]:
    """Keeps the first of those that say the same, lest one be trained on and validated with."""
    kept: dict[str, Utterance] = {}
    for utterance in utterances:
        first = kept.setdefault(utterance.key, utterance)
        if first.intent != utterance.intent:
            raise DataError(
                f"{utterance.text!r} has the intent {first.intent} and again {utterance.intent}: "
                f"keep the right one of {first.place} and {utterance.place}"
            )
    return list(kept.values())


def _check_classes(names: set[str], kinds: dict[str, list[str]]) -> None:
    if len(names) < 2 and not any(kinds.values()):
        raise DataError(
            f"all utterances have the intent {next(iter(names))}: give others, "
            "or texts that ask for nothing of the kind with --outliers FILE"
        )
