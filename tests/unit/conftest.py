from __future__ import annotations

import pytest

from tests.virtual_time import Clock


@pytest.fixture
def clock() -> Clock:
    return Clock()
