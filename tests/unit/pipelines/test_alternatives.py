"""What a turn of several segments may be."""

from __future__ import annotations

from pipelines.data.recognition import Alternative
from pipelines.turns.alternatives import join_alternatives

TEA = (Alternative("tea", 0.6), Alternative("tee", 0.4))
NOW = (Alternative("now", 0.75), Alternative("know", 0.25))


def test_segments_are_combined_and_the_most_probable_kept() -> None:
    joined = join_alternatives([("tea", TEA), ("now", NOW)], 3)
    assert [one.text for one in joined] == ["tea now", "tee now", "tea know"]
    assert [round(one.confidence, 3) for one in joined] == [0.45, 0.3, 0.15]


def test_a_segment_of_which_only_the_text_is_known_is_taken_as_it_is() -> None:
    assert join_alternatives([("please", ()), ("tea", TEA), ("", ())], 1) == (Alternative("please tea", 0.6),)


def test_what_is_taken_for_said_comes_first_though_something_else_is_more_probable() -> None:
    heard = (Alternative("write", 0.4), Alternative("right", 0.6))
    joined = join_alternatives([("write", heard), ("now", NOW)], 3)
    assert [one.text for one in joined] == ["write now", "right now", "right know"]


def test_nothing_said_is_nothing() -> None:
    assert join_alternatives([], 2) == (Alternative("", 1.0),)
