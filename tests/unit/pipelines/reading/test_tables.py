from hypothesis import given
from hypothesis import strategies as st

from pipelines.text.reading.tables import read_tables

ROOMS = "Our rooms:\n\n| Room | Price |\n|---|---:|\n| Blue | 80 |\n| Green | 95 |\n\nAll have a bath."


def test_rows_are_read_with_their_headings():
    passage = read_tables(ROOMS)
    assert passage.text == "Our rooms:\n\nRoom Blue: Price 80.\nRoom Green: Price 95.\n\n\nAll have a bath."


def test_places_are_those_of_the_document():
    passage = read_tables(ROOMS)
    for words in ("95", "Green", "All have", "Our rooms"):
        start = passage.text.index(words)
        place = passage.source(start, start + len(words))
        assert place == (ROOMS.index(words), ROOMS.index(words) + len(words))


def test_of_a_heading_and_its_cell_the_cell_is_meant():
    passage = read_tables(ROOMS)
    start = passage.text.index("Room Green")
    place = passage.source(start, start + len("Room Green"))
    assert place is not None
    assert ROOMS[slice(*place)] == "Green"


def test_headings_that_are_repeated_stand_nowhere():
    passage = read_tables(ROOMS)
    start = passage.text.index("Price")
    assert passage.source(start, start + len("Price")) is None


def test_cells_between_tabs_and_commas():
    assert "Name Ben: Phone 4712." in read_tables("Name\tPhone\nAnna\t4711\nBen\t4712").text
    assert "day Tue: from 9; to 5." in read_tables("day,from,to\nMon,8,4\nTue,9,5").text


def test_prose_stays_as_it_is():
    text = "First, they came, then, they left.\nLater, we sang, danced, and slept.\nA | B\nOne line."
    assert read_tables(text).text == text


@given(st.text("ab|,\t\n -", max_size=60))
def test_whatever_is_read_comes_from_the_document(text: str):
    passage = read_tables(text)
    for at, character in enumerate(passage.text):
        place = passage.source(at, at + 1)
        assert place is None or text[slice(*place)] == character
