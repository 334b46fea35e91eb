"""Sums all phases up in ``results.json`` and ``results.md``, and packs everything into ``results.tar``."""

from __future__ import annotations

import json
import tarfile
from typing import TYPE_CHECKING

from benchmarks.gpu.ceilings import ceiling
from benchmarks.gpu.sheet import Row, read_error, read_rows
from benchmarks.markdown import table
from benchmarks.provenance import provenance

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from benchmarks.gpu.plan import Case, Plan


_SHOWN = ("p50", "p95", "p99")
_PROFILE_COLUMNS, _KERNEL_COLUMNS = ("of", "milliseconds", "kernels_busy"), ("name", "calls", "milliseconds")


def write_report(folder: Path, plan: Plan, device: Row, command: str) -> None:
    """Reads what the phases have written so far, and writes both files."""
    phases = {name: read_rows(folder / f"{name}.json") for name in plan.phases}
    errors = {name: error for name in plan.phases if (error := read_error(folder / f"{name}.json"))}
    whole = {**provenance(command), "device": device, "weights": "random", "phases": phases, "errors": errors}
    (folder / "results.json").write_text(json.dumps(whole, indent=1) + "\n", encoding="utf-8")
    (folder / "results.md").write_text(markdown(plan, device, phases, errors), encoding="utf-8")


def pack_results(folder: Path) -> None:
    """Packs what there is into ``results.tar``."""
    part = folder / "results.tar.new"
    with tarfile.open(part, "w") as archive:
        for file in sorted(path for path in folder.iterdir() if path.suffix in (".json", ".log", ".md")):
            archive.add(file, file.name)
    part.replace(folder / "results.tar")


def markdown(plan: Plan, device: Row, phases: dict[str, list[Row]], errors: dict[str, str]) -> str:
    """Writes tables of everything."""
    lines = [f"# {device['gpu'] or device['cpu']}", "", ", ".join(f"{k} {v}" for k, v in device.items()), ""]
    lines += ["Weights of the networks under load are random.", ""]
    ceilings = phases["ceilings"]
    lines += [
        "## Ceilings",
        "",
        *_table(ceilings, ("what", "precision", "tflops", "terabytes_per_second", "error")),
        "",
    ]
    wrong = [row for row in phases["correctness"] if not _is_right(row)]
    ways = len(phases["correctness"])
    lines += [
        "## Correctness",
        "",
        f"{ways - len(wrong)} of {ways} ways agree with float32. The others:",
        "",
        *_table(wrong, ("what", "way", "type", "precision", "relative", "error")),
        "",
    ]
    lines += ["## Recognition", "", *_recognition(phases["recognition"]), ""]
    lines += ["## The whole chain", "", *_chain(phases["chain"], plan), ""]
    for case in plan.cases:
        lines += [f"## {case.title}", "", *_case_tables(case, phases[case.name], ceilings), ""]
    lines += [f"- {name}: {error.splitlines()[-1]}" for name, error in errors.items()]
    return "\n".join(lines).rstrip() + "\n"


def _is_right(row: Row) -> bool:
    if "error" in row:
        return False
    limit = row.get("limit")
    return bool(row["right"]) if limit is None else float(str(row["relative"])) <= float(str(limit))


def _case_tables(case: Case, rows: Sequence[Row], ceilings: list[Row]) -> list[str]:
    inside = [_with_share(row, ceilings) for row in rows if row["what"] == "in process"]
    served = [_with_share(_flat(row), ceilings) for row in rows if row["what"] == "served"]
    inside_columns = (
        "precision",
        "rows_per_second",
        "milliseconds",
        "tflops",
        "of_ceiling",
        "relative",
        "same_highest",
        "right",
        "error",
    )
    lines = [f"In process, batches of {case.batch} rows:", "", *_table(inside, inside_columns), ""]
    lines += [f"Through Triton's gRPC, {case.rows} rows a request:", ""]
    served_columns = ("precision", "instances", "callers", "padded", "batch", "rows_per_second", "p50", "p99",
                      "compute_p99", "of_ceiling", "client_cpu", "goal_met", "error")  # fmt: skip
    lines += _table(served, served_columns)
    for what, columns in (("profile", _PROFILE_COLUMNS), ("kernel", _KERNEL_COLUMNS)):
        if found := [row for row in rows if row["what"] == what]:
            lines += ["", *_table(found, columns)]
    return lines


def _flat(row: Row) -> Row:
    latency, compute = row.get("latency_ms"), row.get("compute_ms")
    if not isinstance(latency, dict) or not isinstance(compute, dict):
        return row
    return {**row, **latency, "compute_p99": compute["p99"]}


def _with_share(row: Row, ceilings: list[Row]) -> Row:
    """Adds what share of the measured matrix products' rate the network's products reached."""
    highest = ceiling(ceilings, str(row.get("precision")))
    if not highest or "tflops" not in row:
        return row
    return {**row, "of_ceiling": f"{float(str(row['tflops'])) / highest:.0%}"}


def _recognition(rows: Sequence[Row]) -> list[str]:
    tables = {
        "Texts beside those of the CPU in float32": ("texts", "batch", "recordings", "same", "wer", "right"),
        "With hints and alternatives": ("search", "utterances", "as_greedy", "seconds", "timed_words"),
        "Whole utterances": ("whole utterances", "batch", "milliseconds", "utterances_per_second",
                             "speech_seconds_per_second", "allocated_gib"),
        "Partial texts every 0.4 s": ("partial texts", "batch", "milliseconds", "streams"),
        "Start": ("start", "seconds", "recorded", "allocated_gib", "reserved_gib"),
        "Profile": ("profile", *_PROFILE_COLUMNS),
        "Kernels": ("kernel", *_KERNEL_COLUMNS),
        "What failed": ("recognition", "error"),
    }  # fmt: skip
    lines: list[str] = []
    for title, (what, *columns) in tables.items():
        if found := [row for row in rows if row["what"] == what]:
            lines += [f"{title}:", "", *_table(found, ("precision", *columns)), ""]
    return lines or ["Nothing.", ""]


def _chain(rows: Sequence[Row], plan: Plan) -> list[str]:
    goal = plan.chain_goal
    streams = ", ".join(map(str, plan.streams))
    replies = f"99 of 100 replies within {goal.reply_p99_ms:g} ms of the turn's end"
    lines = [f"Goal at {streams} conversations: {replies}, 95 of 100 within {goal.turn_p95_ms:g} ms of the last sound."]
    lines.append("")
    flat = []
    for row in (row for row in rows if row["what"] == "conversations"):
        latency = row["latency_ms"]
        assert isinstance(latency, dict)
        named = {f"{kind}_{name}": latency.get(kind, {}).get(name) for kind in ("reply", "turn") for name in _SHOWN}
        flat.append({**row, **named})
    columns = (
        "device", "recognizers", "recognizer", "engines", "streams", "replies", "lost", "errors",
        *(f"{kind}_{name}" for kind in ("reply", "turn") for name in _SHOWN), "wer", "client_cpu", "goal_met",
    )  # fmt: skip
    failed = [row for row in rows if row["what"] == "not started"]
    return (
        lines
        + _table(flat, columns)
        + (["", *_table(failed, ("recognizer", "recognizers", "error"))] if failed else [])
    )


def _table(rows: Sequence[Row], columns: Sequence[str]) -> list[str]:
    """Writes rows as a Markdown table, without the columns that no row has."""
    shown = [column for column in columns if any(column in row for row in rows)]
    if not shown:
        return ["Nothing."]
    cells = ([_cell(row.get(column)) for column in shown] for row in rows)
    return table([column.replace("_", " ") for column in shown], cells).splitlines()


def _cell(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 100 else f"{value:,.0f}"
    return "" if value is None else str(value).replace("|", "/").replace("\n", " ")[:160]
