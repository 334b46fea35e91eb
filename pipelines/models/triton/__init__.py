"""The models, served by Triton. The only package that knows Triton's client.

``client`` is the connection, ``engines`` speaks the inputs and outputs of each engine's models, ``diagnosis`` finds out
why there is no Triton, and ``configs`` reads and renames ``config.pbtxt``, which ``settings`` changes.
"""

from pipelines.models.triton.client import TritonClient
from pipelines.models.triton.configs import BadConfigError, is_ensemble, named_code, renamed, steps, tensors
from pipelines.models.triton.diagnosis import Diagnosis, diagnose
from pipelines.models.triton.engines import TritonAnswers, TritonIntents, TritonPunctuation, TritonRecognizer
from pipelines.models.triton.settings import ACCELERATORS, ModelSettings, SettingError, adjusted
from pipelines.models.triton.synthesis import TritonSynthesizer
from pipelines.models.triton.turn_end import TritonEndOfTurn

__all__ = [
    "ACCELERATORS",
    "BadConfigError",
    "Diagnosis",
    "ModelSettings",
    "SettingError",
    "TritonAnswers",
    "TritonClient",
    "TritonEndOfTurn",
    "TritonIntents",
    "TritonPunctuation",
    "TritonRecognizer",
    "TritonSynthesizer",
    "adjusted",
    "diagnose",
    "is_ensemble",
    "named_code",
    "renamed",
    "steps",
    "tensors",
]
