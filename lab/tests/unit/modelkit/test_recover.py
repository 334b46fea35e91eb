from __future__ import annotations

import copy
import shutil
from functools import partial

import numpy as np
import onnx
import pytest
import torch

from engines.bert.network_files import network_file
from engines.bert.session import BertSession
from engines.build.quantize import UNSCALED, quantize
from lab.tests.tiny_bert import shake, write_tiny_bert
from modelkit.compress import compress
from modelkit.errors import EngineError
from modelkit.export import QA_INPUTS, QA_OUTPUTS, export
from modelkit.networks import SpanNetwork, new_encoder
from modelkit.recover import recover
from modelkit.token_pruning import PrunedSpanNetwork, span_network
from modelkit.training.saved import load_spans
from modelkit.triton_models import QA_MODELS


def rows(vocabulary: int, count: int) -> list[dict[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    return [
        {
            "input_ids": rng.integers(5, vocabulary, (1, 12)),
            "attention_mask": np.ones((1, 12), np.int64),
            "token_type_ids": np.repeat([[0, 1]], 6, axis=1),
        }
        for _ in range(count)
    ]


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    """A small network, and the folder of Triton models that serve it in INT8."""
    folder = tmp_path_factory.mktemp("recover")
    base = write_tiny_bert(folder)
    network = SpanNetwork(new_encoder(base)).eval()
    shake(network, 0.05)
    with torch.no_grad():
        # One outstanding channel, as trained networks have them: its factor has to be found again.
        network.encoder.embeddings.LayerNorm.weight[3] = 20.0
    export(network, folder / "float.onnx", QA_INPUTS, QA_OUTPUTS)
    for name in QA_MODELS:
        (folder / "models" / name / "1").mkdir(parents=True)
    samples = rows(network.encoder.config.vocab_size, 20)
    quantize(folder / "float.onnx", folder / "models" / "qa_bert" / "1" / "model.onnx", samples)
    (base / "tokenizer.json").rename(folder / "models" / "qa_tokenize" / "1" / "tokenizer.json")
    return network, folder / "models"


def test_the_weights_come_back_but_for_their_rounding(served, tmp_path):
    network, models = served
    recover(models, QA_MODELS, tmp_path / "engine")
    again = load_spans(tmp_path / "engine").network.state_dict()
    for name, weights in network.state_dict().items():
        assert (again[name] - weights).norm() <= 0.06 * weights.norm(), name


def test_the_network_says_what_the_served_one_says(served, tmp_path):
    network, models = served
    recover(models, QA_MODELS, tmp_path / "engine")
    again = load_spans(tmp_path / "engine").network
    session = BertSession(network_file(models / "qa_bert" / "1"))
    for feeds in rows(network.encoder.config.vocab_size, 5):
        (coarse,) = session.run([feeds])
        with torch.no_grad():
            plain = again(*(torch.from_numpy(feeds[name]) for name in QA_INPUTS))
        for name, values in zip(QA_OUTPUTS, plain, strict=True):
            np.testing.assert_allclose(values.numpy(), coarse[name], atol=0.05 * np.abs(coarse[name]).max())


def test_a_network_of_another_kind_is_refused(served, tmp_path):
    _, models = served
    (models.parent / "other" / "qa_bert" / "1").mkdir(parents=True)
    with pytest.raises(EngineError, match="other lacks qa, qa_tokenize, qa_decode: name a folder"):
        recover(models.parent / "other", QA_MODELS, tmp_path / "engine")
    for name in QA_MODELS:
        (models.parent / "other" / name).mkdir(exist_ok=True)
    with pytest.raises(EngineError, match="must hold one"):
        recover(models.parent / "other", QA_MODELS, tmp_path / "engine")
    (models.parent / "float.onnx").rename(models.parent / "other" / "qa_bert" / "1" / "float.onnx")
    with pytest.raises(EngineError, match="is no BERT that"):
        recover(models.parent / "other", QA_MODELS, tmp_path / "engine")
    assert not (tmp_path / "engine").exists()


def test_a_network_with_names_of_another_library_is_refused(served, tmp_path):
    _, models = served
    shutil.copytree(models, tmp_path / "models")
    path = network_file(tmp_path / "models" / "qa_bert" / "1")
    model = onnx.load(path)
    for value in model.graph.initializer:
        value.name = value.name.replace("encoder.", "network.bert.", 1)
    for node in model.graph.node:
        node.input[:] = [name.replace("encoder.", "network.bert.", 1) for name in node.input]
    onnx.save(model, path)
    with pytest.raises(EngineError, match=r"model\.onnx is no BERT that"):
        recover(tmp_path / "models", QA_MODELS, tmp_path / "engine")
    assert not (tmp_path / "engine").exists()


def test_a_damaged_network_is_refused(tmp_path):
    for name in QA_MODELS:
        (tmp_path / "models" / name).mkdir(parents=True)
    version = tmp_path / "models" / "qa_bert" / "1"
    version.mkdir()
    (version / "model.onnx").write_bytes(b"no network")
    with pytest.raises(EngineError, match=r"model\.onnx is truncated or no ONNX file: get it again"):
        recover(tmp_path / "models", QA_MODELS, tmp_path / "engine")


def _cut(network: SpanNetwork) -> None:
    """Cuts the last head of the first layer, and the last neurons of both."""
    first, second = (layer.output.dense.weight for layer in network.encoder.encoder.layer)
    with torch.no_grad():
        network.encoder.encoder.layer[0].attention.output.dense.weight[:, 16:] = 0
        first[:, 40:], second[:, 48:] = 0, 0


@pytest.mark.parametrize("shrink", [quantize, partial(compress, scheme=UNSCALED)], ids=["scaled", "as shipped"])
def test_a_network_that_drops_tokens_comes_back_as_one(shrink, served, tmp_path):
    network, models = served
    base = tmp_path / "base"
    base.mkdir()
    config = copy.deepcopy(network.encoder.config)
    config.kept_tokens = [64]
    (base / "config.json").write_text(config.to_json_string())
    pruned = span_network(new_encoder(base)).eval()
    pruned.load_state_dict(network.state_dict(), strict=False)
    _cut(pruned)
    shutil.copytree(models, tmp_path / "models")
    export(pruned, tmp_path / "float.onnx", QA_INPUTS, QA_OUTPUTS)
    target = network_file(tmp_path / "models" / "qa_bert" / "1")
    shrink(tmp_path / "float.onnx", target, rows(config.vocab_size, 20))
    recover(tmp_path / "models", QA_MODELS, tmp_path / "engine")
    again = load_spans(tmp_path / "engine").network
    assert isinstance(again, PrunedSpanNetwork)
    assert again.kept == (64,)
    np.testing.assert_array_equal(again.guess_weights(), pruned.guess_weights())
    restored = again.state_dict()
    for name, weights in pruned.state_dict().items():
        # What was cut is not served: it comes back as zeros, as many as the widest layer has.
        found = torch.zeros_like(weights)
        found[tuple(map(slice, restored[name].shape))] = restored[name]
        assert (found - _served(name, weights)).norm() <= 0.06 * weights.norm(), name


def _served(name: str, weights: torch.Tensor) -> torch.Tensor:
    """What is served of parameters of a network that :func:`_cut` cut: without those of idle units."""
    left = weights.clone()
    for layer, neurons in ((0, 40), (1, 48)):
        if f"layer.{layer}.intermediate" in name:
            left[neurons:] = 0
    if "layer.0.attention.self" in name:
        left[16:] = 0
    return left
