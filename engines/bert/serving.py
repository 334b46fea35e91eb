"""Request handling that the BERT engines' Triton models share.

Imports Triton's ``triton_python_backend_utils``, which exists only inside Triton.
"""

from __future__ import annotations

import json
import logging
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import triton_python_backend_utils as pb_utils

from engines.deadline import Deadlines

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy.typing as npt

logger = logging.getLogger(__name__)

_T = TypeVar("_T")

_DEADLINES = Deadlines()


class BadRequestError(ValueError):
    """Invalid request; the message names the cure and no text."""


def parameters(args: Mapping[str, str]) -> dict[str, str]:
    """Read the parameters of ``config.pbtxt`` from what Triton gives ``initialize``."""
    config = json.loads(args["model_config"])
    return {key: str(value["string_value"]) for key, value in config.get("parameters", {}).items()}


def version_directory(args: Mapping[str, str]) -> Path:
    """Find the folder of the model's version, where its files lie."""
    return Path(args["model_repository"], args["model_version"])


def tensor(request: object, name: str) -> npt.NDArray[Any]:
    """Read an input of a request."""
    values: npt.NDArray[Any] = pb_utils.get_input_tensor_by_name(request, name).as_numpy()
    return values


def device_tensor(request: object, name: str, from_dlpack: Callable[[object], _T]) -> _T:
    """Read an input of a request where it lies, on a GPU or not, by DLPack.

    Args:
        request: holds the memory.
        name: of the input.
        from_dlpack: makes a tensor of a capsule.
    """
    return from_dlpack(pb_utils.get_input_tensor_by_name(request, name).to_dlpack())


def embeddings(
    requests: Sequence[object], read: Callable[[object], list[_T]], embed: Callable[[list[_T]], npt.NDArray[np.float32]]
) -> list[object]:
    """Answer requests for vectors, those of all in one run of the network.

    Args:
        requests: each gets its own answer; one that is overdue or cannot be read gets its own error.
        read: returns what a request wants embedded.
        embed: returns the vectors, ``[items, dimensions]``.
    """
    began = time.perf_counter()
    found = [_read_one(request, read) for request in requests]
    vectors = embed([item for one in found if isinstance(one, list) for item in one])
    compute_ms = (time.perf_counter() - began) * 1000
    responses, at = [], 0
    for one in found:
        if isinstance(one, list):
            own = vectors[at : at + len(one)]
            took = np.full((len(own), 1), compute_ms, np.float32)
            responses.append(response({"EMBEDDING": own, "COMPUTE_MS": took}))
            at += len(one)
        else:
            responses.append(overdue() if one is None else refusal(one))
    return responses


def _read_one(request: object, read: Callable[[object], list[_T]]) -> list[_T] | Exception | None:
    """Return what a request wants, its error, or None where it is overdue."""
    try:
        return None if is_overdue(request) else read(request)
    except Exception as error:  # noqa: BLE001 - whatever cannot be read, the others of the batch are served
        return error


def texts(request: object, name: str) -> list[str]:
    """Read an input of UTF-8 strings, flattened.

    Raises:
        BadRequestError: a string is not UTF-8.
    """
    try:
        return [value.decode("utf-8") for value in tensor(request, name).reshape(-1).tolist()]
    except UnicodeDecodeError:
        raise BadRequestError(f"{name} is not UTF-8: encode the text as UTF-8 and send it again") from None


def is_overdue(request: Any) -> bool:  # noqa: ANN401 - Triton's own type
    """Return whether a request's deadline has passed. Ask once a request."""
    left = _DEADLINES.seconds_left(request)
    return left is not None and left < 0


def overdue() -> object:
    """Make the response to a request whose deadline has passed."""
    return pb_utils.InferenceResponse(
        error=pb_utils.TritonError("the deadline has passed", pb_utils.TritonError.CANCELLED)
    )


def strings(values: Sequence[str], shape: tuple[int, ...]) -> npt.NDArray[np.object_]:
    """Pack strings for an output of type STRING."""
    packed = np.empty(len(values), np.object_)
    packed[:] = [value.encode("utf-8") for value in values]
    return packed.reshape(shape)


def response(outputs: Mapping[str, npt.NDArray[Any]]) -> object:
    """Make a response of named arrays, or tensors of PyTorch by DLPack."""
    return pb_utils.InferenceResponse([_named(name, values) for name, values in outputs.items()])


def _named(name: str, values: npt.NDArray[Any]) -> object:
    return (
        pb_utils.Tensor(name, values) if isinstance(values, np.ndarray) else pb_utils.Tensor.from_dlpack(name, values)
    )


def network_response(
    result: Mapping[str, npt.NDArray[np.float32]], compute_ms: float | npt.NDArray[np.float32]
) -> object:
    """Make a response of a network's results for one request, ``[rows, …]`` each.

    Args:
        result: by name.
        compute_ms: time of the batch that they were computed in.
    """
    rows = len(next(iter(result.values())))
    outputs = {name.upper(): values for name, values in result.items()}
    took = np.broadcast_to(np.float32(compute_ms), (rows, 1))
    return response(outputs | {"COMPUTE_MS": np.ascontiguousarray(took)})


def earlier_ms(request: object) -> float | npt.NDArray[np.float32]:
    """Return the milliseconds of the stages before; 0 for a network that is whole."""
    given = pb_utils.get_input_tensor_by_name(request, "EARLIER_MS")
    return 0.0 if given is None else given.as_numpy()


def failure(error: BadRequestError) -> object:
    """Make a response that says what is wrong with its request."""
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(str(error), pb_utils.TritonError.INVALID_ARG))


def refusal(error: Exception) -> object:
    """Make the response to an invalid request, or to an internal error."""
    if isinstance(error, BadRequestError):
        return failure(error)
    # The error's own words may hold the text.
    calls = "".join(traceback.format_tb(error.__traceback__)).rstrip()
    logger.error("a request was not served: %s\n%s", type(error).__qualname__, calls)
    return pb_utils.InferenceResponse(error=pb_utils.TritonError(f"{type(error).__qualname__}: see Triton's log"))


def answer_each(requests: Sequence[object], serve: Callable[[object], Mapping[str, npt.NDArray[Any]]]) -> list[object]:
    """Serve requests one by one; one that fails gets its own error."""
    responses = []
    for request in requests:
        try:
            responses.append(response(serve(request)))
        except Exception as error:  # noqa: BLE001 - whatever one dies of, the others are served
            responses.append(refusal(error))
    return responses
