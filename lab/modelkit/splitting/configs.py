"""Reading and writing of ``config.pbtxt``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from modelkit.errors import EngineError

if TYPE_CHECKING:
    from pathlib import Path

CONFIG = "config.pbtxt"


def read_config(model: Path) -> model_config_pb2.ModelConfig:
    """Read the configuration of a model's folder.

    Raises:
        EngineError: it cannot be read.
    """
    path = model / CONFIG
    try:
        return text_format.Parse(path.read_text(encoding="utf-8"), model_config_pb2.ModelConfig())
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise EngineError(f"{path} cannot be read ({error}): make the engine again") from error


def write_config(model: Path, config: model_config_pb2.ModelConfig) -> None:
    """Write the configuration of a model's folder."""
    (model / CONFIG).write_text(str(text_format.MessageToString(config)), encoding="utf-8")
