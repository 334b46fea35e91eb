"""The idle benchmark: what it measures are the conversations that it names."""

from __future__ import annotations

import asyncio

import psutil
import pytest

from benchmarks import conversation
from tests import virtual_time
from vivavoce import Overloaded

HELD = 20


class FakeService:
    """Holds so many conversations at a time, and refuses the rest."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._open = 0

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_) -> None:
        pass

    async def converse(self, *_, **__):
        if self._open >= self._most:
            raise Overloaded("no more", code="RESOURCE_EXHAUSTED")
        self._open += 1
        try:
            await asyncio.sleep(3600)
            yield None
        finally:
            self._open -= 1


def idle(monkeypatch: pytest.MonkeyPatch, most: int) -> dict[str, object]:
    service = FakeService(most)
    monkeypatch.setattr(conversation.vivavoce, "connect", lambda *_, **__: service)
    return virtual_time.run(conversation.idle("nowhere", psutil.Process()))


def test_conversations_that_are_all_held_are_measured(monkeypatch: pytest.MonkeyPatch):
    assert all(name.endswith("_20_percent_of_a_core") for name in idle(monkeypatch, HELD))


def test_conversations_that_were_refused_are_not_counted_as_idle(monkeypatch: pytest.MonkeyPatch):
    with pytest.raises(RuntimeError, match="6 of 20 conversations were not held to the end: no more"):
        idle(monkeypatch, 14)
