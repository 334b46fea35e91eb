"""Optimizes an engine: makes the points of the table one by one, measures them, and writes the best one."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from engines.bert.session import BertSession
from engines.build.files import whole_directory, write_whole
from modelkit.cards import name_data
from modelkit.eager import EagerSession
from modelkit.errors import EngineError
from modelkit.optimize.folder import begin, check_folder, remove_engine
from modelkit.optimize.graphs import trace
from modelkit.optimize.networks import ORIGINAL, Workshop, least_layers
from modelkit.optimize.nlu_task import NluTask
from modelkit.optimize.points import NETWORKS, POINTS
from modelkit.optimize.qa_task import QaTask
from modelkit.optimize.table import Result, choose, markdown
from modelkit.optimize.timing import measure_latency, measure_throughput

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from modelkit.networks import EncoderNetwork
    from modelkit.optimize.options import OptimizeOptions
    from modelkit.optimize.points import Point
    from modelkit.optimize.tasks import Task
    from modelkit.optimize.timing import Latency, Throughput
    from modelkit.sessions import Session
    from modelkit.training.progress import Display

BASELINE = "eager"
_FILE, _RESULT = "model.onnx", "result.json"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The table: results of the points that were asked for, in their order, and the name of the one that was chosen."""

    results: Sequence[Result]
    best: str | None


def open_task(options: OptimizeOptions) -> Task:
    """Tells by its labels what kind an engine is, and reads its data."""
    is_nlu = (options.engine / "training" / "labels.json").exists()
    kind: type[NluTask | QaTask] = NluTask if is_nlu else QaTask
    return kind(options.engine, options.data, options.evaluation, options.limit)


def choose_points(names: Sequence[str]) -> list[Point]:
    """Finds points by name, in the table's order; the baseline is always among them.

    Raises:
        EngineError: there is no such point.
    """
    unknown = sorted(set(names) - {point.name for point in POINTS})
    if unknown:
        raise EngineError(f"no point {', '.join(unknown)}: choose of {', '.join(point.name for point in POINTS)}")
    return [point for point in POINTS if not names or point.name in names or point.name == BASELINE]


def optimize(options: OptimizeOptions, display: Display) -> Outcome:
    """Measures the points that were not measured before, writes the table, and the best point as an engine.

    Where no point is good enough, ``out`` holds no engine afterwards, that of an earlier run neither.

    Raises:
        ModelkitError: engine or data are not fit for it, or ``out`` holds results of others.
    """
    check_folder(options.out)
    points = choose_points(options.points)
    task = open_task(options)
    points = _possible(points, task, options.points)
    begin(options, task)
    workshop = Workshop(task, NETWORKS, options.out, minutes=options.minutes, rows=options.rows, display=display)
    bench = _Bench(task, workshop, options, display)
    results = [bench.result(point) for point in points]
    original = next(r for r in results if r.point == BASELINE).scores[task.criterion]
    compressed = [result for result in results if result.point != BASELINE]
    best = choose(compressed, task.criterion, original, options.allowed_loss)
    if best is not None:
        bench.write_engine(best)
    else:
        remove_engine(options.out, display)
    name = best.point if best else None
    write_whole(options.out / "table.md", markdown(results, name))
    return Outcome(results, name)


def _possible(points: Sequence[Point], task: Task, asked: Sequence[str]) -> list[Point]:
    """Leaves out points that cannot be made of the engine's network.

    Raises:
        EngineError: one of them was asked for.
    """
    obstacles = {point.name: obstacle for point in points if (obstacle := _obstacle(point, task))}
    refused: defaultdict[str, list[str]] = defaultdict(list)
    for name in (name for name in obstacles if name in asked):
        refused[obstacles[name]].append(name)
    if refused:
        raise EngineError("; ".join(f"{' and '.join(names)}: {obstacle}" for obstacle, names in refused.items()))
    return [point for point in points if point.name not in obstacles]


def _obstacle(point: Point, task: Task) -> str | None:
    """Says why a point cannot be made, if so."""
    if point.network not in {ORIGINAL, *NETWORKS, *task.variants}:
        return "the engine's network reads every token (answers drop some that were trained with --prune-tokens)"
    depth = task.network.encoder.config.num_hidden_layers
    if depth < least_layers(point.network, NETWORKS):
        return f"the engine's network has only {depth} layers"
    return None


class _Bench:
    """Makes points and measures them."""

    def __init__(self, task: Task, workshop: Workshop, options: OptimizeOptions, display: Display) -> None:
        self._task, self._workshop, self._options, self._display = task, workshop, options, display
        self._original = EagerSession(task.network, task.inputs, task.outputs)

    def result(self, point: Point) -> Result:
        """Measures a point, unless it was measured before."""
        kept = self._folder(point.name) / _RESULT
        if kept.exists():
            result = Result.from_json(kept.read_text(encoding="utf-8"))
            return self._time_again(point, result, kept) if self._options.time_again else result
        self._display.say(f"{point.name}: {point.what}")
        network = self._workshop.network(point.network)
        with whole_directory(self._folder(point.name)) as folder:
            result = self._measure(point, network, folder)
            _keep(result, folder / _RESULT)
        self._display.say(_line(result))
        return result

    def write_engine(self, result: Result) -> None:
        """Writes a measured point as an engine directory."""
        folder = self._folder(result.point)
        card = {
            "task": self._task.name,
            "optimized_from": self._options.engine.resolve().name,
            "point": result.point,
            "what": result.what,
            "scores": dict(result.scores),
            "evaluated_on": name_data([self._options.evaluation]),
        }
        decoding = json.loads((folder / "decoding.json").read_text(encoding="utf-8"))
        self._task.write(self._options.out, folder / _FILE, decoding, card)

    def _measure(self, point: Point, network: EncoderNetwork, folder: Path) -> Result:
        session, megabytes = self._session(point, network, folder)
        judged = self._task.judge(session)
        write_whole(folder / "decoding.json", json.dumps(judged.decoding) + "\n")
        return Result.of(point, judged.scores, megabytes, self._times(session))

    def _time_again(self, point: Point, result: Result, kept: Path) -> Result:
        session = self._original if point.form is None else self._load(self._folder(point.name) / _FILE)
        latency, throughput = self._times(session)
        result = replace(result, latency=latency, throughput=throughput)
        _keep(result, kept)
        self._display.say(_line(result))
        return result

    def _times(self, session: Session) -> tuple[Latency, Throughput]:
        rows = self._task.timed()
        return measure_latency(session, self._original, rows), measure_throughput(session, self._original, rows)

    def _session(self, point: Point, network: EncoderNetwork, folder: Path) -> tuple[Session, float]:
        if point.form is None:
            size = sum(parameter.numel() * parameter.element_size() for parameter in network.parameters())
            return EagerSession(network, self._task.inputs, self._task.outputs), size / 1e6
        traced, made = folder / "traced.onnx", folder / _FILE
        trace(network, traced, self._task.inputs, self._task.outputs)
        point.form.write(traced, made, network, self._task.samples)
        traced.unlink()
        return self._load(made), made.stat().st_size / 1e6

    def _load(self, graph: Path) -> Session:
        return BertSession(graph, self._options.threads)

    def _folder(self, name: str) -> Path:
        return self._options.out / "points" / name


def _keep(result: Result, path: Path) -> None:
    write_whole(path, json.dumps(result.to_json(), indent=1) + "\n")


def _line(result: Result) -> str:
    scores = ", ".join(f"{name} {value:.4f}" for name, value in result.scores.items())
    times = f"{result.latency.p50:.1f} ms, {result.latency.speedup:.2f} x eager"
    return f"{result.point}: {scores}, {result.megabytes:.1f} MB, {times}"
