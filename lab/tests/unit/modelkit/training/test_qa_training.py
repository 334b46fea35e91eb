"""Answers, from a SQuAD file to an engine directory, with a BERT of two small layers."""

from __future__ import annotations

import json
import shutil
import signal
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING
from unittest.mock import Mock

import numpy as np
import onnx
import pytest
import torch

from engines.bert.network_files import network_file
from engines.bert.session import BertSession
from engines.bert.span_decoding import Calibration
from engines.bert.tokenizing import DocumentTokenizer
from lab.tests.unit.modelkit.training.small_data import Recorder, Silent, write_squad
from modelkit.errors import TrainingError
from modelkit.export import QA_INPUTS
from modelkit.squad import Question
from modelkit.token_pruning import DROPPED, PrunedSpanNetwork
from modelkit.training import qa_engine
from modelkit.training.bases import Base, find_base
from modelkit.training.distillation import Teachers
from modelkit.training.options import TrainOptions
from modelkit.training.qa import QaOptions, train
from modelkit.training.qa_data import gather
from modelkit.training.qa_recipe import Pruning, QaRecipe
from modelkit.training.qa_task import NetworkSession, QaTask, separation
from modelkit.training.saved import load_spans

if TYPE_CHECKING:
    from pathlib import Path

QUICK = ("validated=8", "validations=1", "batch_tokens=400")


def options(
    folder: Path, base: Path, teachers: tuple[Path, ...] = (), settings: tuple[str, ...] = QUICK
) -> TrainOptions:
    return TrainOptions((folder / "squad.json",), folder / "engine", (base,), validation=0.3, epochs=2,
                        device="cpu", teachers=teachers, settings=settings)  # fmt: skip


def train_quickly(folder: Path, base: Path, teachers: tuple[Path, ...] = ()) -> Path:
    write_squad(folder / "squad.json")
    display = Recorder()
    train(QaOptions(options(folder, base, teachers)), display)
    assert any(" questions were held out for validation, and with fewer than 100" in line for line in display.said)
    return folder / "engine"


@pytest.fixture(scope="module")
def engine(tiny_base, tmp_path_factory) -> Path:
    return train_quickly(tmp_path_factory.mktemp("qa"), tiny_base)


def test_questions_become_an_engine(engine):
    triton = engine / "triton"
    session = BertSession(network_file(triton / "qa_bert" / "1"))
    assert set(session.outputs) == {"start_logits", "end_logits"}
    assert 0 < Calibration.load(triton / "qa_decode" / "1" / "calibration.json").threshold < 1
    card = json.loads((engine / "card.json").read_text())
    assert card["scores"]["validation"]["questions"] > 0
    assert card["task"] == "extractive question answering"


def test_the_network_and_its_runner_agree_whatever_is_in_the_batch(engine):
    saved = load_spans(engine)
    tokenizer = DocumentTokenizer(saved.tokenizer)
    batches = [tokenizer.encode("When was it built?", "The bridge was built in 1932. " * n) for n in (1, 3, 60)]
    feeds = [{name: getattr(batch, name) for name in NetworkSession.inputs} for batch in batches]
    session = NetworkSession(saved.network)
    together = session.run(feeds)
    for feed, result in zip(feeds, together, strict=True):
        (alone,) = session.run([feed])
        for name in ("start_logits", "end_logits"):
            np.testing.assert_allclose(result[name], alone[name], atol=1e-5)
            assert not result[name][feed["attention_mask"] == 0].any()


def test_ranges_are_measured_on_windows_without_their_padding(engine, tmp_path, monkeypatch):
    measure = Mock(side_effect=InterruptedError)
    monkeypatch.setattr(qa_engine, "export", lambda *_: None)
    monkeypatch.setattr(qa_engine, "BertSession", lambda _: Mock(inputs=QA_INPUTS))
    monkeypatch.setattr(qa_engine, "compress", measure)
    long = [Question("a", "who", "the river is a song " * 60, ()), Question("b", "who", "the song", ())]
    with pytest.raises(InterruptedError):
        qa_engine.finish(load_spans(engine), tmp_path, training=long, validation=(), card={}, seed=1)
    (_, _, samples, _), _ = measure.call_args
    assert len(samples) > 2
    assert all(feeds["attention_mask"].all() for feeds in samples)


PRUNED = (*QUICK, "kept_first=64", "kept_second=0", "cut=0.3")


@pytest.fixture(scope="module")
def pruned(tiny_base, engine, tmp_path_factory) -> Path:
    """Taught by another engine, on paragraphs that are longer than what goes on."""
    folder = tmp_path_factory.mktemp("pruned")
    write_squad(folder / "squad.json", sentences=20)
    train(QaOptions(options(folder, tiny_base, (engine,), PRUNED), prune_tokens=True), Silent())
    return folder / "engine"


def test_a_network_that_drops_tokens_is_trained_and_served(pruned):
    saved = load_spans(pruned)
    assert isinstance(saved.network, PrunedSpanNetwork)
    assert saved.network.kept == (64,)
    batch = DocumentTokenizer(saved.tokenizer).encode("When was it built?", "The river is a song. " * 30)
    feeds = {name: getattr(batch, name) for name in NetworkSession.inputs}
    (plain,) = NetworkSession(saved.network).run([feeds])
    (served,) = BertSession(network_file(pruned / "triton" / "qa_bert" / "1")).run([feeds])
    for result in (plain, served):
        assert ((result["start_logits"] == DROPPED).sum(axis=1) == batch.attention_mask.sum(axis=1) - 64).all()
    assert json.loads((pruned / "card.json").read_text())["kept_tokens"] == [64]


def test_heads_and_neurons_that_were_cut_before_training_are_not_served(pruned, engine):
    layers = load_spans(pruned).network.encoder.encoder.layer
    heads = [int(layer.attention.output.dense.weight.unflatten(1, (2, -1)).any(-1).any(0).sum()) for layer in layers]
    neurons = [int(layer.output.dense.weight.any(0).sum()) for layer in layers]
    assert sum(heads) < 4
    whole, narrow = (
        {value.name: list(value.dims) for value in onnx.load(network_file(folder)).graph.initializer}
        for folder in (each / "triton" / "qa_bert" / "1" for each in (engine, pruned))
    )
    for number in range(2):
        biases = (f"Attention_{number}_qkv_bias", f"encoder.encoder.layer.{number}.intermediate.dense.bias")
        assert [whole[name] for name in biases] == [[3 * 32], [64]]
        assert [narrow[name] for name in biases] == [[3 * 16 * heads[number]], [neurons[number]]]
    assert json.loads((pruned / "card.json").read_text())["recipe"]["cut"] == 0.3
    assert "cut" not in json.loads((engine / "card.json").read_text())["recipe"]


def test_the_guesses_learn_where_answers_are(tiny_base, tmp_path):
    data = gather([write_squad(tmp_path / "squad.json", 12, sentences=20)], test=None, validation=0.3)
    recipe = QaRecipe(batch_tokens=4000, wrong_paragraph=0.0, pruning=Pruning(guess_weight=1.0))
    torch.manual_seed(0)
    network = Base("tiny", tiny_base).span_network((64,))
    task = QaTask(network, data, DocumentTokenizer(tiny_base / "tokenizer.json"), recipe, Teachers([]))
    (batch,) = task.batches(0)
    answered = batch.start > 0
    with torch.no_grad():  # At first nothing looks less like an answer than the answers.
        hidden = network.encoder.embeddings(input_ids=batch.ids, token_type_ids=batch.types)
        network.guesses[0].weight.copy_(-hidden[torch.arange(len(hidden)), batch.start][answered].mean(0, keepdim=True))

    def rank() -> float:
        """Mean number of tokens that look more like an answer to the first layer than its beginning does."""
        with torch.no_grad():
            scores = network.read(batch.ids, batch.mask, batch.types, ()).guesses[0].scores
        own = scores.gather(1, batch.start.unsqueeze(1))
        return float((scores > own).sum(1)[answered].float().mean())

    before = rank()
    optimizer = torch.optim.Adam(network.parameters(), 1e-3)
    for _ in range(30):
        optimizer.zero_grad()
        task.loss(batch).backward()
        optimizer.step()
    assert before > 20
    assert rank() < before / 4


def test_training_may_go_on_without_dropping_tokens(pruned, tmp_path):
    write_squad(tmp_path / "squad.json")
    train(QaOptions(options(tmp_path, pruned)), Silent())
    assert not isinstance(load_spans(tmp_path / "engine").network, PrunedSpanNetwork)


def test_training_may_go_on_dropping_tokens_with_what_was_learned_of_them(pruned, engine):
    learned = load_spans(pruned).network.guess_weights()
    np.testing.assert_array_equal(find_base(pruned).span_network((80,)).guess_weights(), learned)
    begun = find_base(engine).span_network((80,))
    assert np.abs(begun.guess_weights()).max() > 0
    assert torch.equal(begun.span.weight, load_spans(engine).network.span.weight)


def test_what_was_trained_is_exported_with_the_tokens_that_it_was_trained_to_keep(pruned, tiny_base, tmp_path):
    engine = tmp_path / "engine"
    shutil.copytree(pruned / "training", engine / "training")
    write_squad(tmp_path / "squad.json", sentences=20)
    train(QaOptions(replace(options(tmp_path, tiny_base), export_only=True)), Silent())
    assert load_spans(engine).network.kept == (64,)
    assert json.loads((engine / "card.json").read_text())["kept_tokens"] == [64]


def test_what_was_trained_is_exported_as_it_is_whatever_base_is_given(pruned, other_base, tmp_path):
    training = shutil.copytree(pruned / "training", tmp_path / "engine" / "training")
    before = {path.name: path.read_bytes() for path in training.iterdir()}
    write_squad(tmp_path / "squad.json")
    again = QaOptions(replace(options(tmp_path, other_base), export_only=True))
    train(again, Silent())
    assert {path.name: path.read_bytes() for path in training.iterdir()} == before
    run, card = json.loads(before["run.json"]), json.loads((tmp_path / "engine" / "card.json").read_text())
    assert {name: card[name] for name in run} == run


def test_weights_of_which_nothing_more_is_known_are_exported_too(pruned, other_base, tmp_path, monkeypatch):
    training = tmp_path / "engine" / "training"
    shutil.copytree(pruned / "training", training, ignore=shutil.ignore_patterns("run.json", "tokenizer.json"))
    finish = Mock()
    monkeypatch.setattr(qa_engine, "finish", finish)
    write_squad(tmp_path / "squad.json")
    train(QaOptions(replace(options(tmp_path, other_base), export_only=True)), Silent())
    assert (training / "tokenizer.json").read_bytes() == (other_base / "tokenizer.json").read_bytes()
    assert finish.call_args.kwargs["card"]["kept_tokens"] == [64]
    assert finish.call_args.kwargs["card"]["base"].startswith("other ")
    assert load_spans(tmp_path / "engine").network.kept == (64,)


def test_the_mean_of_engines_is_exported_without_training(pruned, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(pruned / "training", other / "training")
    state = torch.load(other / "training" / "network.pt")
    torch.save({name: value * 1.5 for name, value in state.items()}, other / "training" / "network.pt")
    write_squad(tmp_path / "squad.json", sentences=20)
    given = replace(options(tmp_path, pruned, settings=(*QUICK, "kept_first=80", "kept_second=0")), export_only=True)
    train(QaOptions(replace(given, bases=(pruned, other)), prune_tokens=True), Silent())
    mean = load_spans(tmp_path / "engine").network
    assert mean.kept == (80,)
    for name, value in mean.state_dict().items():
        torch.testing.assert_close(value, state[name] * 1.25)
    card = json.loads((tmp_path / "engine" / "card.json").read_text())
    assert card["base"].startswith("mean of engines engine, other network.pt ")
    assert card == json.loads((tmp_path / "engine" / "training" / "run.json").read_text()) | {
        name: card[name] for name in ("task", "date", "scores")
    }


def test_nothing_is_exported_without_trained_weights(tiny_base, tmp_path):
    write_squad(tmp_path / "squad.json")
    given = replace(options(tmp_path, tiny_base), export_only=True)
    for bases in ((), (tiny_base,)):
        with pytest.raises(TrainingError, match=r"engine/training holds no network\.pt: train first, .* with --base"):
            train(QaOptions(replace(given, bases=bases)), Silent())
    assert not (tmp_path / "engine").exists()


def test_a_run_under_way_is_not_ended_by_an_export(engine, tmp_path):
    checkpoint = tmp_path / "engine" / "training" / "checkpoint.pt"
    checkpoint.parent.mkdir(parents=True)
    checkpoint.touch()
    write_squad(tmp_path / "squad.json")
    with pytest.raises(TrainingError, match="holds a run under way: let it end first, without --export-only"):
        train(QaOptions(replace(options(tmp_path, engine), export_only=True)), Silent())
    assert checkpoint.exists()


def test_a_base_that_cannot_tell_question_and_document_apart_is_refused(tiny_base, tmp_path):
    base = shutil.copytree(tiny_base, tmp_path / "base")
    config = json.loads((base / "config.json").read_text())
    (base / "config.json").write_text(json.dumps(config | {"type_vocab_size": 1}))
    write_squad(tmp_path / "squad.json")
    with pytest.raises(TrainingError, match=r"base has type_vocab_size 1, but .* by 2 token types: take another base"):
        train(QaOptions(options(tmp_path, base)), Silent())
    assert not (tmp_path / "engine").exists()


def test_too_few_questions_to_score_a_network_in_training_are_refused(tiny_base, tmp_path):
    write_squad(tmp_path / "squad.json")
    few = options(tmp_path, tiny_base, settings=(*QUICK, "validated=1"))
    with pytest.raises(TrainingError, match=r"validated=1 takes too few of the \d+ questions .*: set more"):
        train(QaOptions(few), Silent())


@dataclass
class Pressing(Silent):
    """Presses Ctrl-C in one of the steps."""

    at: int
    steps: int = 0

    def advance(self, progress: float, loss: float) -> None:
        self.steps += 1
        if self.steps == self.at:
            signal.raise_signal(signal.SIGINT)


def test_an_interrupted_run_goes_on_dropping_what_it_would_have_dropped(pruned, tiny_base, engine, tmp_path):
    write_squad(tmp_path / "squad.json", sentences=20)
    again = QaOptions(options(tmp_path, tiny_base, (engine,), PRUNED), prune_tokens=True)
    progress = Pressing(at=3)
    with pytest.raises(KeyboardInterrupt):
        train(again, progress)
    assert progress.steps == 3
    assert not (tmp_path / "engine" / "card.json").exists()
    train(again, Silent())
    whole, parts = (load_spans(folder).network.state_dict() for folder in (pruned, tmp_path / "engine"))
    for name, values in whole.items():
        torch.testing.assert_close(parts[name], values, msg=name)


def test_settings_of_pruning_without_pruning_are_refused(tiny_base, tmp_path):
    write_squad(tmp_path / "squad.json")
    with pytest.raises(TrainingError, match="add --prune-tokens, or leave them out"):
        train(QaOptions(options(tmp_path, tiny_base, settings=PRUNED)), Silent())


def test_more_layers_than_there_are_cannot_drop_tokens(tiny_base, tmp_path):
    write_squad(tmp_path / "squad.json")
    with pytest.raises(
        TrainingError, match="2 layers cannot drop tokens 4 times: set the last 2 of kept_first, kept_second, … to 0"
    ):
        train(QaOptions(options(tmp_path, tiny_base), prune_tokens=True), Silent())


def test_separation_is_the_best_of_all_thresholds():
    margins = np.array([0.1, 0.2, 0.3, 0.9])
    assert separation(margins, np.array([False, True, False, True])) == 0.75
    assert separation(margins, np.array([False, False, True, True])) == 1.0
    assert separation(margins, np.array([True, True, True, True])) == 1.0
