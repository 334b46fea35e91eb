from __future__ import annotations

import pytest

from lab.tests.unit.modelkit.evaluation.fakes import SpeechTable, silent, write_tone
from modelkit.evaluation.asr import evaluate_asr, score_transcripts
from modelkit.evaluation.engines import Turn
from modelkit.evaluation.normalizers import NORMALIZERS, make_normalizer
from modelkit.evaluation.recordings import Spoken


def test_errors_are_counted_over_the_words_of_the_whole_set():
    scores = score_transcripts(["the cat sat", "a b c d e"], ["the bat sat down", "a c d e"])
    assert scores["wer"] == round(3 / 8, 4)
    assert (scores["substitutions"], scores["deletions"], scores["insertions"], scores["words"]) == (1, 1, 1, 8)
    # Of 20 characters "c" became "b", " down" was added, "b " is missing.
    assert scores["cer"] == round((1 + 5 + 2) / (len("the cat sat") + len("a b c d e")), 4)


@pytest.mark.parametrize(("reference", "hypothesis", "wer"), [("", "", 0.0), ("", "a", 1.0), ("a b", "", 1.0)])
def test_silence_is_judged_too(reference, hypothesis, wer):
    assert score_transcripts([reference], [hypothesis])["wer"] == wer


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("whisper-english", "it is 7 dollars in color"),
        ("basic", "it s seven dollars in colour"),
        ("none", "It's seven dollars, in colour!"),
    ],
)
def test_normalizers(name, written):
    got = make_normalizer(name)("It's  seven dollars, in colour!")
    assert got == written.replace("7 dollars", "$7")
    assert name in NORMALIZERS


async def test_recordings_are_heard_and_turns_joined(tmp_path):
    for name, seconds in (("a.wav", 0.1), ("b.wav", 0.2)):
        write_tone(tmp_path / name, seconds)
    items = [Spoken(tmp_path / "a.wav", "Turn it on."), Spoken(tmp_path / "b.wav", "Turn it off, now.")]
    engines = SpeechTable(
        {1_600: [Turn("turn it on", "x", ())], 3_200: [Turn("Turn it", "x", ()), Turn("of now", "x", ())]}
    )
    evaluation = await evaluate_asr(
        engines, items, make_normalizer("basic"), hints=[], one_utterance=False, concurrency=2, on_progress=silent
    )
    assert (evaluation.task, evaluation.n, evaluation.scores["wer"]) == ("asr", 2, round(1 / 7, 4))
    assert [(case.name, case.got, case.score) for case in evaluation.cases] == [
        ("a.wav", "turn it on", 1.0), ("b.wav", "Turn it of now", 0.75),
    ]  # fmt: skip
    assert [one_utterance for _, _, one_utterance in engines.heard] == [False, False]
