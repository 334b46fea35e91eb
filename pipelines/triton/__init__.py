"""The models, served by Triton. The only package that knows Triton's client.

``client`` is the connection, ``engines`` speaks the inputs and outputs of each engine's models, ``models`` is what one
Triton serves under the shipped names, and ``configs`` reads and renames ``config.pbtxt``.
"""

from pipelines.triton.client import TritonClient
from pipelines.triton.configs import BadConfigError, renamed, steps, tensors
from pipelines.triton.engines import connect
from pipelines.triton.models import MODEL_NAMES, TritonModels

__all__ = [
    "MODEL_NAMES",
    "BadConfigError",
    "TritonClient",
    "TritonModels",
    "connect",
    "renamed",
    "steps",
    "tensors",
]
