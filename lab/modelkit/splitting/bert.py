"""Splitting of BERTs, in ONNX and for a GPU: steps of an ensemble."""

from __future__ import annotations

import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from tritonclient.grpc import model_config_pb2

from engines.bert.network_files import network_file
from engines.bert.session import INPUTS, MASK, BertSession
from engines.gpu.device import MAKER, NETWORK
from engines.session import HIDDEN, NEXT_HIDDEN
from modelkit.errors import EngineError, SplitError
from modelkit.splitting.configs import read_config, write_config
from modelkit.splitting.graph import NetworkGraph
from modelkit.splitting.places import on_gpus
from modelkit.splitting.stage_files import cards_of, cut, write_stage
from modelkit.triton_models import NLU_MODELS, QA_MODELS, VERSION, served_models

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from modelkit.splitting.cuts import Stage
    from modelkit.splitting.places import Place

COMPUTE_MS, EARLIER_MS = "COMPUTE_MS", "EARLIER_MS"
"""Milliseconds of a stage and those before it, and of those before it alone."""
_ON_THE_GPU = "FORCE_CPU_ONLY_INPUT_TENSORS"
"""Parameter of Triton's Python backend: with ``no``, what lies on a GPU is not copied to the CPU for a model."""
_FLOAT32 = model_config_pb2.TYPE_FP32
_ENSEMBLES = {names[0]: names[2] for names in (NLU_MODELS, QA_MODELS)}
"""The networks that are cut, by their ensemble."""
_LENGTHS = (24, 7, 24, 16)
"""Tokens of the rows on which the pipeline is compared with the whole: some are padded, some of another group."""
_KNOWN_TOKENS = 30
"""Token ids of those rows are below this, as every vocabulary has so many."""
_SEED = 7


def split_bert(engine: Path, target: Path, places: Sequence[Place]) -> tuple[list[Stage], list[dict[str, object]]]:
    """Write the models of an engine for intents or answers, its network in stages.

    Args:
        engine: the engine directory.
        target: folder for the models.
        places: of the stages, as many as there are.

    Returns:
        The stages, and their descriptions for the card.

    Raises:
        EngineError: ``engine`` is none that can be split.
        SplitError: the network cannot be cut so often, or the stages do not compute the same.
    """
    ensemble, network = _what_to_split(engine)
    folder = engine / "triton" / network / VERSION
    try:
        path = network_file(folder)
    except ValueError as error:
        raise EngineError(str(error)) from None
    accelerators = read_config(engine / "triton" / network).optimization.execution_accelerators
    accelerated = bool(accelerators.gpu_execution_accelerator)
    if on_gpus(places) and not accelerated and not (folder / NETWORK).exists():
        raise EngineError(f"{folder} has no {NETWORK}, which a GPU needs: make it with {MAKER}, or name cpu")
    graph = NetworkGraph(path)
    batch = _batch([value.name for value in graph.model.graph.input])
    rows = batch[MASK].shape
    chosen, widths = cut(graph, batch, lambda value: value.ndim == 3 and value.shape[:2] == rows, len(places))
    for model in served_models(engine):
        if model.name not in {ensemble, network}:
            shutil.copytree(model, target / model.name, ignore=shutil.ignore_patterns("__pycache__"))
    names = [f"{network}_stage_{number}" for number in range(1, len(places) + 1)]
    cards = cards_of(chosen, places)
    for name, stage, card, place in zip(names, chosen, cards, places, strict=True):
        width = widths[stage.target or stage.source]
        part = graph.stage(stage, ["rows", "tokens", width], {MASK})
        write_stage(target / name, folder / "model.py", part, card)
        reads = {value.name for value in part.graph.input}
        config = _stage_config(read_config(engine / "triton" / network), name, reads)
        if stage.target:
            _hand_on(config, width)
        if stage.source:
            _take_over(config, width)
        place.write(config)
        if place.gpu is not None and not accelerated:
            config.parameters[_ON_THE_GPU].string_value = "no"
        write_config(target / name, config)
    (target / ensemble / VERSION).mkdir(parents=True)
    (target / ensemble / VERSION / ".gitkeep").touch()
    write_config(target / ensemble, _ensemble_config(engine / "triton", ensemble, network, names, target))
    versions = [target / name / VERSION for name in names]
    _check_equal(path, versions)
    if (folder / NETWORK).exists():
        _split_for_gpus(folder / NETWORK, chosen, versions)
    return chosen, cards


def _what_to_split(engine: Path) -> tuple[str, str]:
    """Name the ensemble and its network."""
    held = {model.name for model in served_models(engine)}
    for ensemble, network in _ENSEMBLES.items():
        if ensemble in held and f"{network}_stage_1" in held:
            raise EngineError(f"{engine} is a pipeline already: split the engine that it was made of")
        if {ensemble, network} <= held:
            return ensemble, network
    raise EngineError(
        f"{engine} holds {', '.join(sorted(held))}, and is not cut: split an engine for intents, answers "
        "or recognition, as `vivavoce train` and `vivavoce import` write them"
    )


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
    _compare(expected, results, whole)


def _compare(expected: Mapping[str, npt.NDArray[Any]], results: Mapping[str, npt.NDArray[Any]], whole: Path) -> None:
    different = [name for name, values in expected.items() if not np.array_equal(values, results[name])]
    if different:
        raise SplitError(
            f"the stages compute another {' and '.join(different)} than {whole}: report this network, or serve it whole"
        )


def _split_for_gpus(network: Path, stages: Sequence[Stage], versions: Sequence[Path]) -> None:
    """Cut the network for a GPU at the same layers.

    Raises:
        EngineError: it is damaged.
        SplitError: it has other layers, or its stages do not compute what it does.
    """
    from engines.bert.gpu.network import read_network, write_network  # noqa: PLC0415 - needs PyTorch
    from engines.bert.gpu.precision import Precision  # noqa: PLC0415
    from engines.bert.gpu.session import GpuBertSession, GpuOptions  # noqa: PLC0415

    try:
        shape, state = read_network(network)
    except ValueError as error:
        raise EngineError(str(error)) from error
    if shape.layers != stages[-1].last:
        raise SplitError(
            f"{network} has {shape.layers} layers, and the .onnx file beside it {stages[-1].last}: make it with {MAKER}"
        )
    options = GpuOptions(Precision.FLOAT32, most_tokens=sum(_LENGTHS), longest=max(_LENGTHS), device="cpu")
    batch = _batch(INPUTS)
    (expected,) = GpuBertSession(shape, state, options).run([batch])
    given: dict[str, Any] = dict(batch)
    for stage, version in zip(stages, versions, strict=True):
        part = replace(shape, first=stage.first - 1, stop=stage.last)
        write_network(version / NETWORK, part, state)
        (version / NETWORK).chmod(0o644)
        (results,) = GpuBertSession(*read_network(version / NETWORK), options).run([given])
        given[HIDDEN] = results.get(NEXT_HIDDEN)
    _compare(expected, results, network)


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


def _ensemble_config(
    models: Path, ensemble: str, network: str, names: Sequence[str], target: Path
) -> model_config_pb2.ModelConfig:
    """Return the ensemble's configuration, with the stages in place of the network."""
    config = read_config(models / ensemble)
    steps = list(config.ensemble_scheduling.step)
    del config.ensemble_scheduling.step[:]
    for step in steps:
        if step.model_name != network:
            config.ensemble_scheduling.step.append(step)
            continue
        for number, name in enumerate(names, 1):
            own = config.ensemble_scheduling.step.add(model_name=name, model_version=-1)
            for tensor in read_config(target / name).input:
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
    return config
