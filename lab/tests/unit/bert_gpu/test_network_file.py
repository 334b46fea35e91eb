from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("transformers")

from transformers import BertConfig, BertModel  # noqa: E402 - only where PyTorch is

from engines.bert.gpu.network import NetworkShape, random_state, read_network, write_network  # noqa: E402
from engines.bert.gpu.precision import Precision  # noqa: E402
from engines.bert.gpu.session import GpuBertSession, GpuOptions  # noqa: E402
from modelkit.errors import EngineError  # noqa: E402
from modelkit.gpu import shape_of, write_gpu_network  # noqa: E402
from modelkit.networks import IntentSlotNetwork, SpanNetwork  # noqa: E402


def network(shape):
    config = BertConfig(
        vocab_size=shape.vocabulary,
        hidden_size=shape.width,
        num_hidden_layers=shape.layers,
        num_attention_heads=shape.heads,
        intermediate_size=shape.inner,
        max_position_embeddings=shape.positions,
        layer_norm_eps=shape.epsilon,
    )
    encoder = BertModel(config, add_pooling_layer=False)
    made = SpanNetwork(encoder) if shape.head == "span" else IntentSlotNetwork(encoder, shape.intents, shape.tags)
    made.load_state_dict(random_state(shape), strict=False)
    return made.eval(), config


def test_a_session_computes_what_the_trained_network_does(shape, requests, device):
    made, _ = network(shape)
    session = GpuBertSession(shape, made.state_dict(), GpuOptions(Precision.FLOAT32, 256, 8, device=str(device)))
    for request, result in zip(requests, session.run(requests), strict=True):
        with torch.inference_mode():
            expected = made(*(torch.from_numpy(request[name]) for name in session.inputs))
        for values, wanted in zip(result.values(), expected, strict=True):
            # A value or vector a token: what stands at padding counts for nothing.
            per_token = wanted.shape[:2] == request["attention_mask"].shape
            kept = request["attention_mask"] > 0 if per_token else ...
            np.testing.assert_allclose(values[kept], wanted.numpy()[kept], atol=1e-4)


def test_an_engine_directory_gets_a_network_that_reads_back(shape, tmp_path):
    made, config = network(shape)
    (tmp_path / "training").mkdir()
    torch.save(made.state_dict(), tmp_path / "training" / "network.pt")
    (tmp_path / "training" / "config.json").write_text(config.to_json_string())
    version = tmp_path / "triton" / {"span": "qa_bert", "intent_slot": "intent_slot_bert"}[shape.head] / "1"
    version.mkdir(parents=True)
    assert write_gpu_network(tmp_path) == version / "network.safetensors"
    assert [path.name for path in version.iterdir()] == ["network.safetensors"]
    found, state = read_network(version / "network.safetensors")
    wanted = shape if shape.head == "intent_slot" else dataclasses.replace(shape, intents=0, tags=0)
    assert found == wanted
    for name, values in state.items():
        np.testing.assert_allclose(values.float(), made.state_dict()[name], atol=2e-3)


def test_of_a_network_that_drops_tokens_the_guesses_are_left_out(tmp_path):
    (tmp_path / "training").mkdir()
    shape = NetworkShape(32, 2, 4, 64, 50, 64, reads_segments=True)
    made, config = network(shape)
    guess = {"guesses.0.weight": torch.ones(1, shape.width)}
    torch.save(made.state_dict() | guess, tmp_path / "training" / "network.pt")
    config.kept_tokens = [64]
    (tmp_path / "training" / "config.json").write_text(config.to_json_string())
    version = tmp_path / "triton" / "qa_bert" / "1"
    version.mkdir(parents=True)
    _, state = read_network(write_gpu_network(tmp_path))
    assert not [name for name in state if name.startswith("guesses")]


def test_what_a_gpu_does_not_compute_is_refused(tmp_path):
    with pytest.raises(EngineError, match=r"lacks network\.pt and config\.json: name an engine directory"):
        write_gpu_network(tmp_path)
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "network.pt").touch()
    (tmp_path / "training" / "config.json").write_text(json.dumps({"hidden_act": "relu"}))
    with pytest.raises(EngineError, match="holds no Triton model of a BERT"):
        write_gpu_network(tmp_path)
    (tmp_path / "triton" / "qa_bert" / "1").mkdir(parents=True)
    with pytest.raises(EngineError, match=r"asks for relu, and a GPU computes gelu"):
        write_gpu_network(tmp_path)


@pytest.mark.parametrize(
    ("config", "match"),
    [
        (b'{"hidden_size": ', r"config\.json, line 1: .*: get it again"),
        (b"[]", r"config\.json is no configuration of a network"),
        (b"\xff", r"config\.json, line 1: not UTF-8"),
    ],
)
def test_a_damaged_configuration_is_named(config, match, tmp_path):
    (tmp_path / "training").mkdir()
    (tmp_path / "training" / "network.pt").touch()
    (tmp_path / "training" / "config.json").write_bytes(config)
    (tmp_path / "triton" / "qa_bert" / "1").mkdir(parents=True)
    with pytest.raises(EngineError, match=match):
        write_gpu_network(tmp_path)


def test_a_damaged_file_is_named(tmp_path):
    path = tmp_path / "network.safetensors"
    path.write_bytes(b"no tensors")
    with pytest.raises(ValueError, match=r"network\.safetensors holds no network for a GPU .*make it with python -m"):
        read_network(path)


def test_a_network_that_lacks_a_tensor_is_not_written(shape, tmp_path):
    state = random_state(shape)
    state.popitem()
    with pytest.raises(ValueError, match=r"the network lacks .* of the shape"):
        write_network(tmp_path / "network.safetensors", shape, state)
    assert not list(tmp_path.iterdir())


def test_the_work_of_a_row_is_counted_as_papers_do():
    """BERT-large, 384 tokens: 302 million weights of products, two operations each a token, and attention."""
    shape = NetworkShape(1024, 24, 16, 4096)
    assert shape.flops(384) == pytest.approx(384 * 2 * (302e6 + 24 * 2 * 384 * 1024), rel=1e-3)
    assert shape_of({"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16,
                     "vocab_size": 10, "max_position_embeddings": 4, "type_vocab_size": 2, "layer_norm_eps": 1e-12},
                    {"span.weight": torch.zeros(2, 8)}) == NetworkShape(
                        8, 1, 2, 16, 10, 4, reads_segments=True)  # fmt: skip
