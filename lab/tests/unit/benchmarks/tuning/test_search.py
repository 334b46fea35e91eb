"""Which candidate a search chooses, on machines that are known."""

from __future__ import annotations

import pytest

from benchmarks.tuning.outcome import held
from benchmarks.tuning.search import MAX_STREAMS, Search
from benchmarks.tuning.space import DEFAULT, Candidate
from lab.tests.unit.benchmarks.tuning.fakes import DELAY, INSTANCES, INTERVAL, MORE_THREADS, MOVES, THREADS, FakeMachine

HOUR = 3600.0


def search(machine: FakeMachine, seconds: float = HOUR) -> Search:
    return Search(MOVES, machine, seconds, load_seconds=20.0)


def test_the_moves_that_help_are_found_and_put_together():
    machine = FakeMachine(factors={INTERVAL: 1.5, THREADS: 0.8, MORE_THREADS: 0.7, INSTANCES: 1.2, DELAY: 0.9})
    found = search(machine).run()
    assert found.best == DEFAULT.with_move(INTERVAL).with_move(INSTANCES)
    assert found.confirmed
    assert held(found.points, found.best) > held(found.points, DEFAULT)


def test_moves_that_spoil_each_other_are_not_put_together():
    class Jealous(FakeMachine):
        def __call__(self, candidate, streams, seconds, *, unseen=False):
            if {INTERVAL, INSTANCES} <= set(candidate.moves):
                candidate = DEFAULT.with_move(THREADS)
            return super().__call__(candidate, streams, seconds, unseen=unseen)

    found = search(Jealous(factors={INTERVAL: 1.5, THREADS: 0.5, INSTANCES: 1.2})).run()
    assert found.best == DEFAULT.with_move(INTERVAL)


@pytest.mark.parametrize("noise", [0.0, 0.02, 0.1])
def test_where_nothing_helps_the_default_stays(noise: float):
    found = search(FakeMachine(factors=dict.fromkeys(MOVES, 0.8), noise=noise)).run()
    assert found.best == DEFAULT
    assert found.confirmed


def test_a_machine_that_gets_slower_hides_no_gain_and_makes_none_up():
    assert search(FakeMachine(factors={INTERVAL: 1.6}, drift=0.01)).run().best == DEFAULT.with_move(INTERVAL)
    assert search(FakeMachine(factors=dict.fromkeys(MOVES, 0.9), drift=0.01)).run().best == DEFAULT


def test_what_a_winner_holds_is_found_also_below_the_load_at_which_it_won():
    found = search(FakeMachine(holds=21, factors={INTERVAL: 1.1})).run()
    assert found.best == DEFAULT.with_move(INTERVAL)
    assert found.streams > 1.1 * 21
    assert 1.1 * 21 - found.streams // 4 <= held(found.points, found.best) <= 1.1 * 21


def test_what_is_better_only_when_too_many_speak_does_not_win():
    class Overloaded(FakeMachine):
        def __call__(self, candidate: Candidate, streams: int, seconds: float, *, unseen=False):
            if candidate.moves and streams <= 21:
                candidate = DEFAULT.with_move(THREADS)
            return super().__call__(candidate, streams, seconds, unseen=unseen)

    found = search(Overloaded(holds=21, factors={INSTANCES: 1.5, THREADS: 0.9})).run()
    assert found.carried_streams <= 21 < found.streams
    assert found.best == DEFAULT
    assert found.confirmed


def test_what_takes_too_much_memory_does_not_win_and_what_saves_it_does():
    factors = {INTERVAL: 1.5, INSTANCES: 1.3, THREADS: 0.8}
    taken = {INSTANCES: 500.0, INTERVAL: 50.0, THREADS: -200.0}
    found = search(FakeMachine(factors=factors, memory=(taken, 1_100))).run()
    assert found.best == DEFAULT.with_move(INTERVAL)
    assert all(point.outcome.fits for point in found.points if point.candidate == found.best)
    # The default itself is too large.
    found = search(FakeMachine(factors=factors, memory=(taken, 900))).run()
    assert found.best.moves == (THREADS,)
    assert found.confirmed
    assert held(found.points, DEFAULT) == 0 < held(found.points, found.best)


def test_a_choice_that_other_conversations_do_not_bear_out_does_not_stand():
    class Overfitted(FakeMachine):
        def __call__(self, candidate, streams, seconds, *, unseen=False):
            if unseen and INTERVAL in candidate.moves:
                candidate = DEFAULT.with_move(THREADS)
            return super().__call__(candidate, streams, seconds, unseen=unseen)

    machine = Overfitted(factors={INTERVAL: 1.5, THREADS: 0.6, INSTANCES: 1.2})
    found = search(machine).run()
    assert INTERVAL not in found.best.moves
    assert machine.unseen >= 2
    sound = search(FakeMachine(factors={INTERVAL: 1.5})).run()
    assert sound.check is not None
    assert sound.check[0].p95_ms < sound.check[1].p95_ms


def test_settings_with_which_nothing_comes_up_are_left():
    found = search(FakeMachine(factors={INTERVAL: 1.5, INSTANCES: 3.0}, broken=INSTANCES)).run()
    assert found.best == DEFAULT.with_move(INTERVAL)


def test_candidates_meet_at_the_load_that_the_default_just_does_not_carry():
    found = search(FakeMachine(holds=21)).run()
    assert 21 < found.streams <= 26


def test_a_machine_that_carries_everything_is_loaded_with_what_is_admitted():
    found = search(FakeMachine(holds=10_000)).run()
    assert found.streams == max(point.streams for point in found.points) == MAX_STREAMS


@pytest.mark.parametrize("minutes", [15, 20, 30])
@pytest.mark.parametrize("holds", [21, 28, 30, 62])
def test_no_load_above_one_that_failed_is_tried_for_the_default(holds: int, minutes: int):
    found = search(FakeMachine(holds=holds), 60.0 * minutes).run()
    failed = MAX_STREAMS
    for candidate, streams, outcome in found.points:
        if candidate == DEFAULT:
            assert streams <= failed
            failed = failed if outcome.carried else min(failed, streams)
    assert holds < found.streams <= failed


@pytest.mark.parametrize("minutes", [2, 5, 10, 30])
def test_the_time_is_kept(minutes: int):
    machine = FakeMachine(factors={INTERVAL: 1.5})
    search(machine, 60.0 * minutes).run()
    assert machine.seconds <= 60 * minutes


def test_without_time_for_a_comparison_nothing_wins():
    said: list[str] = []
    found = Search(MOVES, FakeMachine(factors={INTERVAL: 1.5}), 240.0, 20.0, said.append).run()
    assert found.best == DEFAULT
    assert not found.confirmed
    assert any("give more --minutes" in line for line in said)


@pytest.mark.parametrize("holds", [3, 21, 62, 200])
def test_the_time_that_is_called_enough_lets_a_candidate_win(holds: int):
    enough = search(FakeMachine(holds=holds), 60.0).run().enough
    found = search(FakeMachine(holds=holds, factors={INTERVAL: 1.5}), 60.0 * enough.minutes).run()
    assert found.confirmed
    assert found.best == DEFAULT.with_move(INTERVAL)
    assert enough.moves == len(MOVES)


def test_the_time_for_all_moves_lets_all_be_tried():
    enough = search(FakeMachine(), 60.0).run().enough
    found = search(FakeMachine(), 60.0 * enough.all_minutes).run()
    assert {move for point in found.points for move in point.candidate.moves} == set(MOVES)


def test_without_time_to_try_anything_nothing_is_decided():
    found = search(FakeMachine(), 60.0).run()
    assert found.best == DEFAULT
    assert not found.confirmed


def test_an_interrupted_search_leaves_the_best_so_far():
    class Interrupted(FakeMachine):
        def __call__(self, candidate: Candidate, streams: int, seconds: float, *, unseen=False):
            if len(self.asked) == 12:
                raise KeyboardInterrupt
            return super().__call__(candidate, streams, seconds, unseen=unseen)

    searching = search(Interrupted(factors={INTERVAL: 1.5}))
    with pytest.raises(KeyboardInterrupt):
        searching.run()
    assert searching.found.best == DEFAULT.with_move(INTERVAL)
    assert not searching.found.confirmed
