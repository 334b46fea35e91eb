"""`python -m benchmarks.autoscaling`: how many pods the chart's rule would have, on metrics that were recorded."""

from __future__ import annotations

import json
import math
import re
import time
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import yaml

if TYPE_CHECKING:
    from collections.abc import Sequence

CHART = Path(__file__).parents[2] / "deploy" / "helm" / "vivavoce"
TOLERANCE = 0.1
"""The autoscaler of Kubernetes leaves a ratio that is this close to 1 alone."""
SYNC_SECONDS = 15.0
"""It looks so often."""
_FASTEST_GROWTH_PODS, _FASTEST_GROWTH_FACTOR = 4, 2
"""It adds at most so many pods, or so many times the pods, in one look, whichever is more."""
_GAUGE = re.compile(r"^vivavoce_(speakers|speakers_limit)(?:\{[^}]*\})? (\S+)$", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Sample:
    """Load of one service at one time.

    Attributes:
        seconds: since the recording began.
        speakers: people who are expected to speak at a time.
        limit: speakers that one service can answer in time.
    """

    seconds: float
    speakers: float
    limit: float


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule of a HorizontalPodAutoscaler over one metric of the pods.

    Attributes:
        least: pods.
        most: pods.
        target: mean of speakers over their limit that is aimed at.
        shrink_window_seconds: the most pods that were wanted within this time are kept.
        shrink_period_seconds: one pod goes in so much time.
    """

    least: int
    most: int
    target: float
    shrink_window_seconds: float
    shrink_period_seconds: float


def rule_of(chart: Path, values: dict[str, Any]) -> Rule:
    """Render a chart and read its rule.

    Raises:
        click.ClickException: it has none with these values.
    """
    import helm_python  # noqa: PLC0415 - replaying alone needs it

    try:
        with helm_python.Chart.load(chart) as loaded:
            texts = loaded.render(values, name="lab", namespace="lab")
    except helm_python.HelmError as error:
        raise click.ClickException(str(error)) from error
    objects = [each for path, text in texts.items() if path.endswith(".yaml") for each in yaml.safe_load_all(text)]
    for each in objects:
        if each and each["kind"] == "HorizontalPodAutoscaler":
            spec = each["spec"]
            down = spec["behavior"]["scaleDown"]
            target = spec["metrics"][0]["pods"]["target"]["averageValue"]
            return Rule(
                spec["minReplicas"],
                spec["maxReplicas"],
                int(target.removesuffix("m")) / 1000,
                down["stabilizationWindowSeconds"],
                down["policies"][0]["periodSeconds"],
            )
    raise click.ClickException("the chart makes no HorizontalPodAutoscaler: set autoscaling.kind=hpa")


def pods_over_time(samples: Sequence[Sample], rule: Rule, times: float = 1.0) -> list[tuple[float, float, int]]:
    """Evaluate a rule as the autoscaler does, every 15 s.

    The formula is ``ceil(pods * value / target)``, where the value is the mean over the pods of speakers over their
    limit; speakers are taken to be spread evenly.

    Args:
        samples: of one service, in the order of time.
        rule: of the autoscaler.
        times: as if there were so many times the speakers.

    Returns:
        At each look the seconds, the value, and the pods that there are after it.
    """
    pods, wanted, shrunk_at = rule.least, [], -math.inf
    found = []
    look = 0.0
    while samples and look <= samples[-1].seconds:
        current = max(
            (sample for sample in samples if sample.seconds <= look), key=lambda s: s.seconds, default=samples[0]
        )
        value = times * current.speakers / current.limit / pods
        ratio = value / rule.target
        desired = pods if abs(ratio - 1) <= TOLERANCE else math.ceil(round(pods * ratio, 6))
        wanted.append((look, min(max(desired, rule.least), rule.most)))
        kept = max(number for at, number in wanted if at > look - rule.shrink_window_seconds)
        if wanted[-1][1] > pods:
            pods = min(wanted[-1][1], max(pods + _FASTEST_GROWTH_PODS, pods * _FASTEST_GROWTH_FACTOR))
        elif kept < pods and look - shrunk_at >= rule.shrink_period_seconds:
            pods, shrunk_at = pods - 1, look
        found.append((look, value, pods))
        look += SYNC_SECONDS
    return found


@click.group()
def main() -> None:
    """Record the load of a service, and see how many pods the chart's rule would have had."""


@main.command()
@click.argument("url")
@click.option("--seconds", type=click.FloatRange(1), default=60, show_default=True, help="How long.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), required=True, help="JSON lines to write.")
def record(url: str, seconds: float, out: Path) -> None:
    """Write speakers and their limit, every second, from the metrics at URL."""
    began = time.monotonic()
    with out.open("w", encoding="utf-8") as file:
        while (passed := time.monotonic() - began) < seconds:
            with urllib.request.urlopen(url, timeout=5) as answer:
                gauges = dict(_GAUGE.findall(answer.read().decode()))
            sample = {
                "seconds": round(passed, 1),
                "speakers": float(gauges["speakers"]),
                "limit": float(gauges["speakers_limit"]),
            }
            file.write(json.dumps(sample) + "\n")
            time.sleep(1.0)


@main.command()
@click.argument("recording", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--times", type=click.FloatRange(0, min_open=True), default=1.0, help="As if so many times the speakers.")
@click.option("--stretch", type=click.FloatRange(1), default=1.0, help="As if each second lasted so long.")
@click.option("--values", type=click.File(), help="Values of the chart, in YAML.")
def replay(recording: Path, times: float, stretch: float, values: Any) -> None:  # noqa: ANN401 - an open file
    """Print value and pods at each look of the autoscaler at which one changed."""
    samples = [Sample(**json.loads(line)) for line in recording.read_text(encoding="utf-8").splitlines()]
    stretched = [Sample(stretch * sample.seconds, sample.speakers, sample.limit) for sample in samples]
    given = {"autoscaling": {"kind": "hpa"}, "auth": {"insecure": True}} | (yaml.safe_load(values) if values else {})
    rule = rule_of(CHART, given)
    click.echo(f"from {rule.least} to {rule.most} pods, {rule.target:.0%} of the speakers that each can answer")
    looks = pods_over_time(stretched, rule, times)
    for before, (seconds, value, pods) in zip([None, *looks], looks, strict=False):
        # What goes on as it was is left out.
        if before is None or (round(before[1], 2), before[2]) != (round(value, 2), pods):
            click.echo(f"{seconds:6.0f} s  {value:4.0%}  {pods} pods")


if __name__ == "__main__":
    main()
