"""Encoders that are cut into stages, each a Triton model of its own.

``vivavoce split`` cuts the encoder of a recognizer at its layers. The model ``asr`` keeps the rest, and asks the stages
one after another by Triton's business logic scripting; its threads keep several stages at work.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from engines.asr.errors import LostStreamError
from engines.session import HIDDEN, NEXT_HIDDEN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Arrays = Mapping[str, NDArray[Any]]

STAGES = "stages"
"""Entry of the card that describes the stages, and parameter of ``config.pbtxt`` that names their models."""
_OUTPUTS = "outputs"
_BACKEND = "triton_python_backend_utils"


class Ask(Protocol):
    """Asks another Triton model."""

    def __call__(self, model: str, inputs: Arrays, outputs: Sequence[str]) -> dict[str, NDArray[Any]]:
        """Return the named outputs of a model for these inputs."""


@dataclass(frozen=True, slots=True)
class Stage:
    """Stage of an encoder.

    Attributes:
        model: Triton model that computes it.
        inputs: names of what it reads.
        outputs: names of what it gives.
    """

    model: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]


class StagedNetwork:
    """Encoder whose stages are computed one after another.

    Has the ``run`` of :class:`engines.session.Network`.

    Args:
        stages: in their order.
        outputs: of the whole, in their order.
        ask: asks the model of a stage.
    """

    def __init__(self, stages: Sequence[Stage], outputs: Sequence[str], ask: Ask) -> None:
        self._stages = tuple(stages)
        self._outputs = tuple(outputs)
        self._ask = ask

    def run(self, names: Sequence[str] | None, feeds: Arrays) -> list[NDArray[Any]]:
        """Compute the named outputs, all where none are named."""
        known = dict(feeds)
        for stage in self._stages:
            found = self._ask(stage.model, {name: known[name] for name in stage.inputs}, stage.outputs)
            known |= found
            if NEXT_HIDDEN in found:
                known[HIDDEN] = known.pop(NEXT_HIDDEN)
        return [known[name] for name in names or self._outputs]


def staged_network(card: Mapping[str, Any], parameters: Mapping[str, str]) -> StagedNetwork | None:
    """Return the encoder of a recognizer, where it is cut into stages.

    Args:
        card: of the recognizer (:data:`engines.asr.recognizers.CARD`).
        parameters: of the model ``asr``.

    Raises:
        ValueError: they do not suit each other, or this process is no model of Triton.
    """
    if STAGES not in card:
        return None
    described, models = card[STAGES], parameters.get(STAGES, "").split(",")
    if len(models) != len(described):
        raise ValueError(
            f"the card of the recognizer describes {len(described)} stages, and config.pbtxt names "
            f"{', '.join(models) or 'none'}: split the engine again"
        )
    stages = [
        Stage(model, tuple(one["inputs"]), tuple(one["outputs"])) for model, one in zip(models, described, strict=True)
    ]
    return StagedNetwork(stages, card[_OUTPUTS], _triton())


def description(stages: Sequence[Stage], outputs: Sequence[str]) -> dict[str, object]:
    """Return the entries of a card that :func:`staged_network` reads."""
    return {
        STAGES: [{"inputs": list(stage.inputs), "outputs": list(stage.outputs)} for stage in stages],
        _OUTPUTS: list(outputs),
    }


def _triton() -> Ask:
    try:
        pb_utils = importlib.import_module(_BACKEND)
    except ImportError:
        raise ValueError(
            "the encoder is a pipeline of stages, which Triton alone computes: serve the engine, or take the one that "
            "it was made of"
        ) from None

    def ask(model: str, inputs: Arrays, outputs: Sequence[str]) -> dict[str, NDArray[Any]]:
        tensors = [pb_utils.Tensor(name, np.ascontiguousarray(values)) for name, values in inputs.items()]
        response = pb_utils.InferenceRequest(
            model_name=model, requested_output_names=list(outputs), inputs=tensors
        ).exec()
        if response.has_error():
            message = response.error().message()
            raise LostStreamError(message) if LostStreamError.SIGN in message else RuntimeError(message)
        # Copies: the memory is Triton's, and is given back with the response.
        return {name: pb_utils.get_output_tensor_by_name(response, name).as_numpy().copy() for name in outputs}

    return ask
