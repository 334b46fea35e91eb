"""`vivavoce tune` on a machine that exists as arithmetic."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.processes import ProcessesError
from benchmarks.tuning import service
from benchmarks.tuning.outcome import failed
from benchmarks.tuning.space import Move
from lab.tests.unit.benchmarks.tuning.fakes import FakeMachine
from pipelines.models.triton import ModelSettings
from service.triton.settings import read_settings
from vivavoce import cli


class SlowPartials(FakeMachine):
    """Holds more the fewer partial texts it works out."""

    def __call__(self, candidate, streams, seconds, *, unseen=False):
        asr = candidate.models().get("asr")
        self._holds = 20 * ((asr and asr.partial_interval_seconds) or 0.4) / 0.4
        return super().__call__(candidate, streams, seconds, unseen=unseen)


def test_where_nothing_fits_into_the_memory_it_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(service, "LiveMeasurement", lambda *_: FakeMachine(memory=({}, 900)))
    path = tmp_path / "settings.toml"
    assert tune(path, "--memory-mb", "900") == 0
    assert "Nothing that was tried fits into the memory: the least took 1000 MB" in path.read_text()
    assert read_settings(path).models == {}


def test_a_network_in_stages_that_fits_is_served_from_its_own_engine_directory(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    pytest.importorskip("torch")
    cut = Move("intent_slot_bert stages", "intent_slot_bert", ModelSettings(), 2)
    monkeypatch.setattr(
        service, "LiveMeasurement", lambda *_: FakeMachine(factors={cut: 1.5}, memory=({cut: -200}, 900))
    )
    path = tmp_path / "settings.toml"
    assert tune(path, "--memory-mb", "900", "--minutes", "90", "--json") == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["winner"] == {"intent_slot_bert": {"stages": 2}}
    assert result["check"]["winner"]["fits"]
    engine = tmp_path / "settings.engines/intent_slot_bert_2"
    assert (engine / "triton/intent_slot_bert_stage_2/config.pbtxt").exists()
    assert f"serve with --engine {engine}" in path.read_text()
    assert read_settings(path).models == {}
    assert "| intent_slot_bert in 2 stages |" in (tmp_path / "settings.report.md").read_text()


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    machine = SlowPartials()
    monkeypatch.setattr(service, "LiveMeasurement", lambda *_: machine)
    return machine


def tune(path: Path, *arguments: str) -> int:
    return cli.run(["tune", "--out", str(path), *arguments])


def test_the_winner_can_be_served(tmp_path: Path, machine: FakeMachine, capsys: pytest.CaptureFixture[str]):
    path = tmp_path / "settings.toml"
    assert tune(path, "--json") == 0
    *points, result = map(json.loads, capsys.readouterr().out.splitlines())
    assert result["winner"] == {"asr": {"partial_interval_seconds": 1.2}}
    assert result["confirmed"]
    assert result["held"]["winner"] > result["held"]["default"] > 0
    assert read_settings(path).models["asr"].partial_interval_seconds == 1.2
    assert len(points) == len(machine.asked)
    assert all(point in points for point in result["front"])
    assert machine.unseen == 2
    assert result["check"]["winner"]["settings"] == result["winner"]
    page = Path(result["report"])
    assert page == tmp_path / "settings.report.md"
    told = page.read_text()
    assert "partial_interval_seconds = 1.2" in told
    assert "## With conversations that nothing was chosen by" in told
    assert told.count("| default |") > 2
    assert (tmp_path / "settings.report.png").read_bytes().startswith(b"\x89PNG")


def test_people_are_shown_the_front(tmp_path: Path, machine: FakeMachine, capsys: pytest.CaptureFixture[str]):
    assert tune(tmp_path / "settings.toml") == 0
    out = capsys.readouterr()
    assert "Pareto front" in out.out
    assert f"serve --settings {tmp_path / 'settings.toml'}" in out.out
    assert "conversations, default: carried, reply p50" in out.err


def test_what_was_measured_is_not_measured_again(tmp_path: Path, machine: FakeMachine):
    path = tmp_path / "settings.toml"
    assert tune(path) == 0
    written, measured = path.read_text(), len(machine.asked)
    path.unlink()
    assert tune(path) == 0
    assert (path.read_text(), len(machine.asked)) == (written, measured)
    assert tune(path, "--fresh") == 0
    assert len(machine.asked) == 2 * measured


INTERRUPTIONS = pytest.mark.parametrize(
    ("reason", "code", "told"),
    [(KeyboardInterrupt(), 130, ""), (ProcessesError("a process was killed: try again"), 1, "try again.\n")],
    ids=["Ctrl-C", "callers fail"],
)


@INTERRUPTIONS
def test_interrupted_it_leaves_the_best_so_far(
    tmp_path: Path,
    machine: FakeMachine,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    reason: BaseException,
    code: int,
    told: str,
):
    class Interrupted(SlowPartials):
        def __call__(self, candidate, streams, seconds, *, unseen=False):
            if len(self.asked) == 10:
                raise reason
            return super().__call__(candidate, streams, seconds, unseen=unseen)

    monkeypatch.setattr(service, "LiveMeasurement", lambda *_: Interrupted())
    assert tune(tmp_path / "settings.toml") == code
    err = capsys.readouterr().err
    assert "The same command goes on from here" in err
    assert err.endswith(told)
    assert "run `vivavoce tune` again" in (tmp_path / "settings.toml").read_text()


@INTERRUPTIONS
def test_interrupted_before_the_first_measurement_it_leaves_the_settings_as_they_are(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    reason: BaseException,
    code: int,
    told: str,
):
    def interrupted(*_, **__):
        raise reason

    monkeypatch.setattr(service, "LiveMeasurement", lambda *_: interrupted)
    (tmp_path / "settings.toml").write_text("[asr]\nthreads = 2\n")
    assert tune(tmp_path / "settings.toml") == code
    assert (tmp_path / "settings.toml").read_text() == "[asr]\nthreads = 2\n"
    err = capsys.readouterr().err
    assert "The best so far" not in err
    assert err.endswith(told)


def test_without_time_for_a_comparison_no_winner_is_told(
    tmp_path: Path, machine: FakeMachine, capsys: pytest.CaptureFixture[str]
):
    assert tune(tmp_path / "settings.toml", "--minutes", "4") == 0
    out = capsys.readouterr().out
    # A measurement lasts 40 s and 15 s more for the start, a round has two, a comparison and the check behind it three
    # rounds in 0.3 of the time.
    assert "undecided: one round takes about 1.8 minutes here; run the same command with --minutes 19 for one" in out
    assert "winner" not in out
    assert "Undecided, so nothing is set" in (tmp_path / "settings.toml").read_text()
    assert "--minutes 19" in (tmp_path / "settings.toml").read_text()
    assert tune(tmp_path / "settings.toml", "--minutes", "4", "--json") == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (result["confirmed"], result["enough_minutes"]) == (False, 19)


def test_the_time_that_is_called_enough_is(tmp_path: Path, machine: FakeMachine, capsys: pytest.CaptureFixture[str]):
    assert tune(tmp_path / "settings.toml", "--minutes", "4", "--json") == 0
    enough = json.loads(capsys.readouterr().out.splitlines()[-1])["enough_minutes"]
    assert tune(tmp_path / "settings.toml", "--minutes", str(enough), "--json") == 0
    result = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert result["confirmed"]
    assert "enough_minutes" not in result


def test_the_advice_names_the_engines_that_were_tuned(
    tmp_path: Path, machine: FakeMachine, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    shipped = service.configs(())
    monkeypatch.setattr(service, "configs", lambda _: shipped)
    path = tmp_path / "settings.toml"
    assert tune(path, "--engine", "my engine", "--engine", "other") == 0
    assert f"serve --engine 'my engine' --engine other --settings {path}`" in capsys.readouterr().out


def test_where_the_service_does_not_start_nothing_is_chosen(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(service, "LiveMeasurement", lambda *_: lambda *_, **__: failed("Triton could not start", 3.0))
    assert tune(tmp_path / "settings.toml") == 1
    assert capsys.readouterr().err.endswith("Triton could not start: mend that, and begin anew with --fresh.\n")
    assert not (tmp_path / "settings.toml").exists()


def test_an_engine_that_is_none_is_told_before_anything_is_measured(
    tmp_path: Path, machine: FakeMachine, capsys: pytest.CaptureFixture[str]
):
    assert tune(tmp_path / "settings.toml", "--engine", str(tmp_path)) == 1
    assert f"{tmp_path} is no engine directory" in capsys.readouterr().err
    assert not machine.asked


def test_wrong_usage_is_told_in_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert tune(tmp_path / "missing" / "settings.toml") == 2
    assert "there is no folder" in capsys.readouterr().err
    (tmp_path / "settings.toml.log").write_text("something else\n")
    assert tune(tmp_path / "settings.toml") == 1
    assert "settings.toml.log is no log of `vivavoce tune`: choose another --out." in capsys.readouterr().err
