"""Figures, signs and abbreviations in words."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.speech.spans import SayAs, Span
from pipelines.speech.verbalizing.numbers import cardinal, decade, digits, ordinal, year
from pipelines.speech.verbalizing.say_as import spoken
from pipelines.speech.verbalizing.written import in_words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Your flight leaves at 9:30am.", "Your flight leaves at nine thirty AM."),
        ("Meet me at 14:05.", "Meet me at fourteen oh five."),
        ("It's 12:00.", "It's twelve o'clock."),
        ("We open at 7 p.m.", "We open at seven PM."),
        ("7 p.m. is late", "seven PM is late"),
        ("10am-5pm", "ten AM to five PM"),
        ("9:00-17:00", "nine o'clock to seventeen hundred hours"),
        ("at 23:59:05", "at twenty three fifty nine and five seconds"),
        ("25:99 is no time", "twenty five:ninety nine is no time"),
        ("on 10/12/2019", "on October twelfth, twenty nineteen"),
        ("on 31/12/99", "on December thirty first, nineteen ninety nine"),
        ("on 2024-03-01", "on March first, twenty twenty four"),
        ("It is on July 17.", "It is on July seventeenth."),
        ("Jan 5, 2024", "January fifth, twenty twenty four"),
        ("the 3rd of March 2024", "the third of March, twenty twenty four"),
        ("on 5 January", "on the fifth of January"),
        ("$3.50", "three dollars and fifty cents"),
        ("$0.99 or $1.01", "ninety nine cents or one dollar and one cent"),
        ("£12 and 20 € and USD 30", "twelve pounds and twenty euros and thirty dollars"),
        ("€1.2 million, $2k", "one point two million euros, two thousand dollars"),
        ("50¢", "fifty cents"),
        ("72.5% of -5", "seventy two point five percent of minus five"),
        ("-1°C, 20 °F, 90°", "minus one degree Celsius, twenty degrees Fahrenheit, ninety degrees"),
        ("20 km, 1 km, 50 mph", "twenty kilometers, one kilometer, fifty miles per hour"),
        ("3 GB, 2 m²", "three gigabytes, two square meters"),
        ("5 mins and 30 secs", "five minutes and thirty seconds"),
        ("5'10\" tall", "five foot ten tall"),
        ("1 apple and 1,250,000 pears", "one apple and one million two hundred fifty thousand pears"),
        ("in 1998 and 2005", "in nineteen ninety eight and two thousand five"),
        ("in 1900 and 2000", "in nineteen hundred and two thousand"),
        ("the 1990s, the '80s", "the nineteen nineties, the eighties"),
        ("1914-1918, 2-3 days", "nineteen fourteen to nineteen eighteen, two to three days"),
        ("the 21st century", "the twenty first century"),
        ("Tue-Sat, Mon 8am", "Tuesday to Saturday, Monday eight AM"),
        ("Apr–Sept, Dec 24-26", "April to September, December twenty fourth to twenty sixth"),
        ("Jan 3 - Feb 2", "January third to February second"),
        ("£3-4 or 20–30 €", "three to four pounds or twenty to thirty euros"),
        ("$1.5-2 million", "one point five to two million dollars"),
        ("the 60s, in her 30s, for 30s", "the sixties, in her thirties, for thirty seconds"),
        ("v3.11, v2", "version three point eleven, version two"),
        ("24/7 on 911, or dial 112", "twenty four seven on nine one one, or dial one one two"),
        ("tram 12B, seat 7C, a 20A fuse", "tram twelve B, seat seven C, a twenty amperes fuse"),
        ("555-0199 ext. 42", "five five five, zero one nine nine extension four two"),
        ("2.500,75 euros", "two thousand five hundred euros and seventy five cents"),
        ("9,90 €", "nine euros and ninety cents"),
        ("ann+news@example.org", "ann plus news at example dot org"),
        ("3/4 cup, 1 1/2 cups, 1/2", "three quarters cup, one and a half cups, one half"),
        ("555-123-4567", "five five five, one two three, four five six seven"),
        ("+49 30 1234567", "plus four nine, three zero, one two three four five six seven"),
        ("00451", "zero zero four five one"),
        ("version 2.0.1", "version two point zero point one"),
        ("B12 on A320", "B twelve on A three twenty"),
        ("see https://www.example.com/a-b.", "see example dot com slash a dash b."),
        ("bob@example.com", "bob at example dot com"),
        ("Dr. Smith, 221 Baker St.", "Doctor Smith, two hundred twenty one Baker Street."),
        ("St. Paul, e.g. Mr. X", "Saint Paul, for example Mr. X"),
        ("R&D & so on, 2+2=4", "R and D and so on, two plus two equals four"),
        ("No. 7, #3", "number seven, number three"),
        ("U.S. NASA, I'm it's", "U.S. NASA, I'm it's"),
        ("nothing to do here", "nothing to do here"),
    ],
)  # fmt: skip
def test_what_is_written_is_spoken(text: str, words: str):
    assert in_words(text) == words


@pytest.mark.parametrize(
    ("say_as", "text", "words"),
    [
        (SayAs.CARDINAL, "1998", "one thousand nine hundred ninety eight"),
        (SayAs.ORDINAL, "42", "forty second"),
        (SayAs.ORDINAL, "42nd", "forty second"),
        (SayAs.CHARACTERS, "B2-x", "B., two, dash, X."),
        (SayAs.DIGITS, "1998", "one nine nine eight"),
        (SayAs.FRACTION, "3 1/8", "three and one eighth"),
        (SayAs.TIME, "4:00pm", "four PM"),
        (SayAs.TELEPHONE, "+1 (555) 010-9999", "plus one, five five five, zero one zero, nine nine nine nine"),
        (SayAs.CURRENCY, "$5.05", "five dollars and five cents"),
        (SayAs.UNIT, "10kg", "ten kilograms"),
        (SayAs.CARDINAL, "no number 5", "no number five"),
        (SayAs.TIME, "noon", "noon"),
        (SayAs.FRACTION, "3/1", "three slash one"),
    ],
)
def test_what_it_was_said_to_be_is_spoken(say_as: SayAs, text: str, words: str):
    assert spoken(Span(text, say_as=say_as)) == words


@pytest.mark.parametrize(
    ("text", "order", "words"),
    [
        ("3/4/2024", "dmy", "April third, twenty twenty four"),
        ("3/4/2024", "", "March fourth, twenty twenty four"),
        ("2024-04-03", "ymd", "April third, twenty twenty four"),
        ("April 2024", "my", "April twenty twenty four"),
        ("4/3", "md", "April third"),
        ("1998", "y", "nineteen ninety eight"),
        ("99/99/99", "dmy", "ninety nine/ninety nine slash ninety nine"),
        ("soon", "dmy", "soon"),
    ],
)
def test_dates_are_read_in_the_order_that_was_said(text: str, order: str, words: str):
    assert spoken(Span(text, say_as=SayAs.DATE, date_format=order)) == words


def test_numbers_in_words():
    assert cardinal("-1,234.50") == "minus one thousand two hundred thirty four point five zero"
    assert cardinal("9" * 40) == " ".join(["nine"] * 40)
    assert ordinal("101") == "one hundred first"
    assert [year(figures) for figures in ("1066", "1905", "2010", "1000")] == [
        "ten sixty six",
        "nineteen oh five",
        "twenty ten",
        "one thousand",
    ]
    assert [decade(figures) for figures in ("1960", "2010", "1900")] == [
        "nineteen sixties",
        "twenty tens",
        "nineteen hundreds",
    ]
    assert digits("4-2") == "four two"


@given(st.text(alphabet="0123456789.,:;/-+$€%°# abcmkAPM'\"()@&=", max_size=200))
def test_no_figure_is_left_unread(text: str):
    assert not any(character in "0123456789" for character in in_words(text))


@pytest.mark.parametrize(
    "text", ["1" * 240, "a1" * 120, "1," * 120, "1,234." * 40, "www." + "a." * 118, "+1 " * 80, "1/" * 120, "-" * 240]
)
def test_nothing_takes_long_to_read(text: str):
    began = time.process_time()
    in_words(text)
    assert time.process_time() - began < 0.25
