"""Overrides of ``config.pbtxt``: instances, batching, threads.

There is no setting for the length of a queue: see "Half a second" in ``lab/docs/performance_journal.md``.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Literal

from google.protobuf import text_format

from pipelines.models.triton.configs import parse

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tritonclient.grpc import model_config_pb2

_ROWS = "max_windows"
"""Parameter of a tokenizing step: so many rows at most go to the next steps for one request."""


_PARAMETERS = ("workers", "threads", "partial_interval_seconds", "speculative_decoding", "device", "gpu_precision")
"""Settings that are parameters of the same name."""


ACCELERATORS: Mapping[str, str] = {"openvino": "cpu", "cuda": "gpu", "tensorrt": "gpu"}
"""Accelerators that models of ours honour, with the list of Triton's stanza that each is named in."""


class SettingError(ValueError):
    """A setting does not suit its model.

    Attributes:
        model: whose setting it is.
        key: which one.
    """

    def __init__(self, model: str, key: str, reason: str) -> None:
        super().__init__(reason)
        self.model = model
        self.key = key


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSettings:
    """Settings of one model; None: as in its ``config.pbtxt``.

    Attributes:
        instances: copies of the model, each of which computes a batch at a time; at least 1.
        max_batch_size: rows of a batch; at least 1.
        dynamic_batching: whether requests that wait are computed together.
        preferred_batch_sizes: with a queue delay, sizes of batch that are not waited longer for.
        queue_delay_microseconds: how long a request may wait for others to join its batch.
        strategy: how sequences share batches: any with any (``oldest``), or each in a place of its own (``direct``).
        max_sequences: with ``oldest``, sequences that each copy of the model has open at a time; others wait.
        workers: batches that one copy of the model computes at a time, from one queue; at least 1.
        threads: cores that one batch may use.
        partial_interval_seconds: new audio after which a sequence is decoded without being asked to.
        speculative_decoding: whether texts are drafted and verified, in place of decoded step by step.
        device: what computes the network.
        gpu_precision: number format of its products on a GPU.
        accelerator: what computes the network in place of onnxruntime on the CPU, of ``ACCELERATORS``.
        precision_mode: number format of its products on the accelerator.
    """

    instances: int | None = None
    max_batch_size: int | None = None
    dynamic_batching: bool | None = None
    preferred_batch_sizes: tuple[int, ...] | None = None
    queue_delay_microseconds: int | None = None
    strategy: Literal["direct", "oldest"] | None = None
    max_sequences: int | None = None
    workers: int | None = None
    threads: int | None = None
    partial_interval_seconds: float | None = None
    speculative_decoding: bool | None = None
    device: str | None = None
    gpu_precision: str | None = None
    accelerator: str | None = None
    precision_mode: str | None = None

    def given(self) -> dict[str, object]:
        """Return what is set, by name."""
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return {name: value for name, value in values.items() if value is not None}


def adjusted(configs: Mapping[str, str], settings: Mapping[str, ModelSettings]) -> dict[str, str]:
    """Apply settings to the models of a repository.

    An ensemble whose steps take smaller batches now takes smaller ones too.

    Args:
        configs: the ``config.pbtxt`` of every model, by name.
        settings: what is set, by name of the model; all of them are among ``configs``.

    Returns:
        The ``config.pbtxt`` of the models that change.

    Raises:
        SettingError: a setting does not suit its model.
        BadConfigError: a config cannot be read.
    """
    models = {name: parse(config) for name, config in configs.items()}
    before = {name: model.SerializeToString(deterministic=True) for name, model in models.items()}
    for name, wanted in settings.items():
        _adjust(name, models[name], wanted)
    for ensemble in models.values():
        _fit(ensemble, models)
    return {
        name: str(text_format.MessageToString(model))
        for name, model in models.items()
        if model.SerializeToString(deterministic=True) != before[name]
    }


def _adjust(name: str, model: model_config_pb2.ModelConfig, wanted: ModelSettings) -> None:
    if model.platform == "ensemble" and wanted.given():
        raise SettingError(name, next(iter(wanted.given())), "an ensemble computes nothing: set it for its steps")
    if wanted.instances is not None:
        if len(model.instance_group) != 1:
            raise SettingError(
                name, "instances", "its config.pbtxt has not exactly one instance_group: change it there"
            )
        model.instance_group[0].count = wanted.instances
    if wanted.max_batch_size is not None:
        if model.max_batch_size == 0:
            raise SettingError(name, "max_batch_size", "its requests cannot be joined to batches: leave it out")
        model.max_batch_size = wanted.max_batch_size
    if model.HasField("sequence_batching"):
        _adjust_sequences(name, model, wanted)
    else:
        _adjust_batching(name, model, wanted)
    if any(size > model.max_batch_size for size in wanted.preferred_batch_sizes or ()):
        reason = f"none may be larger than max_batch_size, {model.max_batch_size}"
        raise SettingError(name, "preferred_batch_sizes", reason)
    for key in _PARAMETERS:
        if (value := getattr(wanted, key)) is not None:
            if key not in model.parameters:
                raise SettingError(name, key, "the model has no such parameter: leave it out")
            model.parameters[key].string_value = _parameter(value)
    _accelerate(name, model, wanted)


def _accelerate(name: str, model: model_config_pb2.ModelConfig, wanted: ModelSettings) -> None:
    """Write the accelerator as Triton's own stanza has it."""
    stanza = model.optimization.execution_accelerators
    if wanted.accelerator is not None:
        if "threads" not in model.parameters:
            raise SettingError(name, "accelerator", "the model computes no network: leave it out")
        stanza.Clear()
        getattr(stanza, f"{ACCELERATORS[wanted.accelerator]}_execution_accelerator").add(name=wanted.accelerator)
    named = [*stanza.cpu_execution_accelerator, *stanza.gpu_execution_accelerator]
    if wanted.precision_mode is not None:
        if not named:
            raise SettingError(name, "precision_mode", "it needs an accelerator")
        named[0].parameters["precision_mode"] = wanted.precision_mode


def _parameter(value: float | bool | str) -> str:
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else f"{value:g}"


def _adjust_batching(name: str, model: model_config_pb2.ModelConfig, wanted: ModelSettings) -> None:
    for key in ("strategy", "max_sequences"):
        if getattr(wanted, key) is not None:
            raise SettingError(name, key, "the model has no sequences: leave it out")
    if wanted.dynamic_batching is False:
        model.ClearField("dynamic_batching")
    elif wanted.dynamic_batching:
        model.dynamic_batching.SetInParent()
    batching = model.HasField("dynamic_batching")
    for key, field in (
        ("preferred_batch_sizes", "preferred_batch_size"),
        ("queue_delay_microseconds", "max_queue_delay_microseconds"),
    ):
        if (value := getattr(wanted, key)) is not None:
            if not batching:
                raise SettingError(name, key, "it needs dynamic_batching = true")
            _assign(model.dynamic_batching, field, value)


def _adjust_sequences(name: str, model: model_config_pb2.ModelConfig, wanted: ModelSettings) -> None:
    if wanted.dynamic_batching is not None:
        raise SettingError(name, "dynamic_batching", "sequences are batched by their strategy: leave it out")
    batching = model.sequence_batching
    held = batching.oldest.max_candidate_sequences
    if wanted.strategy is not None and wanted.strategy != batching.WhichOneof("strategy_choice"):
        # Setting one choice clears the other.
        getattr(batching, wanted.strategy).SetInParent()
    places = model.max_batch_size * sum(group.count for group in model.instance_group)
    direct = batching.WhichOneof("strategy_choice") != "oldest"
    if direct and places < held:
        reason = f"direct needs a place for each of {held} sequences, and max_batch_size x instances is {places}"
        raise SettingError(name, "strategy", reason)
    strategy = batching.direct if direct else batching.oldest
    if wanted.max_sequences is not None:
        if direct:
            raise SettingError(name, "max_sequences", 'it needs strategy = "oldest"')
        strategy.max_candidate_sequences = wanted.max_sequences
    if wanted.queue_delay_microseconds is not None:
        strategy.max_queue_delay_microseconds = wanted.queue_delay_microseconds
    if wanted.preferred_batch_sizes is not None:
        if direct:
            raise SettingError(name, "preferred_batch_sizes", 'it needs strategy = "oldest"')
        _assign(strategy, "preferred_batch_size", wanted.preferred_batch_sizes)


def _assign(message: object, field: str, value: object) -> None:
    """Set a field of a message, repeated or not."""
    if isinstance(value, tuple):
        getattr(message, field)[:] = value
    else:
        setattr(message, field, value)


def _fit(ensemble: model_config_pb2.ModelConfig, models: Mapping[str, model_config_pb2.ModelConfig]) -> None:
    """Let an ensemble take no larger batches than its steps.

    Raises:
        SettingError: a step takes fewer rows than the step before it makes of one request.
    """
    steps = [models[step.model_name] for step in ensemble.ensemble_scheduling.step if step.model_name in models]
    if ensemble.max_batch_size > 0:
        ensemble.max_batch_size = min((ensemble.max_batch_size, *_batch_sizes(steps)))
        return
    rows = 1
    for step in steps:
        if 0 < step.max_batch_size < rows:
            reason = f"at least {rows}, for the windows of one question are computed together"
            raise SettingError(step.name, "max_batch_size", reason)
        if _ROWS in step.parameters:
            rows = int(step.parameters[_ROWS].string_value)


def _batch_sizes(steps: Iterable[model_config_pb2.ModelConfig]) -> list[int]:
    return [step.max_batch_size for step in steps if step.max_batch_size > 0]
