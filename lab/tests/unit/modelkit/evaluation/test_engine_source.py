from __future__ import annotations

import shutil

import pytest
import torch
from transformers import BertConfig

from modelkit.errors import EngineError
from modelkit.evaluation.engine_source import servable
from modelkit.evaluation.local import LocalEngines
from modelkit.networks import SpanNetwork, new_encoder
from modelkit.triton_models import MODEL_REPOSITORY


@pytest.fixture
def trained(tmp_path):
    """The folder of a finished training, and an untrained encoder of two thin layers to fill it with."""
    folder = tmp_path / "engine" / "training"
    folder.mkdir(parents=True)
    BertConfig(
        vocab_size=30_522, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64
    ).save_pretrained(folder)
    shutil.copy(MODEL_REPOSITORY / "qa_tokenize" / "1" / "tokenizer.json", folder)
    torch.manual_seed(1)
    return folder, new_encoder(folder)


async def test_a_network_for_answers_is_exported_for_the_time(trained):
    folder, encoder = trained
    torch.save(SpanNetwork(encoder).state_dict(), folder / "network.pt")
    with servable(folder.parent) as engine:
        assert (engine / "triton" / "qa_bert" / "1" / "model.onnx").exists()
        answer = await LocalEngines([engine], forced=True).answer("What is this?", "This is a text about a bridge.")
        assert answer in "This is a text about a bridge."
        assert answer
    assert not engine.exists()
    assert [path.name for path in folder.parent.iterdir()] == ["training"]


def test_a_network_for_intents_is_to_be_exported_with_its_slots(trained):
    folder, _ = trained
    (folder / "labels.json").touch()
    (folder / "network.pt").touch()
    with pytest.raises(EngineError, match="--export-only"), servable(folder.parent):
        pytest.fail("it was taken as it is")


def test_an_exported_engine_is_used_as_it_is(tmp_path):
    (tmp_path / "triton" / "qa").mkdir(parents=True)
    (tmp_path / "triton" / "qa" / "config.pbtxt").touch()
    with servable(tmp_path) as engine:
        assert engine == tmp_path


def test_what_is_neither_is_refused(tmp_path):
    with pytest.raises(EngineError, match="is no engine directory"), servable(tmp_path):
        pytest.fail("it was taken for one")
