"""Triton model ``intent_slot_bert``: scores intents and tags with ``engines.bert.network_model``."""

from engines.bert.network_model import TritonPythonModel

__all__ = ["TritonPythonModel"]
