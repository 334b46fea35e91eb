"""Accelerators as ``config.pbtxt`` names them, in Triton's own stanza.

optimization { execution_accelerators { cpu_execution_accelerator : [ {
  name : "openvino" parameters { key: "precision_mode" value: "bf16" } } ] } }
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

PRECISIONS: Mapping[str, tuple[str, ...]] = {
    "openvino": ("fp32", "bf16", "fp16", "int8"),
    "cuda": ("fp32",),
    "tensorrt": ("fp32", "fp16"),
}
"""Known accelerators with the values of ``precision_mode`` that each takes; the first where it is left out."""
_LISTS = {"openvino": "cpu", "cuda": "gpu", "tensorrt": "gpu"}
_PRECISION, _THREADS = "precision_mode", "num_threads"


class AcceleratorError(ValueError):
    """An accelerator that cannot be used; the message says which can be, or the cure."""


@dataclass(frozen=True, slots=True)
class Accelerator:
    """Accelerator of the networks of a model.

    Attributes:
        name: one of ``PRECISIONS``; "" for onnxruntime on the CPU.
        precision: its ``precision_mode``; "" for that of the file.
        threads: its ``num_threads``, at least 1; None: the parameter ``threads`` of the model.
        ordinal: number of the GPU.
    """

    name: str = ""
    precision: str = ""
    threads: int | None = None
    ordinal: int = 0

    @classmethod
    def of(cls, args: Mapping[str, str]) -> Accelerator:
        """Read the accelerator from the arguments of a Python model's ``initialize``.

        Raises:
            AcceleratorError: there are several, or the name or a parameter of one is unknown.
        """
        stanza = json.loads(args.get("model_config", "{}")).get("optimization", {}).get("execution_accelerators", {})
        named = [(kind, one) for kind in ("cpu", "gpu") for one in stanza.get(f"{kind}_execution_accelerator", ())]
        if not named:
            return cls()
        if len(named) > 1:
            raise AcceleratorError(f"execution_accelerators names {len(named)} accelerators: name one")
        (kind, one), parameters = named[0], dict(named[0][1].get("parameters", {}))
        name = one["name"]
        if name not in PRECISIONS:
            raise AcceleratorError(f"there is no accelerator {name!r}: use one of {', '.join(PRECISIONS)}")
        if _LISTS[name] != kind:
            raise AcceleratorError(f"{name} is no {kind}_execution_accelerator: name it {_LISTS[name]}_…")
        precision = parameters.pop(_PRECISION, PRECISIONS[name][0]).lower()
        if precision not in PRECISIONS[name]:
            wanted = ", ".join(PRECISIONS[name])
            raise AcceleratorError(f"{_PRECISION} of {name} is {precision!r}: set it to one of {wanted}")
        threads = parameters.pop(_THREADS, "") if name == "openvino" else ""
        if threads and not (threads.isdecimal() and int(threads)):
            raise AcceleratorError(f"{_THREADS} is {threads!r}: set it to a number of at least 1")
        if parameters:
            known = [_PRECISION, *([_THREADS] if name == "openvino" else ())]
            raise AcceleratorError(
                f"{name} has no parameter {next(iter(parameters))!r}: use {' or '.join(known)}, or leave it out"
            )
        ordinal = int(args.get("model_instance_device_id", 0)) if args.get("model_instance_kind") == "GPU" else 0
        return cls(name, precision, int(threads) if threads else None, ordinal)

    def refuse(self, reason: str) -> None:
        """Refuse an accelerator where nothing honours it.

        Raises:
            AcceleratorError: one is named.
        """
        if self.name:
            raise AcceleratorError(f"{self.name} cannot be used: {reason}; leave the accelerator out")
