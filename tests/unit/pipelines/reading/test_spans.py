import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.text.reading.spans import whole_tokens

TEXT = (
    "Contact support@example.com or call (030) 1234-5678, or +49 30 1234567. The freezer is kept at -4.5 °C. Upload "
    "report_final_v2.pdf before 5 p.m. See https://example.com/docs/setup.html for help. The fee is $1,250.00 (12.5 %)."
)


@pytest.mark.parametrize(
    ("found", "whole"),
    [
        ("@example.com", "support@example.com"),
        ("support", "support@example.com"),
        ("1234-5678", "(030) 1234-5678"),
        ("030) 1234-5678", "(030) 1234-5678"),
        ("30 1234567", "+49 30 1234567"),
        ("4.5", "-4.5 °C"),
        ("5 °C", "-4.5 °C"),
        ("final_v2", "report_final_v2.pdf"),
        ("report_final_v2", "report_final_v2.pdf"),
        ("5 p.m", "5 p.m."),
        ("example.com/docs", "https://example.com/docs/setup.html"),
        ("1,250", "$1,250.00"),
        ("12.5", "12.5 %"),
        ("The freezer", "The freezer"),
        ("for help", "for help"),
        ("$1,250.00", "$1,250.00"),
    ],
)
def test_answers_are_not_cut_inside_addresses_numbers_and_names(found: str, whole: str):
    start = TEXT.index(found, TEXT.index("https") if found.startswith("example") else 0)
    first, last = whole_tokens(TEXT, start, start + len(found))
    assert TEXT[first:last] == whole


@pytest.mark.parametrize("text", ["from 1980-1984 in Rome", "they won 24-10 there", "e.g. this one"])
def test_ranges_and_words_stay_as_they_were_found(text: str):
    start = text.index(" ") + 1
    end = text.index("-") if "-" in text else len(text)
    assert whole_tokens(text, start, end) == (start, end)


@given(st.text("ab1.@-_()°C /", max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_an_answer_only_grows(text: str, one: int, other: int):
    start, end = sorted((min(one, len(text)), min(other, len(text))))
    first, last = whole_tokens(text, start, end)
    assert 0 <= first <= start <= end <= last <= len(text)


@pytest.mark.parametrize("piece", ["x", "a.", "1-", "1,", "a_", "a@", "https://", "+1 ", "(030) ", "a/"])
def test_a_text_without_an_end_takes_no_time(piece: str):
    text = piece * (90_000 // len(piece))
    began = time.process_time()
    whole_tokens(text, 10, 89_000)
    whole_tokens(text, 0, len(text))
    assert time.process_time() - began < 0.5
