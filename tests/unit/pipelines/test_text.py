import asyncio

import pytest

from pipelines.text.itn import inverse_normalize
from pipelines.text.profanity import masked
from pipelines.text.style import TranscriptStyle, has_words, plain


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("I owe you twenty three dollars.", "I owe you $23."),
        ("I owe you twenty-three dollars.", "I owe you $23."),
        ("Twenty three dollars, please!", "$23, please!"),
        ("Wake me at seven thirty a.m. tomorrow.", "Wake me at 07:30 a.m. tomorrow."),
        ("A quarter past nine.", "09:15."),
        ("Ninety nine red balloons, and one more.", "99 red balloons, and one more."),
        ("three point one four", "3.14"),
        ("on the twenty first of june two thousand twenty three", "on 21 june 2023"),
        ("call five five five one two three four", "call 5551234"),
    ],
)
async def test_numbers_are_written_inverse_normalize(spoken: str, written: str):
    assert await inverse_normalize(spoken) == written


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "What's on at Alice's?",
        "I don't know; do you?",
        "It's $23 at 7:30 a.m.",
        "Naïve café, señor.",
        'A "quoted" \\ back|slashed {text} & more…',
    ],
)
async def test_what_holds_no_spoken_number_stays_as_it_is(text: str):
    assert await inverse_normalize(text) == text


async def test_others_run_while_a_long_text_is_written():
    turns = 0

    async def count_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    assert await inverse_normalize("I owe you twenty-three dollars. " * 100) == "I owe you $23. " * 100
    counting.cancel()
    assert turns > 100


def test_profane_words_are_masked_but_for_their_first_letter():
    assert masked("What the fuck is this shit? Fuck!") == "What the f*** is this s***? F***!"


def test_harmless_words_with_profane_parts_stay():
    assert masked("He assessed the class in Scunthorpe.") == "He assessed the class in Scunthorpe."


@pytest.mark.parametrize(
    ("written", "bare"),
    [
        ("Well, it's Bob's!", "well it's bob's"),
        ("He said: “Go.” (Twice.)", "he said go twice"),
        ("It's $3.50 at 7:30, for 1,000 people.", "it's $3.50 at 7:30 for 1,000 people"),
        ("twenty-three", "twenty three"),
        ("...", ""),
    ],
)
def test_plain_text_keeps_apostrophes_and_what_stands_inside_numbers(written: str, bare: str):
    assert plain(written) == bare


async def test_partial_transcripts_are_in_figures_only_if_that_is_wanted():
    text = "Twenty three dollars."
    assert await TranscriptStyle(figures=True).write(text, is_final=False) == text
    assert await TranscriptStyle(figures=True).write(text, is_final=True) == "$23."
    eager = TranscriptStyle(figures=True, figures_in_partials=True)
    assert await eager.write(text, is_final=False) == "$23."


async def test_without_punctuation_figures_are_written_too():
    style = TranscriptStyle(punctuation=False, figures=True)
    assert await style.write("It costs twenty-three dollars.", is_final=True) == "it costs $23"


async def test_words_are_written_one_by_one_as_they_were_spoken():
    style = TranscriptStyle(punctuation=False, figures=True, mask_profanity=True)
    assert await style.write_words(["Twenty-three,", "fuck!"]) == ["twenty three", "f***"]


@pytest.mark.parametrize(
    ("spoken", "written", "words"),
    [
        ("One jelly donut, please.", "One j**********, please.", ["One", "j****", "*****,", "please."]),
        ("Moby Dick swims.", "Moby Dick swims.", ["Moby", "Dick", "swims."]),
    ],
)
async def test_words_are_masked_as_they_are_in_their_text(spoken: str, written: str, words: list[str]):
    style = TranscriptStyle(mask_profanity=True)
    assert await style.write(spoken, is_final=True) == written
    assert await style.write_words(spoken.split()) == words


@pytest.mark.parametrize(("text", "said"), [("", False), ("...", False), ("Oh...", True), ("7", True), ("Ça", True)])
def test_marks_alone_are_no_words(text: str, said: bool):
    assert has_words(text) is said
