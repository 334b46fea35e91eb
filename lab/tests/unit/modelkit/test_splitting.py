"""Networks cut into stages: where, how evenly, and what they compute; and what is not cut."""

from __future__ import annotations

import asyncio
import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import onnx
import pytest
import soundfile as sf

from engines.asr.fastconformer.loading import load_recognizer as load_fastconformer
from engines.asr.fastconformer.staged import StagedLayers
from engines.asr.moonshine.loading import FOLDER
from engines.asr.moonshine.model import MoonshineRecognizer
from engines.asr.moonshine.networks import OnnxNetworks
from engines.asr.recognizers import read_card
from engines.asr.serving.utterance import Utterance
from engines.asr.stage_loading import load_stage
from engines.asr.stages import Stage, StagedNetwork
from engines.bert.gpu.network import read_network, write_network
from engines.bert.network_files import network_file
from engines.bert.session import BertSession
from engines.gpu.device import NETWORK
from engines.session import HIDDEN, NEXT_HIDDEN
from lab.tests.unit.modelkit.importing.asr_checkpoints import NEMO
from lab.tests.unit.modelkit.importing.checkpoints import (
    ANSWERS,
    INTENTS,
    SEQUENCES,
    SLOTS,
    TOKENS,
    hugging_face,
)
from modelkit.errors import EngineError, ModelkitError, SplitError
from modelkit.evaluation.local import LocalEngines
from modelkit.gpu import shape_of
from modelkit.importing.asr.engine import AsrOptions, import_asr
from modelkit.importing.checkpoint import read_checkpoint
from modelkit.importing.engine import write_engine
from modelkit.splitting import graph
from modelkit.splitting.engine import split_engine
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, PUNCTUATION_MODELS, QA_MODELS
from vivavoce import cli

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

LENGTHS = (19, 3, 8, 19, 30)
"""Tokens of the rows: some are padded, and they are computed in several groups."""


def shipped(folder: Path, models: tuple[str, ...]) -> Path:
    for model in models:
        shutil.copytree(MODEL_REPOSITORY / model, folder / "triton" / model, ignore=shutil.ignore_patterns("__py*"))
    return folder


def imported(folder: Path, *sources: Path) -> Path:
    scratch = folder / "scratch"
    scratch.mkdir()
    write_engine(read_checkpoint(list(sources), scratch), folder / "engine")
    return folder / "engine"


def answers(folder: Path, kind: str) -> Path:
    hugging_face(folder / "network", kind, ANSWERS)
    return imported(folder, folder / "network")


def for_a_gpu(folder: Path) -> Path:
    """An engine for answers that has its network in the form for a GPU too."""
    network = hugging_face(folder / "network", "bert", ANSWERS)
    engine = imported(folder, folder / "network")
    names = (("bert.", "encoder."), ("qa_outputs.", "span."))
    state = {
        name.replace(old, new, 1): tensor
        for name, tensor in network.state_dict().items()
        for old, new in names
        if name.startswith(old)
    }
    write_network(engine / "triton/qa_bert/1" / NETWORK, shape_of(network.config.to_dict(), state), state)
    return engine


def two_encoders(folder: Path) -> Path:
    hugging_face(folder / "intents", "bert", SEQUENCES, INTENTS)
    hugging_face(folder / "slots", "bert", TOKENS, SLOTS)
    return imported(folder, folder / "intents", folder / "slots")


def whisper(folder: Path) -> Path:
    shipped(folder, ("asr",))
    (folder / "triton/asr/1/recognizer.json").write_text('{"kind": "whisper"}')
    return folder


def streaming(folder: Path) -> Path:
    import_asr(NEMO / "hybrid_streaming.nemo", folder / "engine", AsrOptions(560))
    return folder / "engine"


def stage_folders(engine: Path) -> list[Path]:
    return sorted(engine.glob("triton/*_stage_*/1"))


def batch() -> dict[str, np.ndarray]:
    mask = (np.arange(max(LENGTHS)) < np.array(LENGTHS)[:, None]).astype(np.int64)
    ids = np.random.default_rng(3).integers(0, 30, mask.shape) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(mask)}


@pytest.mark.parametrize(
    ("make", "layers"),
    [
        (lambda folder: answers(folder, "bert"), [[1, 1], [2, 2]]),
        (lambda folder: answers(folder, "distilbert"), [[1, 1], [2, 2]]),
        (lambda folder: answers(folder, "roberta"), [[1, 1], [2, 2]]),
        (lambda folder: answers(folder, "electra"), [[1, 1], [2, 2]]),
        # One after the other: the second encoder reads the texts.
        (two_encoders, [[1, 2], [3, 4]]),
        # 8 bits, and half of the weights are those of the embeddings: the first stage has few layers.
        (lambda folder: shipped(folder, NLU_MODELS), [[1, 1], [2, 4], [5, 6]]),
        (lambda folder: shipped(folder, NLU_MODELS), [[layer, layer] for layer in range(1, 7)]),
        # Behind its first layer tokens are pruned.
        (lambda folder: shipped(folder, QA_MODELS), [[1, 1], [2, 6]]),
    ],
    ids=["bert", "distilbert", "roberta", "electra", "two encoders", "three stages", "six stages", "pruned tokens"],
)
def test_stages_compute_what_the_whole_does_bit_for_bit(
    make, layers: list[list[int]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    # Weights lie beside large networks.
    monkeypatch.setattr(graph, "_MAX_SINGLE_FILE_BYTES", 1_000_000)
    engine, out = make(tmp_path), tmp_path / "out"
    split_engine(engine, len(layers), out)
    (whole,) = engine.glob("triton/*_bert/1")
    given = batch()
    (expected,) = BertSession(network_file(whole)).run([given])
    folders = stage_folders(out)
    assert [json.loads((folder / "card.json").read_text())["layers"] for folder in folders] == layers
    for folder in folders:
        (results,) = BertSession(network_file(folder)).run([given])
        given[HIDDEN] = results.get(NEXT_HIDDEN)
    assert set(results) == set(expected)
    for name, values in expected.items():
        np.testing.assert_array_equal(results[name], values)


@pytest.mark.parametrize(
    ("make", "stages", "says"),
    [
        (
            lambda folder: shipped(folder, NLU_MODELS),
            7,
            r"6 layers .* after layers 1 to 5: choose --stages from 2 to 6",
        ),
        (lambda folder: shipped(folder, QA_MODELS), 3, r"after layer 1 \(the others hand on .*: choose --stages 2"),
        (two_encoders, 4, r"4 layers .* \(the others hand on more than one tensor\): choose --stages from 2 to 3"),
        (lambda folder: shipped(folder, ("asr",)), 7, r"6 layers .* after layers 1 to 5: choose --stages from 2 to 6"),
        (whisper, 2, r"is of the kind whisper, whose library computes .* shows no graph: split another recognizer"),
        (lambda folder: shipped(folder, PUNCTUATION_MODELS), 2, "holds punctuation, and is not cut: split an engine"),
        (lambda folder: folder, 2, "is no engine directory"),
    ],
    ids=["too many", "pruned tokens", "two encoders", "too many of an encoder", "whisper", "another engine", "none"],
)
def test_what_cannot_be_cut_is_refused_with_the_reason(make, stages: int, says: str, tmp_path: Path):
    engine = make(tmp_path)
    with pytest.raises(ModelkitError, match=says):
        split_engine(engine, stages, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def staged(models: Path) -> StagedNetwork:
    """The encoder of an engine in stages, which are computed in this process."""
    card = read_card(models / "asr/1")
    names = [folder.parent.name for folder in stage_folders(models.parent)]
    loaded = {name: load_stage(models / name / "1", {}, 1) for name in names}
    stages = [
        Stage(name, tuple(one["inputs"]), tuple(one["outputs"]))
        for name, one in zip(names, card["stages"], strict=True)
    ]

    def ask(model: str, inputs: dict[str, np.ndarray], outputs: Sequence[str]) -> dict[str, np.ndarray]:
        return dict(zip(outputs, loaded[model](inputs), strict=True))

    return StagedNetwork(stages, card["outputs"], ask)


def said(audio: np.ndarray, samples: int) -> Utterance:
    utterance = Utterance()
    utterance.append(audio[:samples])
    return utterance


@pytest.mark.parametrize("stages", [2, 3, 6])
def test_an_encoder_in_stages_encodes_what_the_whole_does(stages: int, tmp_path: Path):
    split_engine(shipped(tmp_path, ("asr",)), stages, tmp_path / "out")
    models = tmp_path / "out/triton"
    assert not list(models.glob("asr/1/*/encoder.onnx"))
    assert f'"{",".join(f"asr_stage_{number}" for number in range(1, stages + 1))}"' in config_of(models / "asr")
    folder = tmp_path / "triton/asr/1" / FOLDER
    whole = MoonshineRecognizer(folder)
    parts = MoonshineRecognizer(folder, networks=OnnxNetworks(folder, 1, drafting=False, encoder=staged(models)))
    audio = sf.read(NEMO.parents[3] / "demo/recordings/weather.flac", dtype="float32")[0]
    lengths = (len(audio), 20_000, 35_000, 900)
    found, expected = ([one.transcribe([said(audio, n) for n in lengths])] for one in (parts, whole))
    assert found == expected
    assert found[0][0]


def test_caches_of_streams_lie_in_the_stages_of_their_layers(tmp_path: Path):
    engine = streaming(tmp_path)
    split_engine(engine, 3, tmp_path / "out")
    folders = stage_folders(tmp_path / "out")
    assert [read_card(folder)["layers"] for folder in folders] == [[0], [1], [2, 3]]
    reads = [{value.name for value in onnx.load(folder / "stage.onnx").graph.input} for folder in folders]
    assert [{name for name in names if name.startswith("keys_")} for names in reads] == [
        {"keys_0"},
        {"keys_1"},
        {"keys_2", "keys_3"},
    ]
    assert all("keys_" not in config_of(folder.parent) for folder in folders)
    folder, audio = (
        engine / "triton/asr/1",
        sf.read(NEMO.parents[3] / "demo/recordings/weather.flac", dtype="float32")[0],
    )
    layers = StagedLayers(staged(tmp_path / "out/triton"))
    card = read_card(folder)
    streams = [[Utterance(), Utterance()] for _ in range(2)]
    recognizers = load_fastconformer(folder, card, 1), load_fastconformer(folder, card, 1, layers)
    for number, begin in enumerate(range(0, len(audio), 9_000)):
        for utterances in streams:
            for utterance, late in zip(utterances, (0, 13_000), strict=True):
                utterance.append(audio[max(0, begin - late) : max(0, begin + 9_000 - late)])
        texts = [
            one.transcribe(utterances, thorough=number % 2 == 0)
            for one, utterances in zip(recognizers, streams, strict=True)
        ]
        assert texts[0] == texts[1]
    assert texts[0][0]


def config_of(model: Path) -> str:
    return (model / "config.pbtxt").read_text()


def test_a_network_for_a_gpu_is_cut_at_the_same_layers_and_its_stages_are_placed(tmp_path: Path):
    engine = for_a_gpu(tmp_path)
    split_engine(engine, 2, tmp_path / "out", "gpu:1, cpu")
    first, second = stage_folders(tmp_path / "out")
    shapes = [read_network(folder / NETWORK)[0] for folder in (first, second)]
    assert [(shape.embeds, shape.numbers, shape.ends) for shape in shapes] == [
        (True, range(1), False),
        (False, range(1, 2), True),
    ]
    assert [json.loads((folder / "card.json").read_text()).get("gpu") for folder in (first, second)] == [1, None]
    placed, on_cores = (config_of(folder.parent) for folder in (first, second))
    assert "kind: KIND_GPU" in placed
    assert "gpus: 1" in placed
    assert "FORCE_CPU_ONLY_INPUT_TENSORS" in placed
    assert "kind: KIND_CPU" in on_cores
    assert "FORCE_CPU_ONLY_INPUT_TENSORS" not in on_cores


@pytest.mark.parametrize(
    ("group", "says"),
    [
        ("gpu:0", "has no network.safetensors, which a GPU needs: make it with python -m modelkit.gpu, or name cpu"),
        ("gpu", "--instance-group is 'gpu': name cpu or gpu:NUMBER for each stage, such as gpu:0,gpu:1"),
        ("cpu,cpu,cpu", "--instance-group names 3 places for 2 stages: name one for each, or one"),
    ],
)
def test_places_that_no_stage_can_have_are_refused(group: str, says: str, tmp_path: Path):
    with pytest.raises(ModelkitError, match=says):
        split_engine(shipped(tmp_path, NLU_MODELS), 2, tmp_path / "out", group)
    assert not (tmp_path / "out").exists()


def test_another_network_for_a_gpu_is_not_cut_with_the_one_beside_it(tmp_path: Path):
    engine = for_a_gpu(tmp_path)
    path = engine / "triton/qa_bert/1" / NETWORK
    shape, state = read_network(path)
    write_network(path, replace(shape, layers=1), state)
    with pytest.raises(SplitError, match=r"has 1 layers, and the .onnx file beside it 2: make it with"):
        split_engine(engine, 2, tmp_path / "out")


def test_a_network_that_is_damaged_is_named(tmp_path: Path):
    engine = shipped(tmp_path / "engine", NLU_MODELS)
    network = network_file(engine / "triton/intent_slot_bert/1")
    network.write_bytes(network.read_bytes()[:-1000])
    with pytest.raises(SplitError, match=r"model\.int8\.onnx cannot be read as ONNX"):
        split_engine(engine, 2, tmp_path / "out")


def test_the_command_tells_the_stages_and_splits_no_pipeline_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    engine, out = shipped(tmp_path / "engine", NLU_MODELS), tmp_path / "out"
    assert cli.run(["split", str(engine), "--stages", "2", "--out", str(out), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert [stage["layers"] for stage in told["stages"]] == [[1, 2], [3, 6]]
    assert json.loads((out / "card.json").read_text())["stages"][1]["layers"] == [3, 6]
    with pytest.raises(EngineError, match="is a pipeline already"):
        split_engine(out, 2, tmp_path / "again")
    with pytest.raises(EngineError, match="already holds an engine"):
        split_engine(engine, 2, out)
    with pytest.raises(EngineError, match=r"out is a pipeline of stages, .* leave out --local"):
        asyncio.run(LocalEngines([out]).understand("stop"))
