from __future__ import annotations

from pipelines.data.messages import Transcript
from service.api.riva.asr.ordering import InTurnOrder


def said(turn: int, text: str, *, final: bool = True) -> Transcript:
    return Transcript(turn, text, final, 0, 0)


def test_what_comes_in_order_is_told_at_once():
    order = InTurnOrder()
    first, rest, second = said(1, "one", final=False), said(1, "one two"), said(2, "three")
    assert [order.add(transcript) for transcript in (first, rest, second)] == [[first], [rest], [second]]


def test_a_later_turn_waits_for_the_final_of_the_one_before():
    order = InTurnOrder()
    early, partial, final = said(2, "three"), said(1, "one", final=False), said(1, "one two")
    assert order.add(early) == []
    assert order.add(partial) == [partial]
    assert order.add(final) == [final, early]


def test_of_a_turn_that_waits_the_newest_transcript_is_kept():
    order = InTurnOrder()
    assert order.add(said(2, "th", final=False)) == []
    assert order.add(said(2, "three", final=False)) == []
    final = said(1, "one two")
    assert order.add(final) == [final, said(2, "three", final=False)]
    last = said(2, "three four")
    assert order.add(last) == [last]


def test_several_turns_that_waited_follow_each_other():
    order = InTurnOrder()
    assert order.add(said(3, "c")) == order.add(said(2, "b")) == []
    assert [transcript.text for transcript in order.add(said(1, "a"))] == ["a", "b", "c"]
