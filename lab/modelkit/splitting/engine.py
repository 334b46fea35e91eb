"""Engine directories whose network is a pipeline of stages."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import numpy as np
import onnxruntime as ort
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from engines.bert.network_files import network_file
from engines.bert.session import HIDDEN, INPUTS, MASK, NEXT_HIDDEN, BertSession
from engines.build.files import whole_directory, write_whole
from modelkit.errors import EngineError, SplitError
from modelkit.splitting.cuts import Stage, choose_stages, layer_ends
from modelkit.splitting.graph import NetworkGraph, save
from modelkit.triton_models import NLU_MODELS, QA_MODELS, VERSION, check_target, served_models

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    import numpy.typing as npt

CARD = "card.json"
COMPUTE_MS, EARLIER_MS = "COMPUTE_MS", "EARLIER_MS"
"""Milliseconds of a stage and those before it, and of those before it alone."""
_FLOAT32 = model_config_pb2.TYPE_FP32
_ENSEMBLES = {names[0]: names[2] for names in (NLU_MODELS, QA_MODELS)}
"""The networks that are cut, by their ensemble."""
_LENGTHS = (24, 7, 24, 16)
"""Tokens of the rows on which the pipeline is compared with the whole: some are padded, some of another group."""
_KNOWN_TOKENS = 30
"""Token ids of those rows are below this, as every vocabulary has so many."""
_SEED = 7


def split_engine(engine: Path, stages: int, out: Path) -> list[Stage]:
    """Make an engine directory that computes what ``engine`` does, in a pipeline of stages.

    Args:
        engine: an engine directory for intents or answers.
        stages: number of them.
        out: engine directory to write.

    Raises:
        EngineError: ``engine`` is none that can be split, or none can be written at ``out``.
        SplitError: the network cannot be cut so often, or the stages do not compute the same.
    """
    check_target(out)
    ensemble, network = _what_to_split(engine)
    folder = engine / "triton" / network / VERSION
    try:
        path = network_file(folder)
    except ValueError as error:
        raise EngineError(str(error)) from None
    graph = NetworkGraph(path)
    ends, layers = layer_ends(graph)
    widths = _widths(graph, list(ends.values()))
    chosen = choose_stages(graph, {layer: end for layer, end in ends.items() if end in widths}, layers, stages)
    with whole_directory(out / "triton") as target:
        for model in served_models(engine):
            if model.name not in {ensemble, network}:
                shutil.copytree(model, target / model.name, ignore=shutil.ignore_patterns("__pycache__"))
        names = [f"{network}_stage_{number}" for number in range(1, stages + 1)]
        cards = [
            {"stage": number, "layers": [stage.first, stage.last], "weight_bytes": stage.weight_bytes}
            for number, stage in enumerate(chosen, 1)
        ]
        for name, stage, card in zip(names, chosen, cards, strict=True):
            version = target / name / VERSION
            version.mkdir(parents=True)
            width = widths[stage.target or stage.source]
            part = graph.stage(stage.source, stage.target, width)
            save(part, version / "stage.onnx")
            shutil.copy(folder / "model.py", version)
            (version / CARD).write_text(json.dumps(card, indent=1) + "\n", encoding="utf-8")
            config = _stage_config(_config(engine / "triton" / network), name, {v.name for v in part.graph.input})
            if stage.target:
                _hand_on(config, width)
            if stage.source:
                _take_over(config, width)
            (target / name / "config.pbtxt").write_text(_text(config), encoding="utf-8")
        (target / ensemble / VERSION).mkdir(parents=True)
        (target / ensemble / VERSION / ".gitkeep").touch()
        (target / ensemble / "config.pbtxt").write_text(
            _ensemble_config(engine / "triton", ensemble, network, names, target), encoding="utf-8"
        )
        _check_equal(path, [target / name / VERSION for name in names])
    if (smoke := engine / "smoke.jsonl").exists():
        shutil.copy(smoke, out)
    write_whole(out / CARD, json.dumps({**_card(engine), "stages": cards}, indent=1, ensure_ascii=False) + "\n")
    return chosen


def _what_to_split(engine: Path) -> tuple[str, str]:
    """Name the ensemble and its network."""
    held = {model.name for model in served_models(engine)}
    for ensemble, network in _ENSEMBLES.items():
        if ensemble in held and f"{network}_stage_1" in held:
            raise EngineError(f"{engine} is a pipeline already: split the engine that it was made of")
        if {ensemble, network} <= held:
            return ensemble, network
    raise EngineError(
        f"{engine} holds {', '.join(sorted(held))}, and is not cut: split an engine for intents or answers, "
        "as `vivavoce train` and `vivavoce import bert` write them"
    )


def _widths(graph: NetworkGraph, names: Sequence[str]) -> dict[str, int]:
    """Compute tensors once, and return the width of those that are a float32 vector for every token."""
    if not names:
        return {}
    batch = _batch([value.name for value in graph.model.graph.input])
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    with TemporaryDirectory() as scratch:
        save(graph.with_outputs(names), path := Path(scratch, "tapped.onnx"))
        session = ort.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
    values = session.run(list(names), dict(batch))
    rows = batch[MASK].shape
    return {
        name: value.shape[2]
        for name, value in zip(names, values, strict=True)
        if value.dtype == np.float32 and value.ndim == 3 and value.shape[:2] == rows
    }


def _batch(inputs: Sequence[str]) -> dict[str, npt.NDArray[np.int64]]:
    mask = (np.arange(max(_LENGTHS)) < np.array(_LENGTHS)[:, None]).astype(np.int64)
    ids = np.random.default_rng(_SEED).integers(0, _KNOWN_TOKENS, mask.shape) * mask
    segments = (np.arange(mask.shape[1]) >= mask.shape[1] // 3).astype(np.int64) * mask
    return {name: values for name, values in zip(INPUTS, (ids, mask, segments), strict=True) if name in inputs}


def _check_equal(whole: Path, versions: Sequence[Path]) -> None:
    """Raise SplitError unless the stages compute what the whole does, bit for bit.

    Networks are loaded one after another: together they may need more memory than there is.
    """
    batch = _batch(INPUTS)
    (expected,) = BertSession(whole).run([batch])
    given: dict[str, npt.NDArray[np.generic]] = dict(batch)
    for version in versions:
        (results,) = BertSession(network_file(version)).run([given])
        given[HIDDEN] = results.get(NEXT_HIDDEN, given.get(HIDDEN, batch[MASK]))
    different = [name for name, values in expected.items() if not np.array_equal(values, results[name])]
    if different:
        raise SplitError(
            f"the stages compute another {' and '.join(different)} than {whole}: report this network, or serve it whole"
        )


def _stage_config(
    whole: model_config_pb2.ModelConfig, name: str, reads: Collection[str]
) -> model_config_pb2.ModelConfig:
    """Make the configuration of a stage after that of its network, with what it reads of the network's inputs."""
    config = model_config_pb2.ModelConfig()
    config.CopyFrom(whole)
    config.name = name
    # Requests that were joined here would leave the next stage without work meanwhile.
    config.ClearField("dynamic_batching")
    config.parameters["threads"].string_value = "1"
    del config.input[:]
    config.input.extend(tensor for tensor in whole.input if tensor.name.lower() in reads)
    return config


def _take_over(config: model_config_pb2.ModelConfig, width: int) -> None:
    """Let a stage read what the one before hands on."""
    config.input.add(name=HIDDEN.upper(), data_type=_FLOAT32, dims=[-1, width], allow_ragged_batch=True)
    config.input.add(name=EARLIER_MS, data_type=_FLOAT32, dims=[1])


def _hand_on(config: model_config_pb2.ModelConfig, width: int) -> None:
    """Let a stage give its hidden state in place of the network's results."""
    took = [tensor for tensor in config.output if tensor.name == COMPUTE_MS]
    del config.output[:]
    config.output.add(name=NEXT_HIDDEN.upper(), data_type=_FLOAT32, dims=[-1, width])
    config.output.extend(took)


def _ensemble_config(models: Path, ensemble: str, network: str, names: Sequence[str], target: Path) -> str:
    """Write the ensemble's ``config.pbtxt``, with the stages in place of the network."""
    config = _config(models / ensemble)
    steps = list(config.ensemble_scheduling.step)
    del config.ensemble_scheduling.step[:]
    for step in steps:
        if step.model_name != network:
            config.ensemble_scheduling.step.append(step)
            continue
        for number, name in enumerate(names, 1):
            own = config.ensemble_scheduling.step.add(model_name=name, model_version=-1)
            for tensor in _config(target / name).input:
                if tensor.name in step.input_map:
                    own.input_map[tensor.name] = step.input_map[tensor.name]
            if number > 1:
                own.input_map[HIDDEN.upper()] = f"{NEXT_HIDDEN.upper()}_{number - 1}"
                own.input_map[EARLIER_MS] = f"{EARLIER_MS}_{number - 1}"
            if number < len(names):
                own.output_map[NEXT_HIDDEN.upper()] = f"{NEXT_HIDDEN.upper()}_{number}"
                own.output_map[COMPUTE_MS] = f"{EARLIER_MS}_{number}"
            else:
                own.output_map.update(step.output_map)
    return _text(config)


def _config(model: Path) -> model_config_pb2.ModelConfig:
    path = model / "config.pbtxt"
    try:
        return text_format.Parse(path.read_text(encoding="utf-8"), model_config_pb2.ModelConfig())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise EngineError(f"{path} cannot be read ({error}): make the engine again") from error


def _text(config: model_config_pb2.ModelConfig) -> str:
    return str(text_format.MessageToString(config))


def _card(engine: Path) -> dict[str, object]:
    path = engine / CARD
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
