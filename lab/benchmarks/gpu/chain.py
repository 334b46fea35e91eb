"""Holds live conversations with the whole service, its BERTs and recognition on the GPU."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.sla.load import run_load
from benchmarks.sla.material import DEMONSTRATION, read_items
from benchmarks.sla.report import make_report
from benchmarks.sla.scripts import Mix, write_scripts
from engines.asr.moonshine.networks import FILES
from engines.bert.gpu.network import NetworkShape, random_state, write_network
from engines.build.moonshine import TARGET
from engines.gpu.device import NETWORK
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, QA_MODELS, VERSION
from service.processes.child_process import SERVE, StartError, listening

if TYPE_CHECKING:
    from collections.abc import Iterator

    from benchmarks.gpu.plan import ChainGoal, Plan
    from benchmarks.gpu.sheet import Sheet
    from benchmarks.sla.report import Report

_WORKERS = 2
_CORES_AN_INSTANCE = 3
"""Cores for each instance of recognition on the CPU: two workers, and one core's worth of service, callers, Triton."""
_ROOT = Path(__file__).resolve().parents[3]
_PYTHON = "MACHINE_PYTHON"
"""Names the interpreter whose packages are those that the machine came with: see ``bare_machine.sh``."""
_WITH_OUR_PACKAGES = """
import runpy, sys
_, own, module, *arguments = sys.argv
sys.path.append(own)
sys.argv = [module, *arguments]
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""Runs a module with our packages behind the interpreter's own."""
_ROWS, _SEQUENCES = 64, 256
_START_SECONDS = (100.0, 180.0)
"""On a GPU, and on a CPU where everything takes longer."""
_WIDTH, _LAYERS, _HEADS, _INNER = 384, 6, 12, 1536


def hold_conversations(plan: Plan, sheet: Sheet) -> None:
    """Measures latencies at the plan's numbers of conversations, with each number of recognizers in turn."""
    with tempfile.TemporaryDirectory(prefix="vivavoce-chain-") as directory:
        began = time.monotonic()
        folder = Path(directory)
        with ThreadPoolExecutor() as pool:  # Each recovers its networks in a process of its own.
            made = list(
                pool.map(lambda names: _engine(folder / names[0], names, plan.device, sheet), (NLU_MODELS, QA_MODELS))
            )
        weights = "random" if not all(trained for _, trained in made) else "shipped"
        sheet.add(what="engines", weights=weights, seconds=round(time.monotonic() - began, 1))
        started = False
        for recognizer, instances in _recognizers(plan):
            if recognizer == "cpu" and started:
                break
            settings = folder / "settings.toml"
            settings.write_text(_settings(recognizer, instances), encoding="utf-8")
            arguments = _arguments([engine for engine, _ in made], settings, max(plan.streams))
            what = {"device": plan.device, "recognizer": recognizer, "recognizers": instances, "engines": weights}
            try:
                _load(arguments, plan, sheet, what)
            except StartError as error:
                sheet.add(
                    what="not started", **{k: v for k, v in what.items() if k != "what"}, error=str(error)[-1500:]
                )
            else:
                started = True


def _recognizers(plan: Plan) -> Iterator[tuple[str, int]]:
    """Yields where recognition is computed, and by how many instances; the cores last, where an archive allows it."""
    for instances in plan.recognizers:
        yield ("torch-cpu" if plan.device == "cpu" else "cuda"), instances
    if all((TARGET / name).exists() for name in FILES):
        yield "cpu", max(1, (os.cpu_count() or 2) // _CORES_AN_INSTANCE)


def _load(arguments: list[str], plan: Plan, sheet: Sheet, what: dict[str, object]) -> None:
    began = time.monotonic()
    log = sheet.folder / f"chain-{what['recognizer']}-{what['recognizers']}.log"
    with listening(arguments, log, _START_SECONDS[plan.device == "cpu"]) as (_, address):
        sheet.add(**{"what": "started", **what}, seconds=round(time.monotonic() - began, 1))
        items = read_items(DEMONSTRATION)
        for streams in plan.streams:
            scripts = write_scripts(items, streams, plan.chain_seconds, Mix(listeners=0.1, questions=0.3), seed=1)
            found = make_report(run_load(address, scripts))
            sheet.add(**{"what": "conversations", **what, **found}, goal_met=meets_goal(found, plan.chain_goal))


def meets_goal(found: Report, goal: ChainGoal) -> bool:
    """Whether everybody was replied to without an error, and in time."""
    latency = found["latency_ms"]
    assert isinstance(latency, dict)
    return (
        not found["errors"]
        and not found["lost"]
        and latency["reply"].get("p99", inf) <= goal.reply_p99_ms
        and latency["turn"].get("p95", inf) <= goal.turn_p95_ms
    )


def _settings(recognizer: str, instances: int) -> str:
    """Writes the settings of recognition: as on the CPU, or with batches as large as a GPU wants them."""
    lines = [f"instances = {instances}", f"workers = {_WORKERS}", f'device = "{recognizer}"']
    if recognizer != "cpu":
        lines += [f"max_batch_size = {_ROWS}", f"max_sequences = {_SEQUENCES}"]
    return "\n".join(["[asr]", *lines]) + "\n"


def _engine(folder: Path, names: tuple[str, ...], device: str, sheet: Sheet) -> tuple[Path, bool]:
    """Makes an engine directory for the GPU; tells whether its weights are the shipped ones.

    An archive may have come without them, or a machine lack what reads them: random ones of the same size take the same
    time.
    """
    try:
        trained = _recovered(folder, names)
    except Exception as error:  # noqa: BLE001 - whatever it is, latencies can be measured
        sheet.add(what="not recovered", models=names[0], error=f"{type(error).__name__}: {error}"[:500])
        trained = False
    if not trained:
        for name in names:
            shutil.copytree(MODEL_REPOSITORY / name, folder / "triton" / name, dirs_exist_ok=True)
        shape = _shape(names)
        write_network(folder / "triton" / names[2] / VERSION / NETWORK, shape, random_state(shape))
    config = folder / "triton" / names[2] / "config.pbtxt"
    wanted = "cuda" if device != "cpu" else "torch-cpu"
    text = config.read_text(encoding="utf-8")
    config.write_text(
        re.sub(r'(key: "device", value: \{ string_value: )"\w+"', rf'\1"{wanted}"', text), encoding="utf-8"
    )
    return folder, trained


def _recovered(folder: Path, names: tuple[str, ...]) -> bool:
    """Recovers the shipped networks for the GPU; False where they are not there."""
    if not any((MODEL_REPOSITORY / names[2] / VERSION).glob("*.onnx")):
        return False
    # A process of its own, in the machine's own Python where ours has another numpy than its packages want.
    python = os.environ.get(_PYTHON, sys.executable)
    path = os.pathsep.join([str(_ROOT), str(_ROOT / "clients"), str(_ROOT / "lab")])
    own = sysconfig.get_path("purelib")
    command = [python, "-c", _WITH_OUR_PACKAGES, own, "benchmarks.gpu.recovering", str(folder), *names]
    done = subprocess.run(command, check=False, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip()[-400:])
    return True


def _shape(names: tuple[str, ...]) -> NetworkShape:
    """Returns the dimensions of a shipped network."""
    if names == QA_MODELS:
        return NetworkShape(_WIDTH, _LAYERS, _HEADS, _INNER, head="span", reads_segments=True)
    labels = json.loads((MODEL_REPOSITORY / names[3] / VERSION / "labels.json").read_text(encoding="utf-8"))
    return NetworkShape(
        _WIDTH, _LAYERS, _HEADS, _INNER, head="intent_slot", intents=len(labels["intents"]), tags=len(labels["tags"])
    )


def _arguments(engines: list[Path], settings: Path, streams: int) -> list[str]:
    """Puts together what starts the service on the engines, with room for everybody."""
    flags = [part for engine in engines for part in ("--engine", str(engine))]
    # Where what a machine has lies elsewhere, Triton is not to be kept from it.
    return [*SERVE, "--no-confine", "--settings", str(settings), *flags, "--max-conversations", str(max(64, streams))]
