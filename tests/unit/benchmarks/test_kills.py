"""The measurement of kills in mid-utterance: what it counts."""

from __future__ import annotations

import dataclasses

import pytest

from benchmarks.kills import Heard, summary

WHOLE = Heard(("turn off the lights",), ("COMPLETE",), (), 0.5)


@pytest.mark.parametrize(
    "changes",
    [
        {"transcripts": ("turn off",)},
        {"transcripts": ("turn off the lights", "turn off the lights")},
        {"statuses": ("DEGRADED",)},
        {"statuses": ("COMPLETE", "COMPLETE")},
        {"statuses": ()},
        {"error": "ServerUnavailable"},
    ],
)
def test_what_is_not_whole_is_listed(changes: dict[str, object]):
    found = summary([("lights", dataclasses.replace(WHOLE, **changes), WHOLE), ("music", WHOLE, WHOLE)])
    assert (found["kills"], found["whole"]) == (2, 1)
    assert [other["utterance"] for other in found["others"]] == ["lights"]


def test_lateness_and_notices_are_summed_up():
    late = [dataclasses.replace(WHOLE, late_seconds=seconds, notices=("MODEL_RECOVERED",)) for seconds in (1.0, 3.0)]
    found = summary([("lights", heard, WHOLE) for heard in (*late, WHOLE)])
    assert found["told_by_notice"] == 2
    assert (found["late_seconds_median"], found["late_seconds_longest"]) == (1.0, 3.0)
    assert found["others"] == []
