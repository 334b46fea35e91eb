"""Conversations say what they have said, message by message, at the same times."""

from __future__ import annotations

import json

import pytest

from tests.unit.pipelines.histories import HISTORIES, KEPT, hold


@pytest.fixture(scope="module")
def kept() -> dict[str, list]:
    return json.loads(KEPT.read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", HISTORIES)
def test_a_conversation_says_what_it_has_said(name: str, kept: dict[str, list]):
    assert json.loads(json.dumps(hold(name))) == kept[name]
