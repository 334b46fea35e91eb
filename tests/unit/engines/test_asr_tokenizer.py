from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from engines.asr.moonshine.vocabulary import END_TOKEN, START_TOKEN, VocabularyError, load_tokenizer
from engines.asr.tokenizer import Tokenizer

if TYPE_CHECKING:
    from pathlib import Path

PIECES = [b"<unk>", b"<s>", b"</s>", b"\xe2", b"\x82", b"\xac", "▁it".encode(), "▁was".encode(), b"n't", b"<<ST_7>>"]
E2, X82, XAC, IT, WAS, NT, CONTROL = 3, 4, 5, 6, 7, 8, 9


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Tokenizer(PIECES)


def test_pieces_are_joined_and_the_first_space_is_dropped(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([IT, WAS, NT]) == "it wasn't"


def test_control_tokens_are_no_text(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([START_TOKEN, IT, CONTROL, 0, WAS, END_TOKEN]) == "it was"


def test_a_character_is_put_together_from_its_bytes(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([IT, E2, X82, XAC]) == "it€"


@pytest.mark.parametrize("tokens", [[IT, E2], [IT, E2, X82]])
def test_half_a_character_at_the_end_is_held_back(tokenizer: Tokenizer, tokens: list[int]) -> None:
    assert tokenizer.decode(tokens) == "it"


def test_bytes_that_are_no_character_are_left_out(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([IT, XAC, WAS]) == "it was"


def test_nothing_is_empty_text(tokenizer: Tokenizer) -> None:
    assert tokenizer.decode([]) == ""


def test_lengths_of_one_and_two_bytes_are_read(tmp_path: Path) -> None:
    long = b"x" * 300
    path = tmp_path / "tokenizer.bin"
    path.write_bytes(b"\x02ab" + b"\x00" + bytes([300 % 128 + 128, 300 // 128]) + long + b"\x01c")
    tokenizer = load_tokenizer(path)
    assert len(tokenizer) == 4
    assert tokenizer.decode([0, 1, 2, 3]) == "ab" + "x" * 300 + "c"


@pytest.mark.parametrize("data", [b"\x05abc", b"\x01a\x85", b"\xac\x02xyz"])
def test_a_file_cut_short_is_refused(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "tokenizer.bin"
    path.write_bytes(data)
    with pytest.raises(VocabularyError, match="ends in the middle"):
        load_tokenizer(path)


@pytest.mark.parametrize(
    ("pieces", "found"),
    [
        (["▁it", "▁was", "n't", "."], [("it", 0, 1), ("wasn't.", 1, 4)]),
        (["▁well", "▁-", "▁no"], [("well -", 0, 2), ("no", 2, 3)]),
        (["▁(", "▁oh", ")"], [("( oh)", 0, 3)]),
        (["▁", "a", "▁", "b"], [("a", 0, 2), ("b", 2, 4)]),
        (["n't", "▁it"], [("n't", 0, 1), ("it", 1, 2)]),
        (["▁...", "▁!"], [("... !", 0, 2)]),
        (["▁"], []),
        ([], []),
    ],
)
def test_words_are_made_of_tokens_and_have_their_punctuation(
    pieces: list[str], found: list[tuple[str, int, int]]
) -> None:
    words = Tokenizer([piece.encode() for piece in pieces]).words(range(len(pieces)))
    assert [(word.text, word.first, word.end) for word in words] == found
