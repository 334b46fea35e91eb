"""The models, served by Triton. The only package that knows Triton's client.

``client`` is the connection, ``engines`` speaks the inputs and outputs of each engine's models, ``models`` is what one
Triton serves under the shipped names, ``diagnosis`` finds out why there is none, and ``configs`` reads and renames
``config.pbtxt``, which ``settings`` changes.
"""

from pipelines.triton.client import TritonClient
from pipelines.triton.configs import BadConfigError, renamed, steps, tensors
from pipelines.triton.diagnosis import Diagnosis, diagnose
from pipelines.triton.engines import CONTRACTS, TritonPunctuation, connect
from pipelines.triton.models import MODEL_NAMES, TritonModels
from pipelines.triton.settings import ModelSettings, SettingError, adjusted

__all__ = [
    "CONTRACTS",
    "MODEL_NAMES",
    "BadConfigError",
    "Diagnosis",
    "ModelSettings",
    "SettingError",
    "TritonClient",
    "TritonModels",
    "TritonPunctuation",
    "adjusted",
    "connect",
    "diagnose",
    "renamed",
    "steps",
    "tensors",
]
