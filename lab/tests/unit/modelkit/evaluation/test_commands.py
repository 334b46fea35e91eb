from __future__ import annotations

import json

import pytest

import vivavoce
from lab.tests.unit.modelkit.evaluation.fakes import SpeechTable, silent, write_commands, write_tone
from modelkit.errors import DataError
from modelkit.evaluation.command_data import Half, read_commands
from modelkit.evaluation.commands import Noisiness, evaluate_commands
from modelkit.evaluation.engines import Turn
from modelkit.evaluation.hints import domain_hints
from modelkit.evaluation.noise import Noise

LATTE = {"intent": "order", "slots": {"drink": "latte"}}
SMALL = {"intent": "order", "slots": {"drink": "mocha", "size": "small"}}
LABELS = {"b.wav": SMALL, "a.wav": LATTE, "c.wav": LATTE}
SECONDS = {"a.wav": 0.1, "b.wav": 0.2, "c.wav": 0.3}
HEARD = {
    1_600: [Turn("a latte", "order", (("drink", "latte"), ("size", "small")))],
    3_200: [Turn("a small latte", "order", (("drink", "latte"), ("size", "small")))],
    4_800: [Turn("a letter", "none", ())],
}


@pytest.fixture
def folder(tmp_path):
    write_commands(tmp_path / "coffee", LABELS, SECONDS)
    return tmp_path / "coffee"


def test_a_folder_is_read_in_the_order_of_names_and_halves_alternate(folder):
    commands, domain = read_commands(folder)
    assert [(c.path, c.half, c.intent, c.slots) for c in commands] == [
        (folder / "audio" / "a.wav", Half.TUNING, "order", {"drink": "latte"}),
        (folder / "audio" / "b.wav", Half.OTHER, "order", {"drink": "mocha", "size": "small"}),
        (folder / "audio" / "c.wav", Half.TUNING, "order", {"drink": "latte"}),
    ]
    assert domain.slot_values["size"] == ("small", "large")


def relabel(folder, **changes):
    (folder / "labels.json").write_text(json.dumps(LABELS | changes))


def test_a_label_without_recording_and_a_recording_without_label_are_named(folder):
    relabel(folder, **{"d.wav": LATTE})
    with pytest.raises(DataError, match=r"labels d\.wav, but there is no .*d\.wav"):
        read_commands(folder)
    relabel(folder)
    write_tone(folder / "audio" / "e.wav")
    with pytest.raises(DataError, match=r"e\.wav has no label"):
        read_commands(folder)


@pytest.mark.parametrize(
    "label", [3, {}, {"intent": "order"}, {"intent": "order", "slots": []}, {"intent": None, "slots": {}}]
)
def test_a_label_of_another_form_is_named(folder, label):
    relabel(folder, **{"a.wav": label})
    with pytest.raises(DataError, match=r"labels\.json, a\.wav: write"):
        read_commands(folder)


@pytest.mark.parametrize("slots", [{"drink": "tea"}, {"milk": "latte"}, {"size": 3}])
def test_a_value_that_its_slot_cannot_have_is_named(folder, slots):
    relabel(folder, **{"a.wav": {"intent": "order", "slots": slots}})
    with pytest.raises(DataError, match=r"a\.wav: .* is no value of the slot"):
        read_commands(folder)


@pytest.mark.parametrize(("text", "message"), [("[]", "labels no recordings"), ("{", "line 1"), ("", "is empty")])
def test_labels_that_say_nothing_are_refused(folder, text, message):
    (folder / "labels.json").write_text(text)
    with pytest.raises(DataError, match=message):
        read_commands(folder)


def test_a_recording_that_is_no_audio_is_named(folder):
    (folder / "audio" / "a.wav").write_text("no audio")
    with pytest.raises(vivavoce.NotAudio, match=r"a\.wav"):
        read_commands(folder)


async def evaluate(engines, folder, **changes):
    commands, _ = read_commands(folder)
    options = {"noisiness": None, "hints": [], "one_utterance": True, "concurrency": 2, "on_progress": silent} | changes
    return await evaluate_commands(engines, commands, **options)


async def test_scores_of_clean_commands(folder):
    evaluation = await evaluate(SpeechTable(HEARD), folder)
    assert evaluation.n == 3
    assert evaluation.scores == {
        "acceptance": 0.3333,
        "conditions": {
            "clean": {
                "accepted": 0.3333, "tuning_half": 0.5, "other_half": 0.0, "intent_right": 0.6667, "heard": 0.3333,
                "extra_slots": 0.3333,
            }
        },
        "slots": {
            "drink": {"labelled": 3, "missing": 1, "wrong": 1, "extra": 0},
            "size": {"labelled": 1, "missing": 0, "wrong": 0, "extra": 1},
        },
    }  # fmt: skip
    assert [(case.name, case.score) for case in evaluation.cases] == [
        ("a.wav", 1.0), ("b.wav", pytest.approx(2 / 3)), ("c.wav", 0.0),
    ]  # fmt: skip
    assert evaluation.cases[1].got == [
        {"transcript": "a small latte", "intent": "order", "slots": [["drink", "latte"], ["size", "small"]]}
    ]


async def test_noise_is_mixed_in_at_every_ratio(folder, tmp_path):
    write_tone(tmp_path / "noise.wav", 1.0, 0.1)
    engines = SpeechTable(HEARD)
    evaluation = await evaluate(engines, folder, noisiness=Noisiness(Noise.read(tmp_path / "noise.wav"), (6.0, 12.5)))
    assert list(evaluation.scores["conditions"]) == ["clean", "6 dB", "12.5 dB", "mean of noisy"]
    assert evaluation.scores["acceptance_noisy"] == 0.3333
    assert [case.name for case in evaluation.cases[2:5]] == ["c.wav", "a.wav at 6 dB", "b.wav at 6 dB"]
    clips = {(len(clip.samples), clip.samples.tobytes()) for clip, _, _ in engines.heard}
    assert len(clips) == 9


async def test_one_command_alone_says_nothing_about_the_other_half(folder):
    commands, _ = read_commands(folder)
    options = {"hints": [], "one_utterance": True, "concurrency": 2, "on_progress": silent}
    evaluation = await evaluate_commands(SpeechTable(HEARD), commands[:1], noisiness=None, **options)
    assert evaluation.scores["conditions"]["clean"]["other_half"] is None


async def test_hints_come_from_the_domain_and_reach_the_engines(folder):
    _, domain = read_commands(folder)
    hints = domain_hints(domain, 30.0, 4.0)
    assert hints == [
        vivavoce.PhraseHints(("latte", "mocha", "small", "large"), 30.0),
        vivavoce.PhraseHints(("a small latte please", "make me a large mocha with milk"), 4.0),
    ]
    engines = SpeechTable(HEARD)
    await evaluate(engines, folder, hints=hints, one_utterance=False)
    assert {(heard, one_utterance) for _, heard, one_utterance in engines.heard} == {(tuple(hints), False)}
