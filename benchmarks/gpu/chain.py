"""Holds live conversations with the whole service, its BERTs on the GPU and recognition on the cores beside it."""

from __future__ import annotations

import os
import re
import tempfile
import time
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.sla.load import run_load
from benchmarks.sla.material import DEMONSTRATION, read_items
from benchmarks.sla.report import make_report
from benchmarks.sla.scripts import Mix, write_scripts
from modelkit.gpu import write_gpu_network
from modelkit.recover import recover
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, QA_MODELS
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from benchmarks.gpu.plan import Plan
    from benchmarks.gpu.sheet import Sheet
    from benchmarks.sla.report import Report

_WORKERS = 2
_CORES_AN_INSTANCE = 3
"""Cores for each instance of recognition: two workers, and one core's worth of service, callers and Triton."""


def hold_conversations(plan: Plan, sheet: Sheet) -> None:
    """Measures reply latency at the plan's number of conversations."""
    with tempfile.TemporaryDirectory(prefix="vivavoce-chain-") as directory:
        began = time.monotonic()
        folder = Path(directory)
        engines = [_engine(folder / names[0], names, plan.device) for names in (NLU_MODELS, QA_MODELS)]
        sheet.add(what="engines", seconds=round(time.monotonic() - began, 1))
        settings = folder / "settings.toml"
        instances = max(1, (os.cpu_count() or 2) // _CORES_AN_INSTANCE)
        settings.write_text(f"[asr]\ninstances = {instances}\nworkers = {_WORKERS}\n", encoding="utf-8")
        with listening(_arguments(engines, settings, plan.streams), folder / "service.log") as (_, address):
            sheet.add(what="started", seconds=round(time.monotonic() - began, 1))
            items = read_items(DEMONSTRATION)
            scripts = write_scripts(items, plan.streams, plan.chain_seconds, Mix(listeners=0.1, questions=0.3), seed=1)
            found = make_report(run_load(address, scripts))
    sheet.add(
        what="conversations",
        device=plan.device,
        recognizers=instances,
        **found,
        goal_met=meets_goal(found, plan.chain_p99_ms),
    )


def meets_goal(found: Report, p99_ms: float) -> bool:
    """Whether everybody was replied to without an error, and 99 of 100 replies came in time."""
    latency = found["latency_ms"]
    assert isinstance(latency, dict)
    return not found["errors"] and not found["lost"] and latency["reply"].get("p99", inf) <= p99_ms


def _engine(folder: Path, names: tuple[str, ...], device: str) -> Path:
    """Makes an engine directory of the shipped engine, with its network for the GPU."""
    recover(MODEL_REPOSITORY, names, folder)
    write_gpu_network(folder)
    config = folder / "triton" / names[2] / "config.pbtxt"
    wanted = "cuda" if device != "cpu" else "torch-cpu"
    text = config.read_text(encoding="utf-8")
    config.write_text(
        re.sub(r'(key: "device", value: \{ string_value: )"\w+"', rf'\1"{wanted}"', text), encoding="utf-8"
    )
    return folder


def _arguments(engines: list[Path], settings: Path, streams: int) -> list[str]:
    """Puts together what starts the service on the engines, with room for everybody."""
    flags = [part for engine in engines for part in ("--engine", str(engine))]
    return [*SERVE, "--settings", str(settings), *flags, "--max-conversations", str(max(64, streams))]
