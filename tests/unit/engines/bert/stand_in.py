"""What Triton gives a model in Python, as far as the models of the BERTs use it."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType, SimpleNamespace


class TritonError:
    CANCELLED, INVALID_ARG = "cancelled", "invalid argument"

    def __init__(self, message, code="internal"):
        self.message = message
        self.code = code


class InferenceResponse:
    def __init__(self, tensors=(), error=None):
        self.outputs = {tensor.name: tensor.values for tensor in tensors}
        self.error = error


def import_beside_triton(name, monkeypatch):
    """Imports a module that wants Triton's own, which is a stand-in while the test lasts."""
    triton = ModuleType("triton_python_backend_utils")
    triton.TRITONSERVER_RESPONSE_COMPLETE_FINAL = 1
    triton.TritonError = TritonError
    triton.InferenceResponse = InferenceResponse
    triton.Tensor = lambda name, values: SimpleNamespace(name=name, values=values)
    triton.get_input_tensor_by_name = lambda request, name: (
        SimpleNamespace(as_numpy=lambda: request.inputs[name]) if name in request.inputs else None
    )
    monkeypatch.setitem(sys.modules, triton.__name__, triton)
    module = importlib.import_module(name)
    # Whichever test imported them first: these have its stand-in.
    for bound in (module, importlib.import_module("engines.bert.serving")):
        monkeypatch.setattr(bound, "pb_utils", triton, raising=False)
    return module
