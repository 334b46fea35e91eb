"""Makes Triton model repositories of networks with random weights, which run the shipped Python model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from engines.bert.gpu.network import write_network
from engines.gpu.device import NETWORK

if TYPE_CHECKING:
    from pathlib import Path

    from benchmarks.gpu.plan import Case
    from engines.bert.gpu.network import State
    from engines.bert.gpu.precision import Precision

_MODEL = '''"""The shipped Triton model of a BERT."""

from engines.bert.network_model import TritonPythonModel

__all__ = ["TritonPythonModel"]
'''
_CONFIG = """# {title}: random weights.
name: "{name}"
backend: "python"
max_batch_size: {batch}
input [
  {{ name: "INPUT_IDS" data_type: TYPE_INT32 dims: [ -1 ] allow_ragged_batch: true }},
  {{ name: "ATTENTION_MASK" data_type: TYPE_BOOL dims: [ -1 ] allow_ragged_batch: true }}
]
output [
  {{ name: "START_LOGITS" data_type: TYPE_FP32 dims: [ -1 ] }},
  {{ name: "END_LOGITS" data_type: TYPE_FP32 dims: [ -1 ] }},
  {{ name: "COMPUTE_MS" data_type: TYPE_FP32 dims: [ 1 ] }}
]
dynamic_batching {{ }}
instance_group [ {{ kind: {kind}, count: {instances} }} ]
{parameters}
"""


@dataclass(frozen=True, slots=True)
class Served:
    """How a network is served.

    Attributes:
        precision: of its products.
        instances: copies.
        kind: of instance, ``KIND_GPU`` or ``KIND_CPU``; the network is computed on ``device`` in both.
        device: of PyTorch; on ``cpu`` the same code runs without a GPU.
    """

    precision: Precision
    instances: int
    kind: str
    device: str


def model_name(case: Case) -> str:
    """Names a network's Triton model, so that nobody takes it for a trained one."""
    return f"random_{case.name}"


def write_repository(folder: Path, case: Case, state: State, served: Served) -> Path:
    """Writes a repository of one model; returns ``folder``.

    Args:
        folder: is made; a network that is there already is kept, for it is the same.
        case: what is served.
        state: its tensors.
        served: how.
    """
    parameters = {
        "device": "torch-cpu" if served.device == "cpu" else "cuda",
        "gpu_precision": served.precision,
        "gpu_tokens": case.batch * case.length,
        "gpu_rows": case.batch,
        "gpu_longest": case.length,
    }
    model = folder / model_name(case)
    (model / "1").mkdir(parents=True, exist_ok=True)
    lines = (
        f'parameters: {{ key: "{key}", value: {{ string_value: "{value}" }} }}' for key, value in parameters.items()
    )
    config = _CONFIG.format(
        title=case.title, name=model.name, batch=case.batch, kind=served.kind,
        instances=served.instances, parameters="\n".join(lines),
    )  # fmt: skip
    (model / "config.pbtxt").write_text(config, encoding="utf-8")
    (model / "1" / "model.py").write_text(_MODEL, encoding="utf-8")
    if not (model / "1" / NETWORK).exists():
        write_network(model / "1" / NETWORK, case.shape, state)
    return folder
