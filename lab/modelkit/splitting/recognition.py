"""Splitting of encoders of recognition: stages that the model ``asr`` asks."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import numpy as np
from onnx import helper
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import np_to_triton_dtype

from engines.asr.fastconformer.caches import CachedLayers, OnnxStep
from engines.asr.fastconformer.encoder import Encoder
from engines.asr.fastconformer.names import CACHED, ENCODER, OUTPUTS
from engines.asr.fastconformer.shape import Shape
from engines.asr.fastconformer.staged import CONTROLS, KEEPS, OWN_OUTPUTS, StagedLayers
from engines.asr.moonshine.loading import FOLDER
from engines.asr.recognizers import CARD, read_card
from engines.asr.stage_loading import load_stage
from engines.asr.stages import STAGES, Stage, StagedNetwork, description
from engines.gpu.device import NETWORK
from engines.session import HIDDEN, NEXT_HIDDEN, load_session
from modelkit.errors import EngineError, SplitError
from modelkit.importing.asr.engine import read_all
from modelkit.splitting.configs import read_config, write_config
from modelkit.splitting.graph import NetworkGraph
from modelkit.splitting.stage_files import cards_of, cut, write_stage
from modelkit.triton_models import VERSION, served_models

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    import numpy.typing as npt
    import onnx

    from modelkit.splitting import cuts
    from modelkit.splitting.places import Place

    Arrays = Mapping[str, npt.NDArray[Any]]

_ASR = "asr"
_MASK = "frame_mask"
"""Output of Moonshine's encoder that is computed before its layers, which read it."""
_ROWS, _FRAMES = 2, 100
"""Rows, and the length of what has no fixed one, of the inputs on which the encoder is tried."""
_SEED = 7
_SAMPLES = (48_000, 40_000)
"""Lengths of noise on which a pipeline of a streaming encoder is compared with the whole."""


def split_recognition(
    engine: Path, target: Path, places: Sequence[Place]
) -> tuple[list[cuts.Stage], list[dict[str, object]]]:
    """Write the models of an engine for recognition, its encoder in stages.

    See :func:`modelkit.splitting.bert.split_bert`.
    """
    folder = engine / "triton" / _ASR / VERSION
    card = _card(engine, folder)
    kind = card.get("kind", "moonshine")
    if kind not in {"moonshine", "fastconformer"}:
        raise SplitError(
            f"{engine} is of the kind {kind}, whose library computes encoder and decoder from one file and shows no "
            "graph: split another recognizer"
        )
    streams = kind == "fastconformer"
    path = folder / ENCODER if streams else folder / FOLDER / ENCODER
    if not path.is_file():
        raise EngineError(f"{path} is missing: import the engine again")
    early, layered = (OUTPUTS[1 : -len(CACHED)], OUTPUTS[-len(CACHED) :]) if streams else ((_MASK,), ())
    graph = NetworkGraph(path, early, layered)
    chosen, widths = cut(graph, _feeds(graph.model), lambda value: value.ndim == 3 and len(value) == _ROWS, len(places))
    for model in served_models(engine):
        ignored = ("__pycache__", ENCODER, NETWORK) if model.name == _ASR else ("__pycache__",)
        shutil.copytree(model, target / model.name, ignore=shutil.ignore_patterns(*ignored))
    cards, stages = cards_of(chosen, places), []
    chunk = Shape.of(card).chunk_frames if streams else 0
    whole = read_config(engine / "triton" / _ASR)
    for number, (stage, own, place) in enumerate(zip(chosen, cards, places, strict=True), 1):
        name = f"{_ASR}_stage_{number}"
        width = widths[stage.target or stage.source]
        # Where it knows sizes that it does not know in the whole, onnxruntime fuses what it does not fuse there.
        part = graph.stage(stage, ["rows", chunk, width] if streams else None)
        version = write_stage(target / name, folder / "model.py", part, own)
        layers = {"shape": card["shape"], "layers": list(range(stage.first - 1, stage.last))} if streams else {}
        (version / CARD).write_text(json.dumps({"kind": kind, **layers}) + "\n", encoding="utf-8")
        config = _stage_config(name, part, layered, whole.parameters["threads"].string_value)
        for tensor in (*config.input, *config.output):
            if tensor.name in {HIDDEN, NEXT_HIDDEN}:
                tensor.dims[:] = [-1, chunk or -1, width]
        place.write(config)
        if place.gpu is not None:
            config.optimization.execution_accelerators.gpu_execution_accelerator.add(name="cuda")
        write_config(target / name, config)
        stages.append(Stage(name, tuple(one.name for one in config.input), tuple(one.name for one in config.output)))
    outputs = OWN_OUTPUTS if streams else tuple(one.name for one in graph.model.graph.output)
    recognizer = {"kind": kind, **card, **description(stages, outputs)}
    (target / _ASR / VERSION / CARD).write_text(json.dumps(recognizer, indent=1) + "\n", encoding="utf-8")
    whole.parameters[STAGES].string_value = ",".join(stage.model for stage in stages)
    write_config(target / _ASR, whole)
    network = StagedNetwork(stages, outputs, _Local(target))
    if not (_streams_equal(path, card, network) if streams else _equal(graph.model, path, network)):
        raise SplitError(f"the stages compute another encoding than {path}: report this network, or serve it whole")
    return chosen, cards


class _Local:
    """Asks stages that are loaded in this process, on the CPU, one at a time."""

    def __init__(self, models: Path) -> None:
        self._models = models
        self._loaded: dict[str, Any] = {}

    def __call__(self, model: str, inputs: Arrays, outputs: Sequence[str]) -> dict[str, npt.NDArray[Any]]:
        if model not in self._loaded:
            self._loaded[model] = load_stage(self._models / model / VERSION, {}, 1)
        return dict(zip(outputs, self._loaded[model](inputs), strict=True))


def _card(engine: Path, folder: Path) -> dict[str, Any]:
    try:
        card = read_card(folder)
    except ValueError as error:
        raise EngineError(str(error)) from error
    if STAGES in card:
        raise EngineError(f"{engine} is a pipeline already: split the engine that it was made of")
    return card


def _feeds(model: onnx.ModelProto, frames: int = _FRAMES) -> dict[str, npt.NDArray[Any]]:
    """Make inputs of a graph: noise, and lengths of which one row has fewer."""
    rng = np.random.default_rng(_SEED)
    feeds = {}
    for value in model.graph.input:
        dims = value.type.tensor_type.shape.dim
        sizes = [dim.dim_value or (frames if place else _ROWS) for place, dim in enumerate(dims)]
        kind = helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        if np.issubdtype(kind, np.integer):
            feeds[value.name] = np.linspace(frames, frames // 2, sizes[0]).astype(kind)
        else:
            feeds[value.name] = rng.normal(1, 0.3, sizes).astype(kind)
    return feeds


def _equal(model: onnx.ModelProto, path: Path, network: StagedNetwork) -> bool:
    session = load_session(path, 1)
    return all(
        np.array_equal(mine, theirs)
        for feeds in (_feeds(model), _feeds(model, 3 * _FRAMES))
        for mine, theirs in zip(network.run(None, feeds), session.run(None, feeds), strict=True)
    )


def _streams_equal(path: Path, card: Mapping[str, Any], network: StagedNetwork) -> bool:
    shape, rng = Shape.of(card), np.random.default_rng(_SEED)
    noise = [rng.normal(0, 0.1, samples).astype(np.float32) for samples in _SAMPLES]
    whole = CachedLayers(shape, OnnxStep(load_session(path, 1, arena=True)))
    found, expected = (read_all(Encoder(shape, layers), noise) for layers in (StagedLayers(network), whole))
    return all(np.array_equal(mine, theirs) for mine, theirs in zip(found, expected, strict=True))


def _stage_config(
    name: str, part: onnx.ModelProto, layered: Sequence[str], threads: str
) -> model_config_pb2.ModelConfig:
    """Make the configuration of a stage: tensors of its graph, with numbers of streams in place of caches."""
    config = model_config_pb2.ModelConfig(name=name, backend="python")
    caches = tuple(f"{cached}_" for cached in CACHED) if layered else ()
    for value in part.graph.input:
        if not value.name.startswith(caches):
            _describe(config.input.add(name=value.name), value)
    if layered:
        for control in CONTROLS:
            kind = model_config_pb2.TYPE_BOOL if control == KEEPS else model_config_pb2.TYPE_INT64
            config.input.add(name=control, data_type=kind, dims=[-1])
    for value in part.graph.output:
        if value.name not in layered:
            _describe(config.output.add(name=value.name), value)
    config.parameters["threads"].string_value = threads
    return config


def _describe(tensor: Any, value: onnx.ValueInfoProto) -> None:  # noqa: ANN401 - an input or an output
    """Write type and sizes of a graph's tensor."""
    described = value.type.tensor_type
    kind = np_to_triton_dtype(helper.tensor_dtype_to_np_dtype(described.elem_type))
    tensor.data_type = model_config_pb2.DataType.Value(f"TYPE_{kind}")
    tensor.dims[:] = [dim.dim_value or -1 for dim in described.shape.dim]
