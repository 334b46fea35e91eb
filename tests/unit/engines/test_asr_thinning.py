"""Partial texts on a model that is more or less busy, by a clock that the tests set."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engines.asr.serving.partial_scheduling import (
    BATCH_SECONDS,
    MAX_STRETCH,
    BusyShare,
    PartialTexts,
    Wish,
    core_wait_seconds,
)

if TYPE_CHECKING:
    from tests.virtual_time import Clock

INTERVAL = 0.4


def work(load: BusyShare, clock: Clock, share: float, seconds: float, period: float = 0.1) -> None:
    """Lets a model compute for a share of every period."""
    for _ in range(round(seconds / period)):
        clock.seconds += (1 - share) * period
        load.begin()
        clock.seconds += share * period
        load.end()


def wish(new: float, *, waited: float | None = None, length: float = 2.0, searched: bool = False) -> Wish:
    return Wish(new, length, new if waited is None else waited, searched)


@pytest.fixture
def partials(clock: Clock) -> PartialTexts:
    return PartialTexts(INTERVAL, 1, clock)


@pytest.mark.parametrize("share", [0.0, 0.3, 0.8, 1.0])
def test_the_busy_share_is_that_of_the_last_seconds(clock: Clock, share: float):
    load = BusyShare(1, clock)
    work(load, clock, share, 10)
    assert load.share == pytest.approx(share, abs=0.03)


def test_an_idle_model_is_found_idle_at_its_next_work(clock: Clock):
    load = BusyShare(1, clock)
    work(load, clock, 1.0, 10)
    clock.seconds += 20
    load.begin()
    assert load.share < 0.01


def test_one_of_two_workers_is_half_of_what_there_is(clock: Clock):
    load = BusyShare(2, clock)
    work(load, clock, 1.0, 20)
    assert load.share == pytest.approx(0.5, abs=0.01)
    load.begin()
    work(load, clock, 0.5, 20)
    assert load.share == pytest.approx(0.75, abs=0.03)


def test_an_idle_model_works_out_every_text_that_is_due(partials: PartialTexts):
    assert partials.choose([wish(0.4), wish(0.39), wish(3.0)]) == [2, 0]
    assert (partials.decoded, partials.thinned) == (2, 0)


def test_the_interval_grows_with_the_load_and_goes_back(partials: PartialTexts, clock: Clock):
    assert partials.stretch == 1
    work(partials.load, clock, 0.7, 20)
    assert 1.5 < partials.stretch < MAX_STRETCH
    work(partials.load, clock, 1.0, 20)
    assert partials.stretch == MAX_STRETCH
    assert partials.choose([wish(3.1)]) == []
    assert partials.choose([wish(3.2)]) == [0]
    assert (partials.decoded, partials.thinned) == (1, 1)
    work(partials.load, clock, 0.2, 20)
    assert partials.stretch == 1
    assert partials.choose([wish(0.4)]) == [0]


def test_partial_texts_become_fewer_while_others_take_the_cores(partials: PartialTexts):
    for waited, stretch in ((0.3, 1.0), (0.75, 4.0), (1.0, MAX_STRETCH)):
        for _ in range(20):
            partials.note_wait(0.1 * waited, 0.1)
        assert partials.stretch == pytest.approx(stretch, rel=0.05)
    assert partials.choose([wish(3.0)]) == []
    for _ in range(4):
        partials.note_wait(0.0, 0.1)
    assert partials.choose([wish(0.4)]) == [0], "it goes back as soon as the cores are free"


def test_waiting_for_a_core_is_told_by_the_system():
    began = core_wait_seconds()
    assert began >= 0
    assert core_wait_seconds() >= began


def test_a_busy_model_works_nothing_out_beside_texts_that_are_waited_for(partials: PartialTexts, clock: Clock):
    assert partials.choose([wish(0.4)], beside=True) == [0]
    work(partials.load, clock, 0.8, 20)
    assert partials.choose([wish(3.2)], beside=True) == []
    assert partials.thinned == 1
    assert partials.choose([wish(3.2)]) == [0], "they come with the next batch"


def test_one_batch_spends_no_more_on_them_than_a_final_text_may_wait(partials: PartialTexts):
    partials.learn(0.02, [2.0], searched=False)
    fitting = round(BATCH_SECONDS / 0.02)
    assert len(partials.choose([wish(0.4)] * 8)) == fitting
    assert partials.thinned == 8 - fitting


def test_one_that_takes_longer_than_a_batch_may_is_worked_out_alone(partials: PartialTexts):
    partials.learn(2 * BATCH_SECONDS, [2.0], searched=False)
    assert len(partials.choose([wish(0.4), wish(0.4)])) == 1


def test_everybody_has_a_turn(partials: PartialTexts):
    """Five streams, of which one batch fits one: within five batches each had its text."""
    partials.learn(BATCH_SECONDS, [2.0], searched=False)
    waited = dict.fromkeys(range(5), 0.4)
    served = []
    for _ in range(5):
        [chosen] = partials.choose([wish(0.4, waited=seconds) for seconds in waited.values()])
        served.append(chosen)
        waited = {stream: 0.4 if stream == chosen else seconds + 0.4 for stream, seconds in waited.items()}
    assert sorted(served) == [0, 1, 2, 3, 4]


def test_a_file_that_comes_at_once_does_not_go_before_who_speaks(partials: PartialTexts, clock: Clock):
    """Ten seconds of audio in a tenth of a second: on a busy model time counts, and not audio alone."""
    partials.learn(BATCH_SECONDS, [2.0], searched=False)
    assert partials.choose([wish(10.0, waited=0.1), wish(0.4)]) == [1]
    work(partials.load, clock, 1.0, 20)
    assert partials.choose([wish(10.0, waited=0.1)]) == []
    assert partials.choose([wish(10.0, waited=3.2)]) == [0]


def test_searches_cost_what_searches_were_measured_to_cost(partials: PartialTexts):
    partials.learn(0.001, [2.0], searched=False)
    partials.learn(BATCH_SECONDS, [2.0], searched=True)
    searched, plain = wish(0.4, waited=1.0, searched=True), wish(0.4)
    assert partials.choose([searched, searched, plain]) == [0]
    waited_longer = wish(0.4, waited=2.0)
    assert partials.choose([searched, *[waited_longer] * 20]) == list(range(1, 21))


def test_costs_follow_what_is_measured(partials: PartialTexts):
    for _ in range(40):
        partials.learn(BATCH_SECONDS, [1.0, 1.0], searched=False)
    assert len(partials.choose([wish(0.4)] * 3)) == 1
    for _ in range(40):
        partials.learn(BATCH_SECONDS / 10, [1.0, 1.0], searched=False)
    assert len(partials.choose([wish(0.4)] * 3)) == 3
