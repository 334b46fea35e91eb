"""Which requests a worker takes, and which are left for the others."""

from __future__ import annotations

import pytest

from engines.asr.queueing import RequestQueue, Ticket
from tests.unit.engines.counting_recognizer import request


def tickets(*wanted: str) -> list[Ticket]:
    """``1``: audio of sequence 1; ``1d``: its text is asked for; ``1e``: it ends."""
    flags = {"d": {"decode": True}, "e": {"end": True}}
    return [Ticket(request(int(w.rstrip("de")), 1, **flags.get(w[-1], {})), print) for w in wanted]


def names(taken: list[Ticket]) -> list[str]:
    return [f"{t.request.sequence_id}{'d' * t.request.decode}{'e' * t.request.end}" for t in taken]


@pytest.fixture
def queue() -> RequestQueue:
    return RequestQueue(workers=2, most=32)


def test_audio_is_taken_in_together_and_texts_are_shared(queue: RequestQueue):
    queue.put(tickets("1", "2d", "3", "4e", "5d", "6"))
    assert names(queue.take()) == ["1", "2d", "3", "4e", "6"]
    assert names(queue.take()) == ["5d"]
    assert len(queue) == 0


def test_who_came_first_is_first(queue: RequestQueue):
    queue.put(tickets("1d", "2d", "3d", "4d"))
    assert names(queue.take()) == ["1d", "2d"]
    queue.put(tickets("5d"))
    assert names(queue.take()) == ["3d", "4d"]


def test_a_sequence_is_worked_on_by_one_worker_and_in_order(queue: RequestQueue):
    queue.put(tickets("1d"))
    taken = queue.take()
    queue.put(tickets("1", "1e", "2"))
    assert names(queue.take()) == ["2"]
    assert not queue.is_ready
    queue.done(taken)
    assert queue.is_ready
    assert names(queue.take()) == ["1", "1e"]


def test_nothing_of_a_sequence_overtakes_a_text_that_was_left(queue: RequestQueue):
    queue.put(tickets("1d", "2d", "2", "3"))
    first = queue.take()
    assert names(first) == ["1d", "3"]
    assert names(queue.take()) == ["2d", "2"]


def test_no_more_are_taken_than_make_a_batch():
    queue = RequestQueue(workers=2, most=1)
    queue.put(tickets("1", "2d", "3d", "4d"))
    assert [names(queue.take()) for _ in range(4)] == [["1"], ["2d"], ["3d"], ["4d"]]


def test_of_an_empty_queue_nothing_is_taken(queue: RequestQueue):
    assert not queue.is_ready
    assert queue.take() == []
