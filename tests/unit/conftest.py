from __future__ import annotations

import socket

import pytest

from tests.virtual_time import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def free_address() -> str:
    """An address at which nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"
