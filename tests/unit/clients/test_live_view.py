"""What a person sees in a terminal."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest
from rich.console import Console

import vivavoce
from vivavoce.cli._live_view import LiveView, _firm_word_count, _meter

REPLY = vivavoce.Reply(
    turn=1,
    transcript="turn on the [red]light",
    intent=vivavoce.Intent("iot_hue_lighton", 0.75),
    slots=(),
    answer=None,
    status=vivavoce.ReplyStatus.COMPLETE,
    overran=(),
    latency=vivavoce.Latency(0.35, (vivavoce.StageLatency(vivavoce.Stage.QA, 0.001, 0.02),)),
    speculated=False,
    client_latency_seconds=0.36,
)


def _transcript(text: str, *, is_final: bool = False) -> vivavoce.Transcript:
    return vivavoce.Transcript(1, text, is_final, 0.0, 1.0)


@pytest.mark.parametrize(
    ("before", "now", "count"),
    [("", "turn on", 0), ("turn", "turn on", 1), ("turn of", "turn on the", 1), ("turn on", "turn on", 2)],
)
def test_words_that_stay_are_firm(before: str, now: str, count: int) -> None:
    assert _firm_word_count(before, now) == count


@pytest.mark.parametrize("is_completed", [True, False])
def test_what_is_missing_in_a_reply_comes_in_its_place(is_completed: bool) -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, highlight=False, color_system="standard")
    late = {"overran": (vivavoce.Stage.NLU,)}
    with LiveView(console, budget_seconds=0.3) as view:
        view.begin("a.wav")
        view.show(replace(REPLY, intent=None, status=vivavoce.ReplyStatus.PARTIAL, **late))
        assert "not known yet" in screen.getvalue()
        if is_completed:
            view.show(replace(REPLY, completes=True, **late))
        before = len(screen.getvalue())
        view.end()

    after = screen.getvalue()[before:]
    assert ("completed late: nlu" in screen.getvalue()) == is_completed
    assert ("not known yet" in after) == (not is_completed), "what was never completed stays"


def test_words_firm_up_in_place_and_the_reply_stays() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, highlight=False, color_system="standard")
    with LiveView(console, budget_seconds=0.3) as view:
        view.begin("a.wav")
        view.show(vivavoce.SpeechBegan(1, 0.0))
        view.show(_transcript("turn of"))
        view.show(_transcript("turn on the"))
        view.show(_transcript("turn on the [red]light", is_final=True))
        view.show(REPLY)
        view.level(0.5)
        view.end()

    shown = screen.getvalue()
    assert "turn\x1b[2m on the\x1b[0m" in shown or "turn \x1b[2mon the\x1b[0m" in shown, "new words are dim"
    text = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", shown)
    assert "> turn on the [red]light" in text, "brackets are words, not styles"
    assert "none in the documents" in text
    assert "350 ms of 300 ms, 360 ms seen from here" in text
    assert shown.rstrip("\r").endswith("\x1b[?25h"), "the cursor is back"


def test_a_connection_that_was_made_anew_is_told_and_words_that_were_not_final_go() -> None:
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, highlight=False, color_system=None)
    with LiveView(console, budget_seconds=0.3) as view:
        view.begin("")
        view.show(_transcript("turn on the"))
        view.show(vivavoce.Reconnected(lost_seconds=0.0, replayed_seconds=2.25))

    shown = screen.getvalue()
    assert "Connected again; 2.2 s of audio are sent once more." in shown
    assert "turn on the" not in shown[shown.index("Connected again") :]


def test_nothing_said_is_told() -> None:
    screen = io.StringIO()
    with LiveView(Console(file=screen, force_terminal=True), budget_seconds=0.3) as view:
        view.begin("")
        view.end()

    assert "Nothing was said." in screen.getvalue()


def test_the_meter_follows_the_level() -> None:
    lengths = [_meter(peak).plain.count("█") for peak in (0.0, 0.001, 0.01, 0.1, 0.5, 1.0)]

    assert lengths == sorted(lengths)
    assert (lengths[0], lengths[-1]) == (0, 30)
    assert "-20 dB" in _meter(0.1).plain
