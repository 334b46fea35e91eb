"""What the check of the documentation's style takes for a sentence, and what it complains of."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tools.docs_style import broken_links, complaints, main, sentences, word_count

if TYPE_CHECKING:
    from pathlib import Path


def test_prose_is_split_into_sentences():
    text = 'One is here. It is 0.6 s long! Is "this" one? `Code` begins\na sentence, (And so does this.) "End."'
    assert sentences(text) == [
        "One is here.",
        "It is 0.6 s long!",
        'Is "this" one?',
        "Code begins a sentence, (And so does this.)",
        '"End."',
    ]


def test_items_are_sentences_of_their_own_and_go_on_on_further_lines():
    assert sentences("These:\n\n- the first\n  goes on\n- the second\n\n1. a third\n\nAfter.") == [
        "These:",
        "the first goes on",
        "the second",
        "a third",
        "After.",
    ]


@pytest.mark.parametrize(
    "text",
    ["# A heading", "| a | table |", "```python\nprint()\n```", "    make demo", "<!-- a\ncomment -->", "---"],
)
def test_other_things_hold_no_sentences(text: str):
    assert sentences(f"Before.\n\n{text}\n\nAfter.") == ["Before.", "After."]


def test_code_is_one_word_and_links_are_their_text():
    (sentence,) = sentences("Read `vivavoce serve --help` or [the page on errors](docs/errors.md) - now.")
    assert word_count(sentence) == 8


def test_a_long_sentence_a_long_mean_and_a_long_line_are_told():
    assert complaints("A few words. Word " + " ".join(["word"] * 29) + ". " + "Word " + "word " * 29) == [
        "line 1 has 314 characters; 120 are allowed",
        "sentences have 21.0 words in the mean; 18 are allowed",
    ]
    assert complaints("\n".join(["word"] * 31))[0].startswith("a sentence has 31 words; 30 are allowed: word word")
    assert complaints("| " + "long " * 40 + "|") == []
    assert complaints("\n".join(["word"] * 18)) == []


def test_links_that_lead_nowhere_are_told(tmp_path: Path):
    (tmp_path / "other.md").write_text("# A `heading`, with marks\n\n```\n# no heading\n```\n")
    good = "[a](other.md) [b](other.md#a-heading-with-marks) [c](#here) [d](https://example.com/x) `[e](nowhere.md)`"
    page = tmp_path / "page.md"
    assert broken_links(page, "") == []
    page.write_text(f"# Here\n\n{good}\n")
    assert broken_links(page, page.read_text()) == []
    bad = "[a](missing.md) [b](other.md#no-heading) [c](#there)"
    assert broken_links(page, bad) == [
        "the link to missing.md leads nowhere",
        "the link to other.md#no-heading leads to no heading",
        "the link to #there leads to no heading",
    ]


def test_a_page_is_held_to_it_unless_it_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    (tmp_path / "docs").mkdir()
    (tmp_path / "lab" / "docs").mkdir(parents=True)
    (tmp_path / "README.md").write_text("Short.\n")
    (tmp_path / "docs" / "long.md").write_text("word " * 41)
    (tmp_path / "lab" / "docs" / "journal.md").write_text("word " * 41 + "[a](../../docs/long.md)")
    assert main(tmp_path, ()) == 1
    assert "docs/long.md: a sentence has 41 words" in capsys.readouterr().out
    assert main(tmp_path, ("docs/long.md",)) == 0
    out = capsys.readouterr().out
    assert out == "not held to the style of the docs yet: docs/long.md\n"
    (tmp_path / "docs" / "long.md").write_text("Short now.\n")
    assert main(tmp_path, ("docs/long.md",)) == 1
    assert "docs/long.md: complies: take it out" in capsys.readouterr().out
