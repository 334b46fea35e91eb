"""Networks that drop tokens on the way, in PyTorch and in the graphs that are served."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
import torch
from transformers import BertConfig, BertModel

from engines.bert.session import BertSession
from engines.build.quantize import UNSCALED
from lab.tests.tiny_bert import shake
from modelkit.compress import compress
from modelkit.errors import TrainingError
from modelkit.export import QA_INPUTS, QA_OUTPUTS, export
from modelkit.networks import SpanNetwork
from modelkit.pruned_graph import prune_tokens
from modelkit.token_pruning import (
    DROPPED,
    PROTECTED,
    PrunedSpanNetwork,
    draw_kept,
    read_all,
    span_network,
)

KEPT = (96, 72)


def encoder(kept: tuple[int, ...] = KEPT, layers: int = 3) -> BertModel:
    config = BertConfig(
        vocab_size=200,
        hidden_size=32,
        num_hidden_layers=layers,
        num_attention_heads=4,
        intermediate_size=64,
        max_position_embeddings=256,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        attn_implementation="eager",
    )
    config.kept_tokens = list(kept)
    return BertModel(config, add_pooling_layer=False)


@pytest.fixture
def network() -> PrunedSpanNetwork:
    torch.manual_seed(1)
    made = PrunedSpanNetwork(encoder()).eval()
    shake(made, 0.1)
    return made


def rows(*lengths: int, width: int | None = None, question: int = 9) -> tuple[torch.Tensor, ...]:
    """Rows of random tokens, the first nine of them a question's, padded to the longest or to ``width``."""
    generator = torch.Generator().manual_seed(sum(lengths))
    ids = torch.zeros((len(lengths), width or max(lengths)), dtype=torch.int64)
    mask, types = torch.zeros_like(ids), torch.zeros_like(ids)
    for row, length in enumerate(lengths):
        ids[row, :length] = torch.randint(5, 200, (length,), generator=generator)
        mask[row, :length] = 1
        types[row, question:length] = 1
    return ids, mask, types


def run(network: SpanNetwork, inputs: tuple[torch.Tensor, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    with torch.no_grad():
        return network(*inputs)


def test_short_rows_are_read_to_the_end(network):
    inputs = rows(min(KEPT))
    for pruned, whole in zip(run(network, inputs), run(network.unpruned(), inputs), strict=True):
        torch.testing.assert_close(pruned, whole, atol=1e-5, rtol=0)


def test_of_long_rows_the_tokens_with_the_best_guesses_are_left(network):
    inputs = rows(150)
    with torch.no_grad():
        reading = network.read(*inputs, KEPT)
    first, second = reading.guesses
    assert first.scores.shape == (1, 150)
    assert second.scores.shape == (1, KEPT[0])
    best = first.scores[0].clone()
    best[:9] = 1e4
    assert set(second.places[0].tolist()) == set(best.topk(KEPT[0]).indices.tolist())
    assert set(reading.places[0].tolist()) < set(second.places[0].tolist())
    start, end = run(network, inputs)
    dropped = torch.ones(150, dtype=torch.bool)
    dropped[reading.places[0]] = False
    assert int(dropped.sum()) == 150 - KEPT[1]
    assert bool((start[0, dropped] == DROPPED).all())
    assert bool((end[0, ~dropped] > DROPPED / 2).all())


def test_the_question_is_kept_and_of_a_long_one_its_beginning(network):
    for question, protected in ((20, 20), (90, PROTECTED)):
        inputs = rows(200, question=question)
        with torch.no_grad():
            network.guesses[0].weight.copy_(-_mean_state(network, inputs, question))
            kept = network.read(*inputs, KEPT).places[0].tolist()
        assert set(range(protected)) <= set(kept)
        assert len(kept) == KEPT[1]


def _mean_state(network: PrunedSpanNetwork, inputs: tuple[torch.Tensor, ...], question: int) -> torch.Tensor:
    """What the first attention says of the question: by the negative of it nothing is less likely an answer."""
    seen: list[torch.Tensor] = []
    listening = network.encoder.encoder.layer[0].attention.output.register_forward_hook(
        lambda _module, _inputs, output: seen.append(output)
    )
    network.unpruned()(*inputs)
    listening.remove()
    return seen[0][0, :question].mean(0, keepdim=True)


def test_a_row_does_not_hang_on_its_batch(network):
    inputs = rows(150, 60, 100, width=220)
    together = run(network, inputs)
    for row, length in enumerate((150, 60, 100)):
        alone = run(network, tuple(part[row : row + 1, :length] for part in inputs))
        for one, all_ in zip(alone, together, strict=True):
            torch.testing.assert_close(one[0], all_[row, :length], atol=1e-4, rtol=0)


def test_graphs_drop_what_the_network_drops(network, tmp_path):
    export(network, tmp_path / "float.onnx", QA_INPUTS, QA_OUTPUTS)
    session = BertSession(tmp_path / "float.onnx", threads=1)
    for lengths in ((40,), (150,), (200, 60, 199, 70), (80, 81)):
        inputs = rows(*lengths)
        (result,) = session.run([dict(zip(QA_INPUTS, (part.numpy() for part in inputs), strict=True))])
        for name, wanted in zip(QA_OUTPUTS, run(network, inputs), strict=True):
            seen = inputs[1].bool().numpy()
            np.testing.assert_allclose(result[name][seen], wanted.numpy()[seen], atol=1e-3)
            assert (result[name][seen] == DROPPED).sum() == sum(max(0, length - KEPT[1]) for length in lengths)


def test_tokens_may_be_dropped_in_every_layer(tmp_path):
    torch.manual_seed(3)
    every = PrunedSpanNetwork(encoder((96, 72, 48))).eval()
    export(every, tmp_path / "float.onnx", QA_INPUTS, QA_OUTPUTS)
    inputs = rows(150, 60)
    feeds = dict(zip(QA_INPUTS, (part.numpy() for part in inputs), strict=True))
    (result,) = BertSession(tmp_path / "float.onnx", threads=1).run([feeds])
    seen = inputs[1].bool().numpy()
    for name, wanted in zip(QA_OUTPUTS, run(every, inputs), strict=True):
        np.testing.assert_allclose(result[name][seen], wanted.numpy()[seen], atol=1e-3)
        assert (result[name][seen] == DROPPED).sum() == 150 - 48 + 60 - 48


def test_a_graph_whose_normalizations_were_not_all_fused_is_refused(network, tmp_path):
    export(network, tmp_path / "float.onnx", QA_INPUTS, QA_OUTPUTS)
    model = onnx.load(tmp_path / "float.onnx")
    next(node for node in model.graph.node if node.op_type == "SkipLayerNormalization").op_type = "LayerNormalization"
    with pytest.raises(RuntimeError, match="only 5 of 6 normalizations were fused"):
        prune_tokens(model, KEPT, network.guess_weights(), tuple(QA_OUTPUTS))


@pytest.fixture
def emphatic(network) -> PrunedSpanNetwork:
    """A network in which it matters where tokens look and what is added to products."""
    with torch.no_grad():
        for name, parameter in network.named_parameters():
            if ".query." in name or ".key." in name:
                parameter.mul_(4)
            elif name.endswith("bias") and "LayerNorm" not in name:
                parameter.mul_(5)
    return network


@pytest.mark.parametrize("scheme", [None, UNSCALED], ids=["scaled", "as shipped"])
def test_in_8_bits_a_row_does_not_hang_on_its_batch_either(scheme, emphatic, tmp_path):
    export(emphatic, tmp_path / "float.onnx", QA_INPUTS, QA_OUTPUTS)
    lengths = (150, 144, 139, 90, 84)  # The last two are padded in one batch, and by less than goes on at first.
    feeds = [dict(zip(QA_INPUTS, (part.numpy() for part in rows(length)), strict=True)) for length in lengths]
    compress(tmp_path / "float.onnx", tmp_path / "int8.onnx", feeds, scheme)
    session = BertSession(tmp_path / "int8.onnx", threads=1)
    for length, feed, together in zip(lengths, feeds, session.run(feeds), strict=True):
        (alone,) = session.run([feed])
        for name, exact in zip(QA_OUTPUTS, run(emphatic, rows(length)), strict=True):
            np.testing.assert_array_equal(alone[name], together[name])
            assert_about(together[name], exact.numpy())


def assert_about(rounded: np.ndarray, exact: np.ndarray) -> None:
    """Checks logits but for those of a few tokens that only one of both networks dropped."""
    both = (rounded != DROPPED) & (exact != DROPPED)
    assert both.sum() >= KEPT[1] - 3
    np.testing.assert_allclose(rounded[both], exact[both], rtol=0, atol=0.08 * np.abs(exact[both]).max())


def test_a_network_that_drops_nothing_reads_like_any_other():
    config = encoder()
    config.config.kept_tokens = []
    plain = span_network(config)
    assert type(plain) is SpanNetwork
    assert plain.unpruned() is plain
    inputs = rows(30, 20)
    with torch.no_grad():
        reading = read_all(plain, *inputs)
    assert reading.places.tolist() == [list(range(30))] * 2
    assert reading.guesses == ()


def test_numbers_of_tokens_are_drawn_around_those_of_the_network():
    torch.manual_seed(0)
    drawn = [draw_kept((160, 150, 48)) for _ in range(800)]
    assert 20 < drawn.count(()) < 90
    some = np.array([kept for kept in drawn if kept])
    assert (np.diff(some, axis=1) <= 0).all()
    assert some.min(0).tolist() == [140, 131, 42]
    assert some.max(0)[[0, 2]].tolist() == [180, 54]


@pytest.mark.parametrize(
    ("kept", "reason"),
    [
        ((160, 96, 64, 48), "3 layers cannot drop tokens 4 times: set the last 1 of kept_first, kept_second"),
        ((96, 160), "96, 160 tokens cannot go on: keep 40 or more, never more again"),
        ((96, 39), "96, 39 tokens cannot go on"),
    ],
)
def test_what_cannot_be_pruned_is_refused(kept, reason):
    with pytest.raises(TrainingError, match=reason):
        PrunedSpanNetwork(encoder(kept))
