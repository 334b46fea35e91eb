from __future__ import annotations

from pathlib import Path

import pytest

from modelkit.evaluation.acceptance import judge
from modelkit.evaluation.command_data import Command, Half
from modelkit.evaluation.engines import Turn
from modelkit.evaluation.normalizers import make_normalizer

COMMAND = Command(Path("a.flac"), Half.TUNING, "order", {"drink": "iced latte", "size": "twelve ounce "})
NORMALIZE = make_normalizer("whisper-english")
DRINK, SIZE = ("drink", " iced latte"), ("size", "twelve ounce")
WORDS = "A twelve ounce, iced latte!"


@pytest.mark.parametrize(
    ("slots", "missing", "wrong", "extra", "score"),
    [
        ((DRINK, SIZE), (), (), (), 1.0),
        ((DRINK, SIZE, SIZE), (), (), (), 1.0),
        ((DRINK, SIZE, ("milk", "milk")), (), (), ("milk",), 1.0),
        ((DRINK,), ("size",), (), (), 2 / 3),
        ((DRINK, ("size", "twelve")), (), ("size",), (), 2 / 3),
        ((DRINK, SIZE, ("size", "large")), (), ("size",), (), 2 / 3),
        ((DRINK, ("size", "Twelve ounce")), (), ("size",), (), 2 / 3),
        ((), ("drink", "size"), (), (), 1 / 3),
    ],
)
def test_every_labelled_slot_must_come_with_exactly_its_value(slots, missing, wrong, extra, score):
    verdict = judge(COMMAND, [Turn(WORDS, "order", slots)], NORMALIZE)
    assert (verdict.missing, verdict.wrong, verdict.extra) == (missing, wrong, extra)
    assert verdict.accepted == (not missing and not wrong)
    assert verdict.score == pytest.approx(score)


@pytest.mark.parametrize("intent", ["none", "brew"])
def test_the_intent_must_be_right(intent):
    verdict = judge(COMMAND, [Turn(WORDS, intent, (DRINK, SIZE))], NORMALIZE)
    assert not verdict.intent_right
    assert not verdict.accepted
    assert verdict.score == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("intents", "accepted"),
    [(("order", "order"), True), (("order", "none"), True), (("order", "brew"), False), (("none", "none"), False)],
)
def test_several_turns_are_judged_together(intents, accepted):
    turns = [Turn("A twelve ounce", intents[0], (SIZE,)), Turn("iced latte", intents[1], (DRINK,))]
    verdict = judge(COMMAND, turns, NORMALIZE)
    assert verdict.accepted is accepted
    assert verdict.heard


@pytest.mark.parametrize(
    ("transcript", "heard"),
    [
        (WORDS, True),
        ("Iced latte, 12 ounce.", True),
        ("A twelve ounce latte", False),
        ("twelve ounce iced lattes", False),
    ],
)
def test_values_that_stand_in_the_transcript_were_heard(transcript, heard):
    assert judge(COMMAND, [Turn(transcript, "none", ())], NORMALIZE).heard is heard


def test_where_nobody_spoke_nothing_is_accepted():
    verdict = judge(COMMAND, [], NORMALIZE)
    assert (verdict.accepted, verdict.heard, verdict.missing) == (False, False, ("drink", "size"))
