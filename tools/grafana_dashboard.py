"""Grafana's dashboard: ``python -m tools.grafana_dashboard`` writes ``deploy/grafana/vivavoce.json``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

PATH = Path(__file__).resolve().parents[1] / "deploy" / "grafana" / "vivavoce.json"

_DATA = {"type": "prometheus", "uid": "${datasource}"}
_WHERE = '{job=~"$job",instance=~"$instance"}'
_HEIGHT, _COLUMNS, _WIDTH = 8, 3, 8

_Lines = tuple[tuple[str, str], ...]


def _rate(name: str, *by: str, where: str = _WHERE) -> str:
    return f"sum by ({', '.join(by)}) (rate({name}{where}[$__rate_interval]))"


def _quantiles(name: str, *by: str) -> _Lines:
    """Return the median and the 95th percentile of a histogram."""
    legend = " ".join(f"{{{{{label}}}}}" for label in by)
    return tuple(
        (f"histogram_quantile({share}, {_rate(f'{name}_bucket', 'le', *by)})", f"{legend} p{share * 100:g}".strip())
        for share in (0.5, 0.95)
    )


_PANELS: tuple[tuple[str, str, _Lines], ...] = (
    ("Turn latency: last speech to reply", "s", _quantiles("vivavoce_turn_latency_seconds")),
    ("Reply latency: end of turn to reply", "s", _quantiles("vivavoce_reply_latency_seconds", "source")),
    ("Voice to voice: last speech to first audio", "s", _quantiles("vivavoce_voice_to_voice_latency_seconds")),
    (
        "Speakers and their limit",
        "short",
        (
            (f"sum(vivavoce_speakers{_WHERE})", "speakers"),
            (f"sum(vivavoce_speakers_limit{_WHERE})", "limit"),
            (f"sum(vivavoce_conversations{_WHERE})", "open streams"),
        ),
    ),
    ("Replies by status", "ops", ((_rate("vivavoce_replies_total", "status"), "{{status}}"),)),
    (
        "Refusals by reason",
        "ops",
        ((_rate("vivavoce_refusals_total", "reason", "principal"), "{{reason}} {{principal}}"),),
    ),
    ("Computing by stage", "s", _quantiles("vivavoce_stage_compute_seconds", "stage")),
    ("Waiting by stage", "s", _quantiles("vivavoce_stage_queue_seconds", "stage")),
    ("Failures by stage", "ops", ((_rate("vivavoce_stage_failures_total", "stage"), "{{stage}}"),)),
    ("Speculations by fate", "ops", ((_rate("vivavoce_speculations_total", "fate"), "{{fate}}"),)),
    (
        "Pauses judged",
        "ops",
        (
            (_rate("vivavoce_pauses_judged_total", "outcome"), "{{outcome}}"),
            (_rate("vivavoce_utterances_total", "ended_by"), "ended by {{ended_by}}"),
        ),
    ),
    (
        "Spoken replies",
        "ops",
        (
            (_rate("vivavoce_spoken_replies_total"), "begun"),
            (_rate("vivavoce_interruptions_total", "cause"), "interrupted: {{cause}}"),
        ),
    ),
    (
        "Audio seconds a second",
        "short",
        ((_rate("vivavoce_audio_seconds_total"), "audio"), (f"sum(vivavoce_open_sequences{_WHERE})", "open sequences")),
    ),
    (
        "Triton: restarts and readiness",
        "short",
        (
            (f"sum(increase(vivavoce_triton_restarts_total{_WHERE}[$__rate_interval]))", "restarts"),
            (f"sum(increase(vivavoce_models_mended_total{_WHERE}[$__rate_interval]))", "models loaded anew"),
            (f"sum(increase(vivavoce_replayed_audio_seconds_total{_WHERE}[$__rate_interval]))", "audio replayed, s"),
            (f"min(vivavoce_ready{_WHERE})", "ready"),
        ),
    ),
    ("Triton: failed requests", "ops", ((_rate("nv_inference_request_failure", "model"), "{{model}}"),)),
    ("Process: memory", "bytes", ((f"process_resident_memory_bytes{_WHERE}", "{{instance}}"),)),
    ("Process: cores", "short", ((f"rate(process_cpu_seconds_total{_WHERE}[$__rate_interval])", "{{instance}}"),)),
    ("Process: open files", "short", ((f"process_open_fds{_WHERE}", "{{instance}}"),)),
)


def dashboard() -> dict[str, Any]:
    """Return the dashboard as Grafana imports it."""
    return {
        "uid": "vivavoce",
        "title": "Vivavoce",
        "tags": ["vivavoce"],
        "schemaVersion": 39,
        "version": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [
                {"name": "datasource", "label": "Data source", "type": "datasource", "query": "prometheus"},
                _variable("job", "label_values(vivavoce_ready, job)"),
                _variable("instance", 'label_values(vivavoce_ready{job=~"$job"}, instance)'),
            ]
        },
        "panels": [_panel(number, *panel) for number, panel in enumerate(_PANELS)],
    }


def _variable(name: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "type": "query",
        "datasource": _DATA,
        "query": query,
        "refresh": 2,
        "includeAll": True,
        "multi": True,
        "current": {"text": "All", "value": "$__all"},
    }


def _panel(number: int, title: str, unit: str, lines: _Lines) -> dict[str, Any]:
    row, column = divmod(number, _COLUMNS)
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": title,
        "datasource": _DATA,
        "gridPos": {"x": column * _WIDTH, "y": row * _HEIGHT, "w": _WIDTH, "h": _HEIGHT},
        "fieldConfig": {"defaults": {"unit": unit, "min": 0}, "overrides": []},
        "targets": [
            {"refId": chr(ord("A") + index), "datasource": _DATA, "expr": expression, "legendFormat": legend}
            for index, (expression, legend) in enumerate(lines)
        ],
    }


def text() -> str:
    """Return the dashboard as it is written."""
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    PATH.parent.mkdir(parents=True, exist_ok=True)
    PATH.write_text(text(), encoding="utf-8")
