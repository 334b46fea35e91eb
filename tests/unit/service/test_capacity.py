"""How many may come in, as arithmetic: nothing here has a clock."""

from __future__ import annotations

import pytest

from service.admission.capacity import (
    NEWCOMER,
    AdaptiveLimit,
    Evidence,
    Shortage,
    SpeechShare,
    safe_part,
    slowest_twentieth,
)


def steady(utilization: float | None, busy: float, demand: float) -> Evidence:
    return Evidence(utilization, busy, demand, carried=demand)


EASE = steady(utilization=0.2, busy=0.4, demand=5.0)
OVERLOAD = steady(utilization=1.2, busy=0.95, demand=5.0)


def heard(pattern: list[float], seconds: int) -> SpeechShare:
    """The share of a stream in which the seconds of a pattern are speech, over and over."""
    share = SpeechShare()
    for second in range(seconds):
        share.observe(pattern[second % len(pattern)], 1.0)
    return share


def test_who_comes_counts_as_half_a_speaker():
    assert SpeechShare().expected == NEWCOMER


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [([1.0, 1.0, 0.0], 0.67), ([1.0], 1.0), ([0.0], 0.02), ([12.0], 12.0), ([1.0] + [0.0] * 9, 0.1)],
)
def test_a_conversation_counts_as_much_as_is_said_in_it(pattern: list[float], expected: float):
    assert heard(pattern, 180).expected == pytest.approx(expected, abs=0.08)


def test_who_falls_silent_makes_room_within_a_minute():
    share = heard([1.0], 120)
    for _ in range(60):
        share.observe(0.0, 1.0)
    assert share.expected < 0.2


def test_how_often_it_is_looked_at_does_not_matter():
    often, seldom = SpeechShare(), SpeechShare()
    for _ in range(40):
        often.observe(0.05, 0.1)
    for _ in range(2):
        seldom.observe(1.0, 2.0)
    assert often.expected == pytest.approx(seldom.expected, abs=0.02)


def test_the_limit_begins_below_what_the_machine_carried():
    assert AdaptiveLimit(20).speakers == pytest.approx(6)
    assert AdaptiveLimit(0.1).speakers == 1


@pytest.mark.parametrize(("alone_seconds", "part"), [(0.05, 0.3), (0.35, 0.3), (0.56, 0.2), (2.0, 0.1)])
def test_a_machine_that_is_slow_for_one_is_not_loaded_far(alone_seconds: float, part: float):
    assert safe_part(alone_seconds) == pytest.approx(part)
    assert AdaptiveLimit(20, part).speakers == pytest.approx(20 * part)


def test_it_grows_by_steps_while_replies_are_easy_and_the_room_is_used():
    limit = AdaptiveLimit(20)
    found = [(second, limit.speakers) for second in range(20) if limit.update(steady(0.2, 0.4, limit.speakers), second)]
    assert found == [(second, pytest.approx(7 + second / 4)) for second in range(0, 20, 4)]


def test_a_limit_that_is_not_used_does_not_grow():
    limit = AdaptiveLimit(20)
    assert not any(limit.update(steady(0.1, 0.1, 2.0), second) for second in range(60))


def test_it_grows_no_further_than_what_is_carried_warrants():
    limit = AdaptiveLimit(20)
    for second in range(60):
        limit.update(steady(0.2, 0.4, 6.8), second)
    assert limit.speakers == pytest.approx(8), "6.8 is 85 % of it"


def test_those_who_have_just_come_do_not_make_room_for_more():
    limit = AdaptiveLimit(30)
    assert not any(limit.update(Evidence(0.1, 0.1, demand=9.0, carried=4.0), second) for second in range(60))
    assert limit.update(Evidence(0.1, 0.1, demand=9.0, carried=9.0), 60)


def test_it_never_grows_beyond_what_the_machine_carried():
    limit = AdaptiveLimit(20)
    for second in range(600):
        limit.update(steady(0.2, 0.4, limit.speakers), second)
    assert limit.speakers == 20


def test_it_shrinks_from_what_is_there_when_replies_are_about_to_be_late():
    limit = AdaptiveLimit(20)
    assert limit.update(OVERLOAD, 0)
    assert limit.speakers == pytest.approx(0.85 * 5)


def test_it_never_shrinks_to_nothing():
    limit = AdaptiveLimit(20)
    for second in range(600):
        limit.update(steady(3.0, 1.0, 0.1), second)
    assert limit.speakers == 2


def test_what_a_change_brings_about_is_waited_for():
    limit = AdaptiveLimit(20)
    changes = [second for second in range(12) if limit.update(steady(2.0, 1.0, limit.speakers), second)]
    assert changes == [0, 4, 8]


@pytest.mark.parametrize("evidence", [steady(0.7, 0.5, 9.9), steady(0.2, 0.85, 9.9), steady(None, 0.1, 9.9)])
def test_between_ease_and_utilization_nothing_changes(evidence: Evidence):
    limit = AdaptiveLimit(20)
    assert not any(limit.update(evidence, second) for second in range(60))


def test_it_settles_below_what_a_machine_really_carries():
    """A machine that carries 12 where 20 were measured: the utilization of its replies grows with what is said."""
    limit, demand, late = AdaptiveLimit(20), 0.0, 0
    for second in range(600):
        demand = min(limit.speakers, demand + 1) if demand < limit.speakers else demand - 0.3
        utilization = 0.3 + 0.7 * (demand / 12) ** 4
        late += second > 120 and utilization > 1
        limit.update(steady(utilization, min(1.0, demand / 13), demand), second)
    assert 8 < limit.speakers < 12
    assert late == 0


def test_the_slowest_twentieth_needs_enough_replies():
    assert slowest_twentieth([1.0] * 4) is None
    assert slowest_twentieth([0.1] * 19 + [0.9]) == 0.1
    assert slowest_twentieth([0.1] * 18 + [0.8, 0.9]) == 0.8
    assert slowest_twentieth([5.0, 1.0, 2.0, 3.0, 4.0]) == 5.0


def test_a_shortage_ends_later_than_it_begins():
    shortage = Shortage()
    states = [shortage.update(steady(None, busy, 1.0)) for busy in (0.8, 0.9, 0.8, 0.7, 0.5, 0.8)]
    assert states == [False, True, True, True, False, False]
    assert shortage.update(steady(0.9, 0.1, 1.0))
    assert shortage.update(steady(0.6, 0.1, 1.0))
    assert not shortage.update(EASE)
