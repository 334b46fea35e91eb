"""Which requests a worker takes, and which are left for the others."""

from __future__ import annotations

import dataclasses

import pytest

from engines.asr.serving.queueing import MAX_LATE_SECONDS, MAX_TEXTS, NEEDED_SECONDS, RequestQueue, Ticket
from tests.unit.engines.counting_recognizer import request

NOW = 1e9
SOON, PASSED = NEEDED_SECONDS / 2, -1.0
IN_TIME, LONG_PASSED = 2 * NEEDED_SECONDS, -MAX_LATE_SECONDS - 1


def tickets(*wanted: str) -> list[Ticket]:
    """``1``: audio of sequence 1; ``1d``: its text is asked for; ``1e``: it ends."""
    flags = {"d": {"decode": True}, "e": {"end": True}}
    return [Ticket(request(int(w.rstrip("de")), 1, **flags.get(w[-1], {})), print) for w in wanted]


def due(name: str, seconds: float) -> Ticket:
    """A text that is of use for so many seconds."""
    (ticket,) = tickets(name)
    return dataclasses.replace(ticket, request=dataclasses.replace(ticket.request, deadline_seconds=NOW + seconds))


def names(taken: list[Ticket]) -> list[str]:
    return [f"{t.request.sequence_id}{'d' * t.request.decode}{'e' * t.request.end}" for t in taken]


@pytest.fixture
def queue() -> RequestQueue:
    return RequestQueue(workers=2, most=32, clock=lambda: NOW)


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


def test_texts_that_come_too_late_wait_for_those_that_do_not(queue: RequestQueue):
    queue.put([due("1d", SOON), due("2e", PASSED), due("3d", IN_TIME), *tickets("4e")])
    assert names(queue.take()) == ["3d", "4e"]
    assert names(queue.take()) == ["1d"]
    assert names(queue.take()) == ["2e"]


def test_nobody_is_late_for_ever(queue: RequestQueue):
    queue.put([due("1d", LONG_PASSED), due("2d", IN_TIME)])
    assert names(queue.take()) == ["1d"]


def test_audio_is_never_late(queue: RequestQueue):
    queue.put([due("1", PASSED), due("2d", IN_TIME)])
    assert names(queue.take()) == ["1", "2d"]


def test_a_late_sequence_stays_in_order(queue: RequestQueue):
    queue.put([due("1d", PASSED), due("1e", IN_TIME), due("2d", IN_TIME), due("3d", IN_TIME)])
    assert names(queue.take()) == ["2d", "3d"]
    assert names(queue.take()) == ["1d"]


def test_a_rush_is_worked_off_in_batches_of_a_few(queue: RequestQueue):
    queue.put(tickets(*(f"{number}d" for number in range(1, 21))))
    assert len(queue.take()) == MAX_TEXTS
