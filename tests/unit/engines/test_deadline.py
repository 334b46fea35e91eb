"""How long requests have waited, told without a clock that both sides agree on."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from engines.deadline import MAX_SENDERS, MAX_WAIT_SECONDS, WINDOW_SECONDS, Deadlines

USEFUL_SECONDS = 0.3


class World:
    """A sender and an engine with clocks of their own.

    Attributes:
        now: true time.
        here, there: what the clocks of the engine and of the sender are ahead of it.
    """

    def __init__(self) -> None:
        self.now, self.here, self.there = 1_000.0, 5.0, -70_000.0
        self.deadlines = Deadlines(lambda: self.now + self.here)

    def left(self, waited: float = 0.0, sender: str = "a") -> float:
        """How long the answer to a request is of use which is looked at now, after it has waited."""
        sent = self.now - waited + self.there
        told = {"useful_us": round(1e6 * USEFUL_SECONDS), "sent_us": round(1e6 * sent), "sender": sender}
        left = self.deadlines.seconds_left(request(told))
        assert left is not None
        return left


def request(parameters: object) -> SimpleNamespace:
    return SimpleNamespace(parameters=lambda: parameters if isinstance(parameters, str) else json.dumps(parameters))


@pytest.mark.parametrize(
    "parameters",
    ["", {}, [1], {"useful_us": "1"}, {"useful_us": None}, {"useful_us": True}, {"deadline_us": 1}, {"sent_us": 1}],
)
def test_where_nobody_tells_there_is_no_deadline(parameters: object):
    assert Deadlines().seconds_left(request(parameters)) is None
    assert Deadlines().due(request(parameters)) is None


@pytest.mark.parametrize("told", [{}, {"sent_us": "1"}, {"sent_us": 1, "sender": 7}])
def test_a_duration_alone_counts_from_when_the_request_is_looked_at(told: dict[str, object]):
    deadlines = Deadlines(lambda: 10.0)
    assert deadlines.seconds_left(request({"useful_us": 2_500_000} | told)) == 2.5
    assert deadlines.due(request({"useful_us": 2_500_000} | told)) == 12.5


def test_waiting_is_told_from_requests_that_did_not_wait():
    world = World()
    assert world.left() == pytest.approx(USEFUL_SECONDS)
    assert world.left(waited=0.1) == pytest.approx(USEFUL_SECONDS - 0.1)
    assert world.left(waited=1.0) == pytest.approx(USEFUL_SECONDS - 1.0)


def test_each_sender_has_its_own_clock():
    world = World()
    world.left()
    world.there += 500.0
    assert world.left(sender="b") == pytest.approx(USEFUL_SECONDS)
    assert world.left(waited=1.0, sender="b") < 0


def test_a_clock_that_is_set_back_or_on_a_day_makes_nothing_late_for_long():
    for step in (-86_400.0, 86_400.0):
        world = World()
        world.left()
        world.there += step
        assert world.left() == pytest.approx(USEFUL_SECONDS)
        assert world.left(waited=1.0) < 0


def test_a_clock_that_jumps_a_little_is_followed_within_two_windows():
    world = World()
    world.left()
    world.there -= 1.0
    assert world.left() < 0, "as if it had waited"
    for _ in range(round(2 * WINDOW_SECONDS) + 2):
        world.now += 1.0
        world.left()
    assert world.left() == pytest.approx(USEFUL_SECONDS)


def test_a_queue_that_lasts_a_while_hides_no_waiting():
    world = World()
    world.left()
    for _ in range(round(0.9 * WINDOW_SECONDS)):
        world.now += 1.0
        assert world.left(waited=1.0) < 0


def test_clocks_that_drift_apart_while_nothing_is_asked_make_nothing_late():
    world = World()
    world.left()
    world.now += 3_600.0
    world.there -= 0.36
    assert world.left() == pytest.approx(USEFUL_SECONDS)


def test_nobody_is_taken_to_wait_longer_than_clients_do():
    world = World()
    world.left()
    assert world.left(waited=MAX_WAIT_SECONDS - 1) < 0
    assert world.left(waited=MAX_WAIT_SECONDS + 1) == pytest.approx(USEFUL_SECONDS)


def test_of_many_senders_the_last_are_remembered():
    world = World()
    for number in range(MAX_SENDERS + 1):
        world.left(sender=str(number))
    assert world.left(waited=1.0, sender=str(MAX_SENDERS)) < 0
    assert world.left(waited=1.0, sender="0") == pytest.approx(USEFUL_SECONDS), "a stranger again"
