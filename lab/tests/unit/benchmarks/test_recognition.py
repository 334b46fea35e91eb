from __future__ import annotations

import numpy as np
import pytest

from benchmarks.recognition.contenders import (
    EIGHT,
    MOONSHINE,
    ONE,
    OURS,
    SERVED,
    SPHINX,
    WHISPER,
    Contender,
    contenders,
)
from benchmarks.recognition.material import Recording, cut, seconds
from benchmarks.recognition.race import Entry, race, schedule, speeds
from benchmarks.recognition.report import accuracy, against_moonshine, rows, table
from benchmarks.recognition.systems import deal, repository_with
from benchmarks.recognition.worker import Worker
from pipelines.models.triton.configs import parse
from service.triton.served_models import DEFAULT_MODEL_REPOSITORY

RATE = 16_000


class Loudness:
    """Stands for the voice activity model: what is loud is speech."""

    def new_stream(self) -> Loudness:
        return self

    def probabilities(self, windows: np.ndarray) -> list[float]:
        return [float(np.abs(window).max() > 0.1) for window in windows]


def speech(*parts: tuple[float, float]) -> np.ndarray:
    """Returns audio of parts: seconds, loudness."""
    return np.concatenate([np.full(round(length * RATE), loudness, np.float32) for length, loudness in parts])


def lengths(audio: np.ndarray) -> list[float]:
    return [round(len(piece) / RATE, 1) for piece in cut(audio, Loudness())]


def contender(system: str, setting: str = "s", *, slow: bool = False, **options: object) -> Contender:
    return Contender(system, setting, "lab.tests.unit.benchmarks.counting:Counting", options, slow=slow)


def entry(system: str, at_once: int, *pass_seconds: float, setting: str = "s") -> Entry:
    texts = {(0, 0): "one two", (0, 1): "three"}
    return Entry(contender(system, setting), at_once, texts, list(pass_seconds), cpu_seconds=1.0)


RECORDING = Recording("r", (np.zeros(RATE, np.float32), np.zeros(3 * RATE, np.float32)), "one two three four")


def test_recordings_are_cut_where_the_service_would_end_an_utterance():
    # 0.3 s from before the onset and 0.2 s of the silence belong to an utterance.
    assert lengths(speech((1, 0), (2, 0.5), (1, 0), (3, 0.5), (1, 0))) == pytest.approx([2.5, 3.5], abs=0.11)


def test_what_is_cut_begins_after_what_was_cut_before():
    audio = speech((1, 0.5), (0.65, 0), (1, 0.5))
    pieces = cut(audio, Loudness())
    assert len(pieces) == 2
    assert sum(map(len, pieces)) <= len(audio)


def test_long_speech_is_cut_at_a_short_pause():
    assert lengths(speech((13, 0.5), (0.4, 0), (5, 0.5), (1, 0))) == pytest.approx([13.2, 5.5], abs=0.2)


def test_speech_up_to_the_end_is_kept_and_silence_is_not():
    assert lengths(speech((1, 0), (2, 0.5))) == pytest.approx([2.3], abs=0.1)
    assert cut(speech((3, 0)), Loudness()) == []


def test_seconds_are_those_of_the_utterances():
    assert seconds([RECORDING, RECORDING]) == 8


def test_everybody_is_given_every_utterance_once_and_ones_before_eights():
    entries = [entry(OURS, ONE), entry(MOONSHINE, ONE), entry(OURS, EIGHT)]
    places = [(i, 0) for i in range(11)]
    turns = list(schedule(entries, places, seed=3))
    for own in entries:
        assert sorted(place for who, batch in turns if who is own for place in batch) == places
    assert [len(batch) for who, batch in turns if who is entries[2]] == [8, 3]
    assert all(len(batch) == 1 for who, batch in turns if who is not entries[2])


def test_each_utterance_goes_round_before_the_next_one():
    entries = [entry(OURS, ONE), entry(MOONSHINE, ONE)]
    batches = [batch for _, batch in schedule(entries, [(i, 0) for i in range(8)], seed=1)]
    assert batches[::2] == batches[1::2]


def test_utterances_are_dealt_evenly():
    assert sorted(i for hand in deal([5, 1, 4, 2, 3], 2) for i in hand) == [0, 1, 2, 3, 4]
    assert [sum([5, 1, 4, 2, 3][i] for i in hand) for hand in deal([5, 1, 4, 2, 3], 2)] == [8, 7]
    assert deal([2], 3) == [[0], [], []]


def test_speed_is_seconds_of_speech_a_second():
    assert speeds(entry(OURS, ONE, 2.0, 1.0), [RECORDING]) == [2.0, 4.0]


def test_ours_is_compared_with_the_best_setting_of_theirs_pass_by_pass():
    entries = [
        entry(OURS, ONE, 1.0, 2.0),
        entry(MOONSHINE, ONE, 2.0, 5.0, setting="best"),
        entry(MOONSHINE, ONE, 9.0, 9.0, setting="slow"),
        entry(OURS, EIGHT, 1.0, 1.0),
        entry(MOONSHINE, EIGHT, 1.2, 1.2),
    ]
    alone, together = against_moonshine(entries, [RECORDING], cores=2)
    assert (alone["times_as_fast"], alone["range"], alone["theirs"]) == (2.25, [2.0, 2.5], "best")
    assert alone["reached"]
    assert (together["times_as_fast"], together["reached"]) == (1.2, False)


def test_accuracy_does_not_depend_on_how_numbers_are_written():
    recordings = [Recording("a", (), "wake me at seven thirty"), Recording("b", (), values=("twelve ounce", "mocha"))]
    figures = accuracy(recordings, ["Wake me at 7:30.", "A 12 ounce coffee."])
    words = accuracy(recordings, ["wake me at seven thirty", "a twelve ounce coffee"])
    assert words == {"wer": 0.0, "wer_whisper": 0.0, "values_heard": 0.5}
    assert figures["wer"] > 0
    assert figures["values_heard"] == 0.5


def test_a_row_tells_speed_and_what_was_missed():
    (row,) = rows([entry(OURS, EIGHT, 2.0, 1.0, 4.0)], [RECORDING], cores=1)
    assert (row["speed"], row["speed_range"], row["wer"]) == (2.0, [1.0, 4.0], 0.25)
    assert row["cpu_seconds_per_second"] == pytest.approx(1 / 12, abs=1e-4)
    assert OURS in table([row])


def test_contenders_on_one_core_use_one_thread_and_all_systems_take_both_loads():
    single = contenders(1, "weights", sphinx=True)
    assert {c.system for c in single} == {OURS, SERVED, MOONSHINE, WHISPER, SPHINX}
    assert all(value == 1 for c in single for name, value in c.options.items() if name in {"threads", "workers"})
    for cores in (1, 2):
        for system in {c.system for c in single}:
            loads = {n for c in contenders(cores, "weights", sphinx=True) if c.system == system for n in c.at_once}
            assert loads == {ONE, EIGHT}


def test_what_is_not_installed_is_left_out():
    assert {c.system for c in contenders(2, None, sphinx=False)} == {OURS, SERVED, MOONSHINE}


def test_the_repository_differs_only_in_workers_and_threads(tmp_path):
    folder = repository_with(tmp_path / "models", 1, 2)
    shipped, own = (
        parse((models / "asr" / "config.pbtxt").read_text()) for models in (DEFAULT_MODEL_REPOSITORY, folder)
    )
    assert {key: own.parameters.pop(key).string_value for key in ("workers", "threads")} == {
        "workers": "1",
        "threads": "2",
    }
    for key in ("workers", "threads"):
        del shipped.parameters[key]
    assert own == shipped
    assert (folder / "asr" / "1" / "model.py").is_file()
    assert (folder / "intent_slot" / "config.pbtxt").is_file()


def test_everybody_runs_in_a_process_of_its_own_and_the_slow_in_the_first_pass_only():
    said: list[str] = []
    (alone, together, slow, _) = race([contender(OURS), contender(SPHINX, slow=True)], 1, [RECORDING], 2, said.append)
    assert alone.texts == together.texts == slow.texts == {(0, 0): str(RATE), (0, 1): str(3 * RATE)}
    assert [len(own.pass_seconds) for own in (alone, together, slow)] == [2, 2, 1]
    assert said[-1] == "1 core: pass 2 of 2"


def test_a_contender_that_cannot_begin_says_why():
    with pytest.raises(RuntimeError, match=r"(?s)ours.*no such weights"):
        Worker(contender(OURS, fails=True), 1)
