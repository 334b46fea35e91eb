"""Marks that no text has."""

import pytest

from engines.asr.moonshine.marks import without_doubled_marks, without_open_end


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("A..", "A."),
        ("Um,, yes", "Um, yes"),
        ("What?? Now!!", "What? Now!"),
        ("Well,. then", "Well. then"),
        ("Well., then", "Well. then"),
        ("Wait... what", "Wait... what"),
        ("It is 3.1.3, at 7:30; fine.", "It is 3.1.3, at 7:30; fine."),
    ],
)
def test_one_of_two_marks_stays(text: str, tidy: str):
    assert without_doubled_marks(text) == tidy


@pytest.mark.parametrize("end", ["", ",", ", ", " -", ";", ":", ",\N{EM DASH}"])
def test_no_text_ends_as_if_more_followed(end: str):
    assert without_open_end(f"a more amiable{end}") == "a more amiable"


@pytest.mark.parametrize("text", ["Done.", "Really?", "Wait...", "five", ""])
def test_other_ends_stay(text: str):
    assert without_open_end(text) == text
