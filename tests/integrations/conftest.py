"""Clients that we have not written, each in an environment of its own, against the running service."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.integration.conftest import (
    full_service,
    home_assistant,
    http_url,
    museum,
    serve_options,
    server_address,
    traces,
    triton,
    triton_address,
)
from tests.integrations.recordings import write_wav

if TYPE_CHECKING:
    from pathlib import Path

__all__ = [
    "full_service",
    "home_assistant",
    "http_url",
    "museum",
    "serve_options",
    "server_address",
    "traces",
    "triton",
    "triton_address",
]


@pytest.fixture
def command(tmp_path: Path) -> Path:
    """A command, and the silence after it, as WAV."""
    return write_wav(tmp_path / "command.wav", "lights")


@pytest.fixture
def two_commands(tmp_path: Path) -> Path:
    """Two commands, each with silence after it, as WAV."""
    return write_wav(tmp_path / "commands.wav", "lights", "vacuum")
