"""`vivavoce optimize` on a tiny engine for intents and slots."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch

from engines.bert.intent_decoding import IntentLabels
from engines.bert.tag_priors import TagPriors
from lab.tests.unit.modelkit.optimize.conftest import config, enliven, write_tokenizer
from lab.tests.unit.modelkit.optimize.test_run import Listener
from modelkit.errors import TrainingError
from modelkit.optimize.options import OptimizeOptions
from modelkit.optimize.run import optimize

if TYPE_CHECKING:
    from pathlib import Path

    from modelkit.networks import IntentSlotNetwork

LABELS = IntentLabels(("build", "open", "praise"), ("O", "B-year", "I-year", "B-who", "I-who"), 0.9, 0.01)
VALUES = {"year": ["1932"], "who": ["a man", "the man"]}
DECODE = "triton/intent_slot_decode/1"


@pytest.fixture
def intent_engine(tmp_path: Path, intent_network: IntentSlotNetwork) -> Path:
    enliven(intent_network)
    training, decode = tmp_path / "engine" / "training", tmp_path / "engine" / DECODE
    training.mkdir(parents=True)
    decode.mkdir(parents=True)
    torch.save(intent_network.state_dict(), training / "network.pt")
    (training / "config.json").write_text(json.dumps(config(2).to_dict()))
    write_tokenizer(training / "tokenizer.json")
    for folder in (training, decode):
        (folder / "labels.json").write_text(json.dumps(asdict(LABELS)))
    (decode / "slot_values.json").write_text(json.dumps(VALUES))
    return training.parent


def options(engine: Path, out: Path) -> OptimizeOptions:
    """Some utterances to train on, and some of them to score on."""
    texts = ("the bridge was opened in 1932", "a man built it", "it is long and made of steel")
    rows = [
        {"text": text, "intent": intent, "slots": []} for text, intent in zip(texts, LABELS.intents, strict=True)
    ] + [{"text": "built in 1932", "intent": "build", "slots": [{"start": 9, "end": 13, "name": "year"}]}]
    data, evaluation = out.with_suffix(".jsonl"), out.with_suffix(".eval.jsonl")
    data.write_text("\n".join(map(json.dumps, rows)))
    evaluation.write_text(json.dumps(rows[0]))
    return OptimizeOptions(engine, (data,), evaluation, out, ("fused",), rows=64, threads=1, allowed_loss=1.0)


def test_what_decides_about_slots_comes_along(intent_engine, tmp_path):
    rng = np.random.default_rng(1)
    priors = TagPriors(rng.random((3, 2), np.float32), 0.4, rng.random((6, 5), np.float32), 0.45)
    priors.save(intent_engine / DECODE / "tag_priors.npz")
    made = optimize(options(intent_engine, tmp_path / "out"), Listener())
    assert made.best == "fused"
    kept = tmp_path / "out" / DECODE
    assert IntentLabels.load(kept / "labels.json") == LABELS
    assert json.loads((kept / "slot_values.json").read_text()) == VALUES
    got = TagPriors.load(kept / "tag_priors.npz")
    np.testing.assert_array_equal(got.transitions, priors.transitions)
    assert (got.slot_weight, got.least) == pytest.approx((0.4, 0.45))


def test_slots_are_scored_as_they_will_be_decoded(intent_engine, tmp_path):
    # Whatever the network says, a year comes first and nothing after it.
    forced = np.zeros((6, 5), np.float32)
    forced[-1, LABELS.tags.index("B-year")] = forced[:-1, LABELS.tags.index("O")] = 1e3
    TagPriors(np.ones((3, 2), np.float32), 0.0, forced).save(intent_engine / DECODE / "tag_priors.npz")
    chosen = options(intent_engine, tmp_path / "out")
    year_first = {"text": "1932 was long", "intent": "praise", "slots": [{"start": 0, "end": 4, "name": "year"}]}
    chosen.evaluation.write_text("\n".join([json.dumps(year_first)] * 3))
    assert [result.scores["slot_f1"] for result in optimize(chosen, Listener()).results] == [1.0, 1.0]


def other_threshold(decode: Path) -> None:
    (decode / "labels.json").write_text(json.dumps(asdict(replace(LABELS, threshold=0.02))))


def other_priors(decode: Path) -> None:
    TagPriors(np.ones((3, 2), np.float32), 0.0, np.ones((6, 5), np.float32)).save(decode / "tag_priors.npz")


@pytest.mark.parametrize(("change", "name"), [(other_threshold, "labels.json"), (other_priors, "tag_priors.npz")])
def test_results_that_were_decoded_otherwise_are_not_mixed_in(change, name, intent_engine, tmp_path):
    chosen = replace(options(intent_engine, tmp_path / "out"), points=("eager",))
    optimize(chosen, Listener())
    change(intent_engine / DECODE)
    with pytest.raises(TrainingError, match=f"another {DECODE}/{name}: choose another --out"):
        optimize(chosen, Listener())
