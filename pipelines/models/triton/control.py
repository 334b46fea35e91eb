"""Model control of one Triton: state, loading and unloading."""

from __future__ import annotations

import asyncio
import collections
from typing import TYPE_CHECKING

import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from pipelines.errors import ModelUnavailableError
from pipelines.models.triton.channel import channel_options
from pipelines.models.triton.failures import control_error, model_error

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tritonclient.grpc import model_config_pb2

_LOAD_TIMEOUT_SECONDS = 120.0
_UNLOAD_TIMEOUT_SECONDS = 30.0
_PROBE_TIMEOUT_SECONDS = 2.0
_UNLOADED_POLL_SECONDS = 0.1


class TritonControl:
    """The connection to one Triton, for everything but inference.

    Args:
        address: ``host:port`` or ``unix:path`` of its gRPC endpoint.

    Attributes:
        reloads: how many models were loaded anew by :meth:`reload`.
        reloaded_at: when :meth:`reload` began last for a model, on the running loop's clock.
    """

    def __init__(self, address: str) -> None:
        self._client = triton.InferenceServerClient(address, channel_args=channel_options(address))
        self._instances: dict[str, int] = {}
        self.reloads = 0
        self.reloaded_at: dict[str, float] = {}

    async def missing(self, names: Sequence[str]) -> Sequence[str]:
        """Return those of ``names`` that are not ready; all without Triton."""
        try:
            return await self.unloaded(names)
        except ModelUnavailableError:
            return names

    async def unloaded(self, names: Sequence[str]) -> Sequence[str]:
        """Return those of ``names`` that are not ready.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or did not answer in time.
        """
        calls = (self._client.is_model_ready(name, client_timeout=_PROBE_TIMEOUT_SECONDS) for name in names)
        answers = await asyncio.gather(*calls, return_exceptions=True)
        for answer in answers:
            if isinstance(answer, InferenceServerException):
                raise ModelUnavailableError("the model server cannot be reached: try again soon") from answer
            if isinstance(answer, BaseException):
                raise answer
        return [name for name, is_ready in zip(names, answers, strict=True) if not is_ready]

    async def tensors(self, model: str) -> frozenset[str]:
        """Names the inputs and outputs of a model.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or did not answer in time.
            ModelError: there is no such model.
        """
        try:
            found = await self._client.get_model_metadata(model, client_timeout=_PROBE_TIMEOUT_SECONDS)
        except InferenceServerException as error:
            raise model_error(model, error) from error
        return frozenset(tensor.name for tensor in (*found.inputs, *found.outputs))

    async def max_batch_size(self, model: str) -> int:
        """Return how many rows one request to a model may have; 0 if it takes no batches.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or did not answer in time.
            ModelError: there is no such model.
        """
        return int((await self._config(model)).max_batch_size)

    async def parameter(self, model: str, key: str) -> str:
        """Return a parameter of a model's configuration; "" without.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or did not answer in time.
            ModelError: there is no such model.
        """
        parameters = (await self._config(model)).parameters
        return str(parameters[key].string_value) if key in parameters else ""

    async def _config(self, model: str) -> model_config_pb2.ModelConfig:
        try:
            return (await self._client.get_model_config(model, client_timeout=_PROBE_TIMEOUT_SECONDS)).config
        except InferenceServerException as error:
            raise model_error(model, error) from error

    async def busy_seconds(self) -> Mapping[str, float]:
        """Return each model's seconds of computing since its load, per instance.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or did not answer in time.
        """
        busy: collections.Counter[str] = collections.Counter()
        try:
            statistics = await self._client.get_inference_statistics(client_timeout=_PROBE_TIMEOUT_SECONDS)
            for model in statistics.model_stats:
                # By executions: the counters by request would count a batch as often as it holds requests.
                busy[model.name] += sum(batch.compute_infer.ns for batch in model.batch_stats)
            return {name: ns / 1e9 / await self._count_instances(name) for name, ns in busy.items()}
        except InferenceServerException as error:
            # When it is back, its models may have other settings.
            self._instances.clear()
            raise ModelUnavailableError("the model server cannot be reached for its statistics") from error

    async def _count_instances(self, model: str) -> int:
        if model not in self._instances:
            answer = await self._client.get_model_config(model, client_timeout=_PROBE_TIMEOUT_SECONDS)
            self._instances[model] = _instances(answer.config)
        return self._instances[model]

    async def load(self, model: str) -> None:
        """Load a model of the repository, and wait until it is ready.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or took too long.
            ModelControlError: it cannot be loaded; the message holds Triton's reason.
        """
        try:
            await self._client.load_model(model, client_timeout=_LOAD_TIMEOUT_SECONDS)
        except InferenceServerException as error:
            raise control_error(f"Triton cannot load {model}", error) from error

    async def reload(self, model: str) -> None:
        """Reload a model whose process has ended, and so its ensembles.

        Triton does not come to the end of unloading such a model, but loads another beside what is left of it.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or took too long.
            ModelControlError: it cannot be loaded; the message holds Triton's reason.
        """
        try:
            await self._client.unload_model(model, client_timeout=_UNLOAD_TIMEOUT_SECONDS)
        except InferenceServerException as error:
            raise control_error(f"Triton cannot unload {model}", error) from error
        self.reloaded_at[model] = asyncio.get_running_loop().time()
        await self.load(model)
        self.reloads += 1

    async def unload(self, models: Sequence[str]) -> None:
        """Unload models, and wait for their end; ignore missing ones.

        Raises:
            ModelUnavailableError: Triton cannot be reached, or took too long.
            ModelControlError: Triton will not unload models.
        """
        names = ", ".join(models)
        try:
            async with asyncio.timeout(_UNLOAD_TIMEOUT_SECONDS):
                for model in models:
                    await self._client.unload_model(model, client_timeout=_UNLOAD_TIMEOUT_SECONDS)
                while await self._holds_any(models):  # noqa: ASYNC110 - Triton's index can only be asked
                    await asyncio.sleep(_UNLOADED_POLL_SECONDS)
        except InferenceServerException as error:
            raise control_error(f"Triton cannot unload {names}", error) from error
        except TimeoutError:
            raise ModelUnavailableError(f"Triton does not come to the end of unloading {names}") from None

    async def _holds_any(self, models: Sequence[str]) -> bool:
        """Return whether Triton holds one of the models in any state."""
        index = await self._client.get_model_repository_index(client_timeout=_PROBE_TIMEOUT_SECONDS)
        return any(entry.name in models and entry.state not in {"", "UNAVAILABLE"} for entry in index.models)


def _instances(config: model_config_pb2.ModelConfig) -> int:
    """Count a model's instances, over all groups and their GPUs."""
    groups = ((int(group.count), len(group.gpus)) for group in config.instance_group)
    return max(1, sum(max(1, count) * max(1, gpus) for count, gpus in groups))
