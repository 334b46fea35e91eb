"""The names of metrics: those of the documentation and of the dashboard are those that the service tells."""

from __future__ import annotations

import json
import re
from pathlib import Path

import yaml

from service.telemetry.figures import Figures
from service.telemetry.figures_collector import FiguresCollector
from service.telemetry.metrics import Metrics
from tools import grafana_dashboard

ROOT = Path(__file__).resolve().parents[4]
ALERTS = ROOT / "deploy" / "compose" / "prometheus" / "alerts.yaml"
PAGE = ROOT / "docs" / "observability.md"
TRITON = {"nv_inference_request_failure"}
"""Metrics of Triton; an integration test finds them in what Triton tells."""


def told() -> dict[str, tuple[str, ...]]:
    """Names of the service's own metrics, with their labels, as the exposition format has them."""
    metrics = Metrics()
    metrics.registry.register(FiguresCollector(Figures))
    collectors = metrics.registry._collector_to_names
    found = {}
    for collector in collectors:
        labels = tuple(getattr(collector, "_labelnames", ()))
        for family in collector.describe() if hasattr(collector, "describe") else ():
            if family.name.startswith("vivavoce_"):
                found[family.name + ("_total" if family.type == "counter" else "")] = labels
    return found


def samples() -> set[str]:
    """Names that queries may use: a histogram has three series."""
    metrics = Metrics()
    histograms = {family.name for family in metrics.registry.collect() if family.type == "histogram"}
    own = {f"{name}{end}" for name in histograms for end in ("_bucket", "_sum", "_count")}
    process = {sample.name for family in metrics.registry.collect() for sample in family.samples}
    return own | (told().keys() - histograms) | {name for name in process if name.startswith("process_")} | TRITON


def test_the_page_lists_every_metric_with_its_labels():
    rows = re.findall(r"^\| `(vivavoce_\w+)` \| ([^|]*)\|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert {name: tuple(re.findall(r"`(\w+)`", labels)) for name, labels in rows} == told()


def test_the_dashboard_is_as_it_is_written_and_names_no_metric_that_there_is_not():
    written = grafana_dashboard.PATH.read_text(encoding="utf-8")
    assert written == grafana_dashboard.text()
    queries = [target["expr"] for panel in json.loads(written)["panels"] for target in panel["targets"]]
    used = {name for query in queries for name in re.findall(r"\b((?:vivavoce|nv|process)_\w+)", query)}
    assert used <= samples()
    assert len(used) > 20


def test_alerts_name_no_metric_that_there_is_not_and_stand_on_the_page():
    (group,) = yaml.safe_load(ALERTS.read_text("utf-8"))["groups"]
    used = {name for rule in group["rules"] for name in re.findall(r"\b(vivavoce_\w+)", rule["expr"])}
    assert len(used) > 5
    assert used <= samples()
    told_there = re.findall(r"^\| `(Vivavoce\w+)` \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [rule["alert"] for rule in group["rules"]] == told_there


def test_names_keep_to_the_conventions():
    for name in told():
        assert re.fullmatch(r"vivavoce_[a-z][a-z_]*", name)
        assert not re.search(r"(_ms|_milliseconds|_minutes)$", name)
