"""What is tried, what a load says of it, and what is written in the end."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from benchmarks.sla.caller import Record
from benchmarks.sla.load import LoadResult
from benchmarks.sla.material import Item
from benchmarks.sla.report import make_report
from benchmarks.tuning.outcome import Measured, Outcome, is_better, outcome_of, pareto_front
from benchmarks.tuning.report import summary, write_settings
from benchmarks.tuning.search import Found
from benchmarks.tuning.service import memory_of, split_items
from benchmarks.tuning.space import DEFAULT, Move, accelerators, moves
from benchmarks.tuning.stages import StagedEngines
from lab.tests.unit.benchmarks.tuning.fakes import INSTANCES, INTERVAL, THREADS
from modelkit.errors import ModelkitError
from pipelines.models.triton import ModelSettings
from service.triton.repository import composed, overlaid
from service.triton.settings import Settings, read_settings

SHIPPED = Path(__file__).parents[5] / "model_repository"
GOOD = Outcome(carried=True, missed=0.0, p50_ms=10, p95_ms=100, wer=0.05, answer_f1=0.7, took_seconds=40)


def shipped() -> dict[str, str]:
    return {path.parent.name: path.read_text() for path in SHIPPED.glob("*/config.pbtxt")}


@pytest.mark.parametrize("cores", [1, 2, 16])
def test_every_move_can_be_served_and_changes_something(cores: int):
    found = moves(cores, shipped(), accelerators())
    assert len(found) == len(set(found)) > 8
    for move in found:
        candidate = DEFAULT.with_move(move)
        with composed(SHIPPED, (), Settings(candidate.models())) as repository:
            assert not (repository / move.model).is_symlink()


def test_what_computes_here_is_tried_on_each_network():
    found = moves(2, shipped(), (*accelerators(), ("tensorrt", "fp16")))
    tried = {(m.model, m.settings.accelerator, m.settings.precision_mode) for m in found if m.settings.accelerator}
    assert {("qa_bert", "openvino", "int8"), ("intent_slot_bert", "openvino", "int8")} <= tried
    assert ("asr", "openvino", "int8") not in tried
    assert {model for model, name, _ in tried if name == "tensorrt"} == {"asr", "intent_slot_bert", "qa_bert"}


def test_under_a_memory_bound_networks_are_cut_beside_what_a_cut_one_still_has():
    assert not [move for move in moves(2, shipped()) if move.stages]
    cut = {str(move): move for move in moves(2, shipped(), bounded=True) if move.stages}
    assert {"qa_bert in 2 stages", "qa_bert in 3 stages", "asr in 2 stages", "intent_slot_bert in 2 stages"} <= set(cut)
    together = DEFAULT.with_move(INSTANCES).with_move(INTERVAL).with_move(cut["qa_bert in 2 stages"])
    together = together.with_move(cut["asr in 2 stages"]).with_move(cut["qa_bert in 3 stages"])
    assert together.told() == {"asr": {"partial_interval_seconds": 0.8, "stages": 2}, "qa_bert": {"stages": 3}}
    assert together.with_move(INSTANCES).stages() == {"asr": 2}
    accelerated = DEFAULT.with_move(Move("asr accelerator", "asr", ModelSettings(accelerator="openvino")))
    assert accelerated.with_move(cut["asr in 2 stages"]).told() == {"asr": {"stages": 2}}


def test_candidates_in_stages_are_made_and_only_the_best_is_kept(tmp_path: Path):
    pytest.importorskip("torch")
    staged = StagedEngines(tmp_path / "settings.engines")
    (tmp_path / "settings.engines/mine").mkdir(parents=True)
    candidate = DEFAULT.with_move(Move("intents", "intent_slot_bert", ModelSettings(), 2))
    chosen = staged.of(candidate)
    assert [path.name for path in chosen] == ["intent_slot_bert_2"]
    models = overlaid(SHIPPED, chosen)
    assert "intent_slot_bert_stage_2" in models
    assert "intent_slot_bert" not in models
    with pytest.raises(ModelkitError, match="choose --stages 2"):
        staged.of(candidate.with_move(Move("answers", "qa_bert", ModelSettings(), 3)))
    staged.keep(candidate)
    assert {path.name for path in (tmp_path / "settings.engines").iterdir()} == {"intent_slot_bert_2", "mine"}
    staged.keep(DEFAULT)
    assert [path.name for path in (tmp_path / "settings.engines").iterdir()] == ["mine"]
    assert (SHIPPED / "intent_slot" / "config.pbtxt").exists()


def test_memory_is_that_of_a_process_and_all_that_it_has_started():
    inner = "x = bytearray(60 << 20); print(flush=True); input()"
    outer = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {inner!r}])"
    with subprocess.Popen([sys.executable, "-c", outer], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        assert 60 < memory_of(psutil.Process(process.pid)) < 150
        process.communicate(b"\n")


def test_recordings_are_kept_for_the_check():
    items = [Item(Path(f"{number}.wav"), "") for number in range(10)]
    seen, unseen = split_items(items)
    assert sorted((*seen, *unseen), key=lambda item: int(item.path.stem)) == items
    assert len(unseen) == 3
    assert split_items(items[:5]) == (items[:5], items[:5])


def test_no_batch_gets_more_threads_than_there_are_cores():
    assert {move.settings.threads for move in moves(2, shipped())} <= {None, 1, 2}


def test_of_moves_with_one_factor_a_candidate_has_the_last():
    candidate = DEFAULT.with_move(THREADS).with_move(INTERVAL).with_move(replace(THREADS, settings=INSTANCES.settings))
    assert [move.factor for move in candidate.moves] == ["asr interval", "asr threads"]
    assert candidate.models()["asr"].given() == {"partial_interval_seconds": 0.8, "instances": 2}


def report(**changes: object) -> dict[str, object]:
    latency = {"reply": {"n": 10, "p50": 8.0, "p95": 120.0}}
    found = {"utterances": 10, "replies": 10, "lost": 0, "errors": {}, "statuses": {"COMPLETE": 10}}
    return {**found, "latency_ms": latency, "wer": 0.04, "answer_f1": None, **changes}


def test_a_load_is_summed_up():
    outcome = outcome_of(report(), 300, 41.26)
    assert outcome == Outcome(True, 0.0, 8.0, 120.0, 0.04, None, 41.3)


@pytest.mark.parametrize(
    ("changes", "missed"),
    [
        ({"statuses": {"COMPLETE": 8, "PARTIAL": 2}}, 0.2),
        ({"statuses": {"COMPLETE": 9}, "replies": 9, "lost": 1}, 0.1),
        ({"errors": {"RESOURCE_EXHAUSTED": 10}}, 0.5),
        ({"utterances": 0, "replies": 0, "statuses": {}, "latency_ms": {"reply": {"n": 0}}}, 1.0),
    ],
    ids=["stages left out", "lost", "refused", "nothing came"],
)
def test_what_is_missed_counts_however_soon_the_rest_came(changes: dict[str, object], missed: float):
    outcome = outcome_of(report(**changes), 300, 40)
    assert outcome.missed == pytest.approx(missed)
    assert not outcome.carried
    assert not is_better(outcome, outcome_of(report(), 300, 40))


def test_replies_before_a_service_died_make_up_for_none_after_it():
    died = Record(utterances=5, statuses={"COMPLETE": 3}, reply=[0.1] * 3, error="UNAVAILABLE")
    held = Record(utterances=5, statuses={"COMPLETE": 4}, reply=[0.1] * 4, lost=1)
    for records, missed in (([died, held], 2 / 9), ([died, died], 2 / 8)):
        outcome = outcome_of(make_report(LoadResult(records, 20.0, 0.1)), 300, 40)
        assert outcome.missed == pytest.approx(missed, abs=1e-4)


def test_where_no_conversation_was_held_nothing_is_better():
    assert not is_better(replace(GOOD, p95_ms=50, wer=None), GOOD)
    assert is_better(GOOD, replace(GOOD, p95_ms=200, wer=None))


def test_speed_that_is_bought_with_worse_transcripts_does_not_count():
    assert is_better(replace(GOOD, p95_ms=50), GOOD)
    assert not is_better(replace(GOOD, p95_ms=50, wer=0.06), GOOD)
    assert is_better(replace(GOOD, p95_ms=50, wer=0.052), GOOD)


def test_the_front_has_what_nothing_beats():
    fast, many = DEFAULT.with_move(INTERVAL), DEFAULT.with_move(THREADS)
    points = [
        Measured(DEFAULT, 16, GOOD),
        Measured(fast, 16, replace(GOOD, p95_ms=50)),
        Measured(fast, 24, replace(GOOD, carried=False)),
        Measured(many, 24, replace(GOOD, p95_ms=200)),
        Measured(DEFAULT, 8, replace(GOOD, p95_ms=60)),
        Measured(DEFAULT, 4, replace(GOOD, p95_ms=10)),
    ]
    front = pareto_front(points)
    assert [(p.candidate, p.streams) for p in front] == [(many, 24), (fast, 16), (DEFAULT, 4)]


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (
            Found(best=DEFAULT.with_move(INTERVAL), streams=24, carried_streams=20),
            "Better than what is shipped with 20 and 24 conversations",
        ),
        (Found(best=DEFAULT.with_move(INTERVAL), confirmed=False), "run `vivavoce tune` again"),
        (Found(confirmed=False), "Undecided, so nothing is set: run `vivavoce tune` again with more --minutes"),
        (Found(), "Nothing that was tried beats"),
    ],
)
def test_the_winner_is_written_for_serve(tmp_path: Path, found: Found, said: str):
    path = tmp_path / "settings.toml"
    write_settings(found, path, "2 x one", 300)
    assert said in path.read_text()
    assert read_settings(path).models == found.best.models()
    assert [entry.name for entry in tmp_path.iterdir()] == ["settings.toml"]
    assert summary(found, path)["winner"] == tomllib.loads(path.read_text())
