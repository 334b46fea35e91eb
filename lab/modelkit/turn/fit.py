"""Training of the judge: ``python -m modelkit.turn.fit RECORDINGS --texts FILE… --words DIR --out DIR``.

It learns from the tuning half of a folder of recordings and from synthetic turns. Both steps are logistic regressions.
The second sees what the first says of turns that it has not learned from.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from engines.build.smart_turn import RECENT, TARGET
from engines.turn.detector import JUDGE, TOKENIZER, WORDS
from engines.turn.judge import Judge, evidence
from engines.turn.sound import SoundNetwork
from engines.turn.words import WordNetwork
from modelkit.cards import dated, name_data
from modelkit.errors import ModelkitError
from modelkit.triton_models import MODEL_REPOSITORY
from modelkit.turn import synthetic
from modelkit.turn.cases import Looking
from modelkit.turn.halves import TUNING, name_number, read_samples, recordings
from modelkit.turn.hearing import Hearing
from modelkit.turn.measures import auc
from modelkit.turn.texts import read_sources

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt

    from modelkit.turn.cases import Case

    Floats = npt.NDArray[np.float64]


class Words(Protocol):
    """Reads texts; see :class:`engines.turn.words.WordNetwork`."""

    def read(self, texts: Sequence[str]) -> list[float | None]:
        """Returns for each text a logit, positive where it is whole; None where there are no words."""


FOLDS = 5
SPLICED_RECORDED, SPLICED_SYNTHETIC = 4, 2
_SPREAD_FLOOR = 0.05
"""Of the mean spread: what hardly varies must not be magnified."""
_STEPS, _RIDGE = 12, 1e-9


@dataclass(frozen=True, slots=True)
class FitRecipe:
    """What fitting the judge does, all of it.

    Attributes:
        seed: of what is drawn.
        sentences: synthetic turns of each source.
        synthetic_weight: of all synthetic cases, against 1 of all recorded ones.
        sound_penalty: of the squares of the first step's weights.
        penalty: of the second's.
    """

    seed: int = 7
    sentences: int = 80
    synthetic_weight: float = 1.0
    sound_penalty: float = 1.0
    penalty: float = 1e-3


UNHEARD = FitRecipe(synthetic_weight=1e5, sound_penalty=3.0)
"""Recordings weigh nothing beside so much."""


def fit(
    recorded: Sequence[Case], made: Sequence[Case], words: Words, recipe: FitRecipe
) -> tuple[Judge, dict[str, float]]:
    """Fits both steps.

    Args:
        recorded: cases of recordings.
        made: cases of synthetic turns.
        words: the network for text.
        recipe: how.

    Returns:
        The judge, and the areas under the ROC curve on recorded turns that were not learned from.
    """
    cases = [*recorded, *made]
    truth = np.array([float(case.is_end) for case in cases])
    weights = np.concatenate(
        [_balanced(truth[: len(recorded)]), recipe.synthetic_weight * _balanced(truth[len(recorded) :])]
    )
    sounds = np.stack([case.sound for case in cases]).astype(np.float64)
    folds = np.array([name_number(case.turn) // 2 % FOLDS for case in cases])
    unseen = np.zeros(len(cases))
    for fold in range(FOLDS):
        seen = folds != fold
        step = _regress(sounds[seen], truth[seen], weights[seen], recipe.sound_penalty)
        unseen[~seen] = step.logits(sounds[~seen])
    sound = _regress(sounds, truth, weights, recipe.sound_penalty)
    read = words.read([case.text for case in cases])
    found = np.stack(
        [evidence(logit, case.silence, word) for case, logit, word in zip(cases, unseen.tolist(), read, strict=True)]
    ).astype(np.float64)
    last = _regress(found, truth, weights, recipe.penalty)
    parts = (sound.mean, sound.scale, sound.bias, last.scale, last.bias - last.mean @ last.scale)
    judge = Judge(*(np.asarray(part, np.float32) for part in parts))
    ends = truth[: len(recorded)] > 0
    smart_turn = np.array([case.smart_turn for case in cases])
    said = {"smart_turn": smart_turn, "sound": unseen, "words": found[:, 2], "both": last.logits(found)}
    own = {name: values[: len(recorded)] for name, values in said.items()}
    return judge, {name: round(auc(values[ends], values[~ends]), 4) for name, values in own.items()}


@dataclass(frozen=True, slots=True, eq=False)
class _Step:
    mean: Floats
    scale: Floats
    bias: float

    def logits(self, rows: Floats) -> Floats:
        found: Floats = (rows - self.mean) @ self.scale + self.bias
        return found


def _regress(rows: Floats, truth: Floats, weights: Floats, penalty: float) -> _Step:
    mean, spread = rows.mean(axis=0), rows.std(axis=0)
    spread = spread + _SPREAD_FLOOR * spread.mean() + 1e-6
    # Newton's method: the penalty keeps the curvature from vanishing.
    scaled = np.column_stack([(rows - mean) / spread, np.ones(len(rows))])
    shares, damping = weights / weights.sum(), np.append(np.full(rows.shape[1], penalty), 0.0)
    best = np.zeros(scaled.shape[1])
    for _ in range(_STEPS):
        found = 1 / (1 + np.exp(-scaled @ best))
        slope = scaled.T @ (shares * (found - truth)) + damping * best
        curvature = (scaled.T * (shares * found * (1 - found))) @ scaled + np.diag(damping + _RIDGE)
        best -= np.linalg.solve(curvature, slope)
    return _Step(mean, best[:-1] / spread, float(best[-1]))


def _balanced(truth: Floats) -> Floats:
    """Weighs ends and pauses so that either sums to a half."""
    ends = truth.sum()
    found: Floats = np.where(truth > 0, 0.5 / max(ends, 1), 0.5 / max(len(truth) - ends, 1))
    return found


def main() -> int:
    """Trains the judge and writes all of our own files; returns the exit status."""
    parser = argparse.ArgumentParser(description="Train the judge of end_of_turn.")
    parser.add_argument("recordings", type=Path, help="folder of recordings, one turn each; half of them are used")
    parser.add_argument("--texts", nargs="+", type=Path, required=True, help="what synthetic turns say")
    parser.add_argument("--flite", action="store_true", help="let the voices of flite speak too")
    parser.add_argument("--synthetic-only", action="store_true", help="learn from no recording, only score them")
    parser.add_argument("--noise", type=Path, help="sound in the background of some of them")
    parser.add_argument("--words", type=Path, required=True, help="folder of the network for text")
    parser.add_argument("--out", type=Path, default=MODEL_REPOSITORY / "end_of_turn" / "1", help="folder to write")
    parser.add_argument("--most", type=int, help="recordings and sentences, for a trial")
    options = parser.parse_args()
    try:
        _train(options)
    except ModelkitError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


def _train(options: argparse.Namespace) -> None:
    recipe = UNHEARD if options.synthetic_only else FitRecipe()
    words = WordNetwork(options.words / WORDS, options.words / TOKENIZER)
    looking = Looking(Hearing(), SoundNetwork(TARGET / RECENT))
    sources = read_sources(options.texts)
    texts = synthetic.sentences(sources, recipe.sentences, recipe.seed)[: options.most]
    noise = None if options.noise is None else read_samples(options.noise)
    turns = islice(recordings(options.recordings, TUNING), options.most)
    recorded = list(looking.cases(turns, SPLICED_RECORDED, recipe.seed))
    made = list(looking.cases(synthetic.speak_all(texts, synthetic.OurVoice(), noise), SPLICED_SYNTHETIC, recipe.seed))
    if options.flite:
        texts = synthetic.sentences(sources, recipe.sentences // 2, recipe.seed + 1)[: options.most]
        made += looking.cases(synthetic.speak_all(texts, synthetic.Flite(), noise), SPLICED_SYNTHETIC, recipe.seed)
    judge, scores = fit(recorded, made, words, recipe)
    options.out.mkdir(parents=True, exist_ok=True)
    judge.save(options.out / JUDGE)
    for name in (WORDS, TOKENIZER):
        shutil.copy(options.words / name, options.out / name)
    write_card(options.out, options.words, recipe, options.texts, (len(recorded), len(made)), scores)
    print(json.dumps(scores))


def write_card(
    out: Path,
    words: Path,
    recipe: FitRecipe,
    texts: Sequence[Path],
    cases: tuple[int, int],
    scores: Mapping[str, float],
) -> None:
    """Writes ``card.json``: what both parts of our own were made of.

    Args:
        out: folder to write it in.
        words: folder of the network for text.
        recipe: of the judge.
        texts: what synthetic turns say.
        cases: how many were recorded and how many synthetic.
        scores: of the judge.
    """
    training = words / "training"
    history = json.loads((training / "history.json").read_text(encoding="utf-8"))
    card = {
        "task": "end of a turn",
        "words": json.loads((training / "run.json").read_text(encoding="utf-8")) | {"held_out": history[-1]},
        "judge": {
            "recipe": asdict(recipe),
            "texts": name_data(texts),
            "cases": dict(zip(("recorded", "synthetic"), cases, strict=True)),
        },
        "auc_of_recorded_turns_not_learned_from": dict(scores),
    }
    (out / "card.json").write_text(json.dumps(dated(card), indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
