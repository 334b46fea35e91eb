"""Parts of Whisper that need no weights; ``lab/tests/integration/test_whisper.py`` has the model itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from tokenizers import Tokenizer
from tokenizers.decoders import ByteLevel
from tokenizers.models import WordLevel

from engines.asr.whisper.features import LogMel
from engines.asr.whisper.loops import find_repetitions, is_suspicious, without_loops
from engines.asr.whisper.model import WhisperRecognizer
from engines.asr.whisper.tokens import WhisperTokens

if TYPE_CHECKING:
    from pathlib import Path

MARKS = ("<|startoftranscript|>", "<|en|>", "<|ja|>", "<|translate|>", "<|transcribe|>", "<|startofprev|>")
PIECES = ("ĠEver", "Ġtried", ".", "Ġfa", "iled", "æĹ", "¥", "æľ¬", "ĠðŁĺ", "Ģ")
"""Byte-level pieces: two characters are cut in the middle."""


@pytest.fixture
def tokens(tmp_path: Path) -> WhisperTokens:
    tokenizer = Tokenizer(WordLevel({piece: i for i, piece in enumerate((*PIECES, *MARKS, "<|notimestamps|>"))}, "."))
    tokenizer.decoder = ByteLevel()
    tokenizer.add_special_tokens([*MARKS, "<|notimestamps|>"])
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    return WhisperTokens(tmp_path / "tokenizer.json", multilingual=True)


@pytest.mark.parametrize(
    ("language", "said", "words"),
    [
        ("en", (0, 1, 2, 0, 3, 4, 2), [("Ever", 0, 1), ("tried.", 1, 3), ("Ever", 3, 4), ("failed.", 4, 7)]),
        ("ja", (5, 6, 7), [("日", 0, 2), ("本", 2, 3)]),
        ("en", (0, 5), [("Ever", 0, 2)]),
    ],
)
def test_words_keep_their_marks_and_characters_whole(
    tokens: WhisperTokens, language: str, said: tuple[int, ...], words: list[tuple[str, int, int]]
) -> None:
    assert tokens.words(said, language) == words


def test_prompts_name_language_and_task(tokens: WhisperTokens) -> None:
    assert tokens.languages == ("en", "ja")
    assert tokens.prompt("ja", "translate") == [10, 12, 13, 16]
    assert tokens.prompt("en", "transcribe", [0, 1]) == [15, 0, 1, 10, 11, 14, 16]


ONES = [0, *[7, 8] * 4, 9]
PHRASE = [1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("said", "seconds", "kept"),
    [
        (ONES, 3.0, ONES),  # four times "one,", and time for it
        (ONES, 0.5, [0, 7, 8, 9]),
        (PHRASE * 3, 1.2, PHRASE),
        (PHRASE * 3 + PHRASE[:3], 1.2, PHRASE),  # breaks off in the loop
        (PHRASE, 0.2, PHRASE),
        ([3, 3, 4], 0.1, [3, 3, 4]),  # twice is nothing
    ],
)
def test_repetitions_stay_where_the_audio_has_room(said: list[int], seconds: float, kept: list[int]) -> None:
    starts = list(np.linspace(0, seconds, len(said) + 1))
    assert without_loops(said, starts, lambda phrase: "x" * 4 * len(phrase)) == kept


def test_what_is_suspicious() -> None:
    assert [(one.first, one.size, one.count) for one in find_repetitions(ONES)] == [(1, 2, 4)]
    assert not is_suspicious([1, 2, 3], "It was the best of times.")
    assert is_suspicious([1, 2, 3], "to and fro " * 10)


def test_the_spectrogram_is_that_of_the_paper() -> None:
    tone = np.sin(2 * np.pi * 1000 * np.arange(16_000) / 16_000).astype(np.float32)
    mels = LogMel(80)(tone, 200)
    assert mels.shape == (80, 200)
    assert (int(mels[:, 50].argmax()), round(float(mels.max()), 2)) == (26, 1.59)
    # Eight decades below the loudest, in the silence behind the tone, too.
    assert mels[:, 150] == pytest.approx(mels.max() - 2)


@pytest.mark.parametrize(
    ("files", "error", "says"),
    [
        ((), FileNotFoundError, "model.bin is missing: import a folder of CTranslate2"),
        (("model.bin", "config.json"), FileNotFoundError, "tokenizer.json is missing"),
    ],
)
def test_a_folder_that_lacks_a_file_says_so(
    tmp_path: Path, files: tuple[str, ...], error: type[Exception], says: str
) -> None:
    for name in files:
        (tmp_path / name).write_bytes(b"{}")
    with pytest.raises(error, match=says):
        WhisperRecognizer(tmp_path)


def test_a_damaged_tokenizer_says_so(tmp_path: Path) -> None:
    (tmp_path / "tokenizer.json").write_text("{")
    with pytest.raises(ValueError, match="cannot be read"):
        WhisperTokens(tmp_path / "tokenizer.json", multilingual=True)
