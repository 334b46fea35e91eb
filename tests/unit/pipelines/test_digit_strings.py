import pytest

from pipelines.text.digit_strings import ends_in_spelling, write_digit_strings
from pipelines.text.itn import inverse_normalize


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("My number is five five five, eight six seven, five three oh nine.", "My number is 555-867-5309."),
        ("My number is five, five, five, eight, six, seven, five, three, oh nine.", "My number is 555-867-5309."),
        ("Call five five, five one two, three four", "Call 55-512-34"),
        ("My number is 555, 867, 5309.", "My number is 555-867-5309."),
        ("five five five eight six seven five three oh nine", "555-867-5309"),
        (
            "It's four one one one, two two two two, three three three three, four four four four",
            "It's 4111 2222 3333 4444",
        ),
        ("Take me to room four, oh two, please", "Take me to room 402, please"),
        ("The extension is one, two, six.", "The extension is 126."),
        ("my pin is one, seven, three, four.", "my pin is 1734."),
        ("The code is four seven, one one", "The code is 4711"),
        ("dial one, eight hundred", "dial one, 800"),
        ("double oh seven", "007"),
        ("triple nine double one", "99911"),
    ],
)
async def test_digits_said_one_by_one_are_one_number(spoken: str, written: str):
    assert await inverse_normalize(spoken) == written


@pytest.mark.parametrize(
    ("spoken", "written"),
    [
        ("flight seven eighty eight", "flight 788"),
        ("seven eighty-eight", "788"),
        ("nine ninety nine", "999"),
        ("six sixty", "660"),
        ("seven thirty", "07:30"),
        ("two point one point three", "2.1.3"),
        ("Version one point zero point twenty five", "Version 1.0.25"),
        ("three point one four", "3.14"),
        ("in nineteen seventy one", "in 1971"),
    ],
)
async def test_numbers_said_in_pairs_and_versions_are_whole(spoken: str, written: str):
    assert await inverse_normalize(spoken) == written


@pytest.mark.parametrize(
    "text",
    [
        "one, two, three, go",
        "I have two, three or four apples",
        "Bring 3, 4, 5 or 6 chairs",
        "In 1969, 1970, 1971 they flew",
        "one two, three four",
        "ten to eight",
        "",
    ],
)
def test_other_numbers_are_left_to_the_grammars(text: str):
    assert write_digit_strings(text) == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("My phone number is five, five, five", True),
        ("five, eight, six, seven.", True),
        ("My name is spelled S M I", True),
        ("room 4 0 7", True),
        ("it is double five two", True),
        ("Wake me up at seven thirty a.m.", False),
        ("at seven thirty", False),
        ("Turn on the light.", False),
        ("two one", False),
        ("", False),
    ],
)
def test_digits_and_letters_at_the_end_may_go_on(text: str, expected: bool):
    assert ends_in_spelling(text) is expected
