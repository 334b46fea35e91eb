"""Triton model ``qa_bert``: scores starts and ends of answers with ``engines.bert.network_model``."""

from engines.bert.network_model import TritonPythonModel

__all__ = ["TritonPythonModel"]
