"""The command of the harness of faults, and its table."""

from __future__ import annotations

from click.testing import CliRunner

from tests.robustness.harness import __main__ as command
from tests.robustness.harness.faults import FAULTS, Fault
from tests.robustness.harness.judge import Rule, Violation
from tests.robustness.harness.rounds import Outcome

LOST = Violation(Rule.ONE_REPLY, "speaker", "turn 2 has none")


def test_the_table_sums_up_the_rounds_of_each_fault():
    outcomes = [
        Outcome("kill asr", 1.0, 20, 0, 4, 9.0),
        Outcome("delay", 2.0, 30, 1, 0, 5.0, [LOST]),
        Outcome("kill asr", 3.0, 22, 0, 3, 12.5, [LOST, LOST]),
    ]
    assert command.table(outcomes).splitlines() == [
        "| fault | rounds | utterances | reconnections | recoveries | longest, s | violations |",
        "|---|--:|--:|--:|--:|--:|--:|",
        "| kill asr | 2 | 42 | 0 | 7 | 12.5 | 2 |",
        "| delay | 1 | 30 | 1 | 0 | 5.0 | 1 |",
    ]


def test_a_fault_that_there_is_not_is_refused_with_those_that_there_are():
    done = CliRunner().invoke(command.main, ["--fault", "earthquake"])
    assert done.exit_code == 2
    assert "there is no fault 'earthquake'" in done.output
    assert "kill asr" in done.output


def test_rounds_of_all_faults_are_played_and_a_violation_is_an_error(monkeypatch):
    played: list[str] = []

    async def rounds(_folder: object, faults: list[Fault], seed: int):
        assert seed == 7
        for fault in faults:
            played.append(fault.name)
            yield Outcome(fault.name, 1.0, 20, 0, 0, 9.0, [LOST] * (fault.name == "kill asr"))

    monkeypatch.setattr(command, "rounds", rounds)
    monkeypatch.setattr(command, "can_mount", lambda: True)
    done = CliRunner().invoke(command.main, ["--rounds", "2", "--seed", "7"])
    assert done.exit_code == 1
    assert sorted(played) == sorted(2 * [fault.name for fault in FAULTS])
    assert "speaker: ONE_REPLY: turn 2 has none" in done.output
    done = CliRunner().invoke(command.main, ["--seed", "7", "--fault", "delay"])
    assert done.exit_code == 0
    assert "| delay | 1 | 20 |" in done.output


def test_faults_that_fill_file_systems_are_left_out_where_none_can_be_mounted(monkeypatch):
    async def rounds(_folder: object, faults: list[Fault], _seed: int):
        assert faults
        for fault in faults:
            assert not fault.needs_mounts
            yield Outcome(fault.name, 1.0, 20, 0, 0, 9.0)

    monkeypatch.setattr(command, "rounds", rounds)
    monkeypatch.setattr(command, "can_mount", lambda: False)
    done = CliRunner().invoke(command.main)
    assert done.exit_code == 0
    assert "no file systems can be mounted here: full disk, full shared memory" in done.output


def test_every_fault_has_a_name_of_its_own():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS)
