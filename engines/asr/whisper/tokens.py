"""Tokens of Whisper: text, words, languages and the marks that steer the decoder."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from tokenizers import Tokenizer

from engines.asr.search.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

TRANSCRIBE, TRANSLATE = "transcribe", "translate"
UNSPACED_LANGUAGES = frozenset(("zh", "ja", "th", "lo", "my", "yue", "km"))
"""Languages written without spaces between words."""

_SPACE = "\N{LATIN CAPITAL LETTER G WITH DOT ABOVE}"
"""Byte-level spelling of a space."""
_LANGUAGE = re.compile(r"<\|([a-z]{2,3})\|>")
_INCOMPLETE = "\N{REPLACEMENT CHARACTER}"


class WhisperTokens:
    """Vocabulary of a Whisper model.

    Attributes:
        languages: codes of the languages that have a token, in the order of the model.
    """

    def __init__(self, path: Path, *, multilingual: bool) -> None:
        """Read ``tokenizer.json``.

        Raises:
            ValueError: it is damaged, or not Whisper's.
        """
        try:
            self._tokenizer = Tokenizer.from_file(str(path))
        except Exception as error:  # the library raises this very class
            raise ValueError(f"{path} cannot be read ({error}): copy it again from the model's folder") from error
        self._multilingual = multilingual
        self._start = self._mark("startoftranscript", path)
        self._untimed = self._mark("notimestamps", path)
        self._previous = self._mark("startofprev", path)
        self._tasks = {task: self._mark(task, path) for task in (TRANSCRIBE, TRANSLATE)}
        found = ((token, _LANGUAGE.fullmatch(name)) for name, token in self._tokenizer.get_vocab().items())
        languages = {match[1]: token for token, match in found if match}
        self._languages = dict(sorted(languages.items(), key=lambda entry: entry[1])) if multilingual else {}
        self.languages = tuple(self._languages) or ("en",)

    def _mark(self, name: str, path: Path) -> int:
        token = self._tokenizer.token_to_id(f"<|{name}|>")
        if token is None:
            raise ValueError(f"{path} has no token <|{name}|>: it is not the tokenizer of a Whisper model")
        return int(token)

    def prompt(self, language: str, task: str, hints: Sequence[int] = ()) -> list[int]:
        """Return the tokens that a text begins with.

        Args:
            language: a code of ``languages``.
            task: ``TRANSCRIBE`` or ``TRANSLATE``.
            hints: tokens of a text that stands before.
        """
        before = [self._previous, *hints] if hints else []
        steering = [self._languages[language], self._tasks[task]] if self._multilingual else []
        return [*before, self._start, *steering, self._untimed]

    def start(self, language: str, task: str) -> list[int]:
        """Return the tokens that align a text: :meth:`prompt` without hints and time mark."""
        return self.prompt(language, task)[:-1]

    def encode(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return list(self._tokenizer.encode(text, add_special_tokens=False).ids)

    def decode(self, tokens: Sequence[int]) -> str:
        """Return the text of tokens; characters that are not complete are left out."""
        return str(self._tokenizer.decode(list(tokens), skip_special_tokens=True)).replace(_INCOMPLETE, "").strip()

    def words(self, tokens: Sequence[int], language: str) -> list[tuple[str, int, int]]:
        """Return each word with its first token and one past its last.

        Punctuation belongs to the word before it. Without spaces between words each character is one.
        """
        pieces: list[tuple[str, int, int]] = []
        for index, token in enumerate(tokens):
            name = self._tokenizer.id_to_token(token) or ""
            begins = language in UNSPACED_LANGUAGES or name.startswith(_SPACE)
            is_open = pieces and _INCOMPLETE in self._tokenizer.decode(list(tokens[pieces[-1][1] : index]))
            if not pieces or (begins and not is_open):
                pieces.append((self.decode(tokens[index : index + 1]), index, index + 1))
            else:
                first = pieces.pop()[1]
                pieces.append((self.decode(tokens[first : index + 1]), first, index + 1))
        found: list[tuple[str, int, int]] = []
        for text, first, end in pieces:
            if found and not spell(text).strip():
                begin = found.pop()[1]
                found.append((self.decode(tokens[begin:end]), begin, end))
            else:
                found.append((text, first, end))
        return [word for word in found if word[0]]
