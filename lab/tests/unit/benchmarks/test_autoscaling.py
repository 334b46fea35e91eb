"""The chart's rule for the number of pods, by the formula of Kubernetes."""

from __future__ import annotations

import itertools
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from benchmarks.autoscaling import CHART, Rule, Sample, main, pods_over_time, rule_of

if TYPE_CHECKING:
    from pathlib import Path

RULE = Rule(least=2, most=10, target=0.6, shrink_window_seconds=600, shrink_period_seconds=120)


def pods(*loads: tuple[float, float], until: float, rule: Rule = RULE) -> dict[float, int]:
    """Pods by time; each load holds from its second on, in services that are filled."""
    samples = [Sample(at, load, 1.0) for at, load in loads]
    return {at: count for at, _, count in pods_over_time([*samples, Sample(until, samples[-1].speakers, 1.0)], rule)}


@pytest.mark.parametrize(
    ("load", "expected"),
    [
        (0.0, 2),
        (1.2, 2),
        (1.31, 2),  # 9 % above the target: within the tolerance
        (1.33, 3),  # ceil(1.33 / 0.6)
        (3.6, 6),
        (6.0, 10),
        (9.0, 10),  # no more than the most
    ],
)
def test_pods_follow_the_formula(load: float, expected: int):
    assert pods((0, load), until=60)[60] == expected


def test_pods_come_at_once_at_most_four_or_twice_as_many_a_look():
    found = pods((0, 0.0), (30, 60.0), until=75, rule=Rule(1, 100, 0.6, 600, 120))
    assert [found[at] for at in (15, 30, 45, 60, 75)] == [1, 5, 10, 20, 40]


def test_pods_go_one_in_two_minutes_ten_minutes_after_the_last_need():
    found = pods((0, 3.0), (60, 0.0), until=1200)
    assert found[60] == 5
    shrinks = [at for at in sorted(found) if at and found[at] < found[at - 15]]
    assert [found[at] for at in shrinks] == [4, 3, 2]
    assert shrinks[0] == 645, "the last look at which five were wanted was at 45 s"
    assert [later - earlier for earlier, later in itertools.pairwise(shrinks)] == [120, 120]


def test_the_rule_is_that_of_the_chart():
    values = {"autoscaling": {"kind": "hpa", "minReplicas": 3, "maxReplicas": 12, "targetPercent": 55}}
    rule = rule_of(CHART, values | {"auth": {"insecure": True}})
    assert rule == Rule(3, 12, 0.55, 600, 120)


def test_a_recording_is_replayed_and_a_chart_without_a_rule_is_refused(tmp_path: Path):
    recording, values = tmp_path / "load.jsonl", tmp_path / "values.yaml"
    lines = [{"seconds": second, "speakers": 1.5, "limit": 10} for second in range(3)]
    recording.write_text("".join(json.dumps(line) + "\n" for line in lines))
    values.write_text("autoscaling: {kind: none}\n")
    shown = CliRunner().invoke(main, ["replay", str(recording), "--times", "20", "--stretch", "10"])
    assert shown.output.splitlines()[1:] == ["     0 s  150%  5 pods", "    15 s   60%  5 pods"]
    refused = CliRunner().invoke(main, ["replay", str(recording), "--values", str(values)])
    assert refused.exit_code == 1
    assert "set autoscaling.kind=hpa" in refused.output
