"""``python -m modelkit.utterance_kinds``: trains the classifier of utterance kinds, and says what shipped intents take.

A whole MiniLM learns from the contrast sentences, generated ones and utterances whose first words tell their kind. It
labels many other texts, and the small network that is served learns from them all: distillation (Hinton et al., 2015,
"Distilling the Knowledge in a Neural Network").
"""

from __future__ import annotations

import collections
import json
import random
from pathlib import Path
from typing import TYPE_CHECKING

import click
import torch
from tokenizers import Tokenizer

from engines.bert.decoder_files import INTENT_KINDS, UTTERANCE_KINDS
from engines.bert.utterance_kinds import CLASSES, KindClassifier
from engines.build.files import write_whole
from modelkit.augment import outlier_texts
from modelkit.nlu import read_utterances
from modelkit.squad import read_squad
from modelkit.training.bases import find_base
from modelkit.utterance_kinds.contrast import Labelled, kind_of, read_contrast
from modelkit.utterance_kinds.frames import generate
from modelkit.utterance_kinds.intent_kinds import taken_kinds
from modelkit.utterance_kinds.student import Example, begin_words, certain, choose_vocabulary, train
from modelkit.utterance_kinds.teacher import Teacher, plain
from modelkit.utterance_kinds.weak_labels import weak_label

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import Tensor

    from modelkit.nlu import Utterance

_GENERATED_FOR_TEACHER, _GENERATED = 900, 1500
"""Generated sentences of each class."""
_TEACHER_TIMES, _TIMES = 5, 8
"""How often an epoch shows each contrast sentence."""
_WEAK, _TEXTS = 3000, 6000
_VOCABULARY = 8000
_COMMANDING = 0.85
"""Share of an intent's utterances that the teacher takes for commands, from which the data are believed before it."""
_BELIEF = 0.7

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)


@click.command()
@click.argument("utterances", type=_FILE)
@click.option(
    "--questions", metavar="FILE", type=_FILE, multiple=True, help="Texts in SQuAD's format. May be repeated."
)
@click.option(
    "--teacher", metavar="FILE", type=click.Path(path_type=Path, dir_okay=False), help="Keep the teacher here."
)
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path, file_okay=False), required=True)
def main(utterances: Path, questions: Sequence[Path], teacher: Path | None, out: Path) -> None:
    """Train the classifier of utterance kinds on UTTERANCES and write it, and what intents take, to DIR."""
    rng = random.Random(0)
    torch.manual_seed(0)
    contrast, listed = read_contrast(), read_utterances(utterances)
    texts = [text for path in questions for text in outlier_texts(read_squad(path), rng)]
    base = find_base()
    taught = Teacher(base.directory)
    if teacher is not None and teacher.exists():
        taught.network.load_state_dict(torch.load(teacher, weights_only=True))
    else:
        taught.train(_lessons(contrast.training, listed, rng), 2, rng, click.echo)
        if teacher is not None:
            torch.save(taught.network.state_dict(), teacher)
    told = _labelled(taught, listed, rng.sample(texts, min(_TEXTS, len(texts))))
    made = [Labelled(generate(name, rng), label) for label, name in enumerate(CLASSES) for _ in range(_GENERATED)]
    known = [*made, *list(contrast.training) * _TIMES]
    examples = [*(Example(one.text, certain(one.label)) for one in known), *told]
    vocabulary = choose_vocabulary([*(example.text for example in examples), *map(plain, texts)], _VOCABULARY)
    pieces = taught.network.encoder.embeddings.word_embeddings.weight.detach()
    words = begin_words(vocabulary, Tokenizer.from_file(str(base.tokenizer)), pieces)
    out.mkdir(parents=True, exist_ok=True)
    train(examples, words, vocabulary, 6, rng, click.echo).classifier(vocabulary).save(out / UTTERANCE_KINDS)
    classifier = KindClassifier.load(out / UTTERANCE_KINDS)
    write_whole(out / INTENT_KINDS, json.dumps(taken_kinds(listed, classifier), indent=1) + "\n")
    found = [classifier.classify(one.text) for one in contrast.held_out]
    right = sum(kind_of(one.label) == (f.kind, f.negated) for one, f in zip(contrast.held_out, found, strict=True))
    click.echo(f"{right} of {len(contrast.held_out)} sentences that were held out are right")


def _lessons(contrast: Sequence[Labelled], utterances: Sequence[Utterance], rng: random.Random) -> list[Labelled]:
    """Puts together what the teacher learns from."""
    made = [
        Labelled(generate(name, rng), label)
        for label, name in enumerate(CLASSES)
        for _ in range(_GENERATED_FOR_TEACHER)
    ]
    weak = [Labelled(u.text, label) for u in utterances if (label := weak_label(u.text)) is not None]
    return [*made, *list(contrast) * _TEACHER_TIMES, *rng.sample(weak, min(_WEAK, len(weak)))]


def _labelled(teacher: Teacher, utterances: Sequence[Utterance], texts: Sequence[str]) -> list[Example]:
    """Labels utterances and other texts; where an intent is one for commands, the data speak beside the teacher."""
    said = [utterance.text for utterance in utterances]
    labels = teacher.label([*said, *texts])
    command, negated = CLASSES.index("command"), CLASSES.index("command negated")
    shares: dict[str, list[float]] = collections.defaultdict(list)
    for utterance, told in zip(utterances, labels[: len(said)], strict=True):
        shares[utterance.intent].append(float(told[command]))
    commanding = {intent for intent, found in shares.items() if sum(found) / len(found) >= _COMMANDING}

    def believed(utterance: Utterance, told: Tensor) -> Tensor:
        doubtful = told[command] < 0.6 and told[negated] < 0.4
        if utterance.intent not in commanding or not doubtful:
            return told
        target = (1 - _BELIEF) * told
        target[command] += _BELIEF
        return target

    own = [Example(u.text, believed(u, told)) for u, told in zip(utterances, labels[: len(said)], strict=True)]
    return [*own, *(Example(text, told) for text, told in zip(texts, labels[len(said) :], strict=True))]


if __name__ == "__main__":
    main()
