"""How often a lost connection is tried to be made anew, in time that the tests make."""

from __future__ import annotations

from vivavoce._outage import Outage


def _pauses(outage: Outage, moment: float) -> list[float]:
    pauses = []
    while (pause := outage.pause_seconds(moment, None)) is not None:
        pauses.append(pause)
        moment += pause
    return pauses


def test_pauses_grow_up_to_two_seconds_until_the_time_is_over() -> None:
    outage = Outage(10.0, chance=lambda: 0.5)
    outage.lost(100.0)

    assert _pauses(outage, 100.0) == [0.0, 0.25, 0.5, 1.0, 2.0, 2.0, 2.0, 2.0]
    assert outage.left_seconds(109.75) == 0.25


def test_callers_do_not_come_back_all_at_once() -> None:
    def second_pause(chance: float) -> float | None:
        outage = Outage(10.0, chance=lambda: chance)
        outage.lost(0.0)
        outage.pause_seconds(0.0, None)
        return outage.pause_seconds(0.0, None)

    assert (second_pause(0.0), second_pause(1.0)) == (0.1875, 0.3125)


def test_a_server_that_says_when_to_come_back_is_obeyed_within_the_time() -> None:
    outage = Outage(5.0, chance=lambda: 0.5)
    outage.lost(0.0)

    assert outage.pause_seconds(0.0, 3.0) == 3.0
    assert outage.pause_seconds(3.0, 2.5) is None


def test_a_server_that_dies_at_once_has_not_come_back() -> None:
    outage = Outage(3.0, chance=lambda: 0.5)
    outage.lost(0.0)
    assert outage.pause_seconds(0.0, None) == 0.0
    outage.over(0.5)
    outage.lost(1.0)

    assert outage.left_seconds(1.0) == 2.0
    assert outage.pause_seconds(1.0, None) == 0.25


def test_a_server_that_stays_has_come_back() -> None:
    outage = Outage(3.0)
    outage.lost(0.0)
    outage.over(0.5)
    outage.lost(2.5)

    assert outage.left_seconds(2.5) == 3.0


def test_a_reply_ends_the_outage() -> None:
    outage = Outage(3.0)
    outage.lost(0.0)
    outage.over(0.5)
    outage.forget()
    outage.lost(1.0)

    assert outage.left_seconds(1.0) == 3.0
    assert outage.pause_seconds(1.0, None) == 0.0
