"""What becomes of an engine's versions: a pure state machine, in which random walks keep its promises."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.errors import RolloutRefusedError
from pipelines.models.versions.bookkeeping import Phase, Versions


def phases(versions: Versions) -> dict[int, str]:
    return {version.number: version.phase.value for version in versions.known}


def after(*numbers: int) -> Versions:
    """Versions 1 and ``numbers``, each of which has taken over from the one before it."""
    versions = Versions.initial("qa", "shipped", 0)
    for at, number in enumerate(numbers, start=1):
        versions = versions.begin_load(number, f"engine {number}", at).activate(number, at)
    return versions


def test_the_first_version_serves_from_the_beginning():
    versions = after()
    assert phases(versions) == {1: "ACTIVE"}
    assert versions.active.source == "shipped"


def test_a_version_takes_no_traffic_while_it_is_loaded():
    versions = after().begin_load(2, "new", 5)
    assert phases(versions) == {1: "ACTIVE", 2: "LOADING"}
    assert versions.active.number == 1


def test_a_version_that_takes_over_leaves_the_one_before_ready_and_drains_older_ones():
    assert phases(after(2)) == {1: "READY", 2: "ACTIVE"}
    assert phases(after(2, 3)) == {1: "DRAINING", 2: "READY", 3: "ACTIVE"}
    assert after(2, 3).find(1).since == 2


def test_a_version_that_failed_changes_nothing_and_is_remembered_until_the_next_one_fails():
    versions = after(2).begin_load(3, "broken", 7).fail(3, "its weights are missing", 8)
    assert phases(versions) == {1: "READY", 2: "ACTIVE", 3: "FAILED"}
    assert versions.find(3).reason == "its weights are missing"
    versions = versions.begin_load(4, "broken too", 9).fail(4, "as well", 10)
    assert phases(versions) == {1: "READY", 2: "ACTIVE", 4: "FAILED"}


def test_rolling_back_returns_to_the_version_before_and_drains_the_one_that_served():
    assert phases(after(2, 3).forget(1).roll_back(9)) == {2: "ACTIVE", 3: "DRAINING"}


def test_there_must_be_something_to_roll_back_to():
    for versions in (after(), after(2).roll_back(9), after().begin_load(2, "new", 1)):
        with pytest.raises(RolloutRefusedError) as refused:
            versions.roll_back(9)
        assert refused.value.reason == "NOTHING_TO_ROLL_BACK_TO"


def test_a_load_may_end_after_the_version_that_it_began_beside_was_rolled_back():
    versions = after(2).begin_load(3, "new", 5).roll_back(6).activate(3, 7)
    assert phases(versions) == {1: "READY", 2: "DRAINING", 3: "ACTIVE"}


@pytest.mark.parametrize(
    ("versions", "number", "reason"),
    [
        (after(2), 2, "VERSION_ACTIVE"),
        (after(2, 3), 1, "VERSION_DRAINING"),
        (after().begin_load(2, "new", 1), 2, "LOAD_UNDER_WAY"),
        (after(), 2, "UNKNOWN_VERSION"),
    ],
)
def test_what_is_needed_cannot_be_unloaded(versions: Versions, number: int, reason: str):
    with pytest.raises(RolloutRefusedError) as refused:
        versions.unload(number, 9)
    assert refused.value.reason == reason


def test_the_version_kept_ready_is_drained_and_one_that_failed_is_forgotten():
    versions = after(2).begin_load(3, "broken", 3).fail(3, "broken", 4)
    assert phases(versions.unload(1, 9)) == {1: "DRAINING", 2: "ACTIVE", 3: "FAILED"}
    assert phases(versions.unload(3, 9)) == {1: "READY", 2: "ACTIVE"}


@given(st.lists(st.sampled_from(["load", "break", "roll back", "unload", "gone"]), max_size=40), st.randoms())
def test_one_version_is_always_active_and_few_are_loaded(steps: list[str], chance):
    versions, last = after(), 1
    for at, step in enumerate(steps):
        before = versions.active
        try:
            match step:
                case "load" | "break":
                    last += 1
                    loading = versions.begin_load(last, "new", at)
                    assert loading.active == before
                    versions = loading.activate(last, at) if step == "load" else loading.fail(last, "broken", at)
                case "roll back":
                    versions = versions.roll_back(at)
                case "unload":
                    versions = versions.unload(chance.choice(versions.known).number, at)
                case "gone":
                    for draining in versions.in_phase(Phase.DRAINING):
                        versions = versions.forget(draining.number)
        except RolloutRefusedError:
            assert versions.active == before
        assert len(versions.in_phase(Phase.ACTIVE)) == 1
        assert len(versions.in_phase(Phase.READY)) <= 1
        assert len(versions.in_phase(Phase.FAILED)) <= 1
        assert len({version.number for version in versions.known}) == len(versions.known)
