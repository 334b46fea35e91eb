"""Reader of SSML 1.1 (W3C).

``speak``, ``p``, ``s``, ``break``, ``prosody`` with ``rate``, ``say-as``, ``sub`` and ``phoneme`` are obeyed. Of other
elements the content is spoken, as the standard has it for what a processor does not know; ``metadata``, ``meta``,
``desc`` and ``lexicon`` have none that is spoken. Documents that define entities or name a document type are refused.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.parsers import expat

from pipelines.errors import InvalidInputError
from pipelines.speech.phonemes import to_ipa
from pipelines.speech.spans import MAX_PAUSE_SECONDS, MAX_SPEED, MIN_SPEED, SayAs, Span

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_DEPTH = 32
"""Elements within one another."""
MAX_PAUSES_SECONDS = 60.0
"""Of all breaks of a document."""

_SILENT = frozenset(("metadata", "meta", "desc", "lexicon", "lookup", "token-description"))
_STRENGTHS = {"none": 0.0, "x-weak": 0.1, "weak": 0.25, "medium": 0.5, "strong": 0.8, "x-strong": 1.2}
_RATES = {"x-slow": 0.5, "slow": 0.75, "medium": 1.0, "default": 1.0, "fast": 1.3, "x-fast": 1.7}
_TIME = re.compile(r"\+?(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})(ms|s)")
_NUMBER = re.compile(r"([+-]?)(\d{1,6}(?:\.\d{1,6})?|\.\d{1,6})(%?)")
_INTERPRETATIONS = {
    "cardinal": SayAs.CARDINAL,
    "number": SayAs.CARDINAL,
    "ordinal": SayAs.ORDINAL,
    "characters": SayAs.CHARACTERS,
    "spell-out": SayAs.CHARACTERS,
    "verbatim": SayAs.CHARACTERS,
    "letters": SayAs.CHARACTERS,
    "digits": SayAs.DIGITS,
    "fraction": SayAs.FRACTION,
    "unit": SayAs.UNIT,
    "date": SayAs.DATE,
    "time": SayAs.TIME,
    "telephone": SayAs.TELEPHONE,
    "currency": SayAs.CURRENCY,
}


@dataclass(frozen=True, slots=True)
class _State:
    """Parser state inside an element; ``replaces``: its own text is not spoken."""

    speed: float = 1.0
    say_as: SayAs = SayAs.TEXT
    date_format: str = ""
    replaces: bool = False


_PROLOG = re.compile("\ufeff?\\s*(?:<\\?xml[^>]{0,200}\\?>\\s*)?")


def is_ssml(text: str) -> bool:
    """Return whether a text is SSML, maybe behind a byte order mark."""
    return text.startswith("<speak", _PROLOG.match(text).end())  # type: ignore[union-attr]


def read_ssml(document: str, field: str = "ssml") -> list[Span]:
    """Read a document.

    Args:
        document: SSML, whose root is ``speak``.
        field: what errors name it.

    Raises:
        InvalidInputError: it is not well-formed, or an attribute of an element that is obeyed has no value that is.
    """
    reader = _Reader(field)
    try:
        return reader.read(_PROLOG.sub("", document, count=1))
    except expat.ExpatError as error:
        reason = expat.errors.messages.get(error.code, "") if error.code else ""
        message = (
            f"the SSML is broken in line {error.lineno} at {error.offset} ({reason or 'not well-formed'}): mend it"
        )
        raise InvalidInputError(field, "BROKEN_SSML", message) from None


class _Reader:
    def __init__(self, field: str) -> None:
        self._field = field
        self._spans: list[Span] = []
        self._states = [_State()]
        self._pauses_seconds = 0.0

    def read(self, document: str) -> list[Span]:
        parser = expat.ParserCreate("UTF-8")
        parser.buffer_text = True
        parser.StartDoctypeDeclHandler = self._refuse_doctype
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.Parse(document.encode(), True)
        return self._spans

    def _refuse_doctype(self, *_: object) -> None:
        raise self._refused("SSML_DOCTYPE", "the SSML names a document type, which is never read: leave <!DOCTYPE> out")

    def _start(self, qualified: str, attributes: Mapping[str, str]) -> None:
        name = qualified.rpartition(":")[2]
        if len(self._states) == 1 and name != "speak":
            raise self._refused("NO_SPEAK", f"the SSML begins with <{name[:40]}>: put everything into <speak>")
        if len(self._states) > MAX_DEPTH:
            raise self._refused("SSML_TOO_DEEP", f"elements are nested more than {MAX_DEPTH} deep: nest them less")
        state = self._states[-1]
        match name:
            case "break":
                self._pause(attributes)
            case "prosody":
                state = dataclasses.replace(state, speed=self._speed(state.speed, attributes.get("rate", "")))
            case "say-as":
                state = self._say_as(state, attributes)
            case "sub":
                state = self._replace(state, attributes.get("alias"), "")
            case "phoneme":
                ipa = to_ipa(attributes.get("ph", ""), attributes.get("alphabet", "ipa"), self._field)
                state = self._replace(state, "", ipa)
            case "p" | "s" | "paragraph" | "sentence":
                self._end_sentence()
            case _ if name in _SILENT:
                state = dataclasses.replace(state, replaces=True)
        self._states.append(state)

    def _end(self, qualified: str) -> None:
        self._states.pop()
        if qualified.rpartition(":")[2] in {"p", "s", "paragraph", "sentence"}:
            self._end_sentence()

    def _text(self, text: str) -> None:
        state = self._states[-1]
        if not state.replaces:
            self._spans.append(Span(text, "", state.say_as, state.date_format, state.speed))

    def _replace(self, state: _State, alias: str | None, phonemes: str) -> _State:
        if alias is None:
            raise self._refused("BAD_SSML_ATTRIBUTE", '<sub> has no alias: write <sub alias="what is spoken">')
        if not state.replaces:
            self._spans.append(Span(alias, phonemes, speed=state.speed))
        return dataclasses.replace(state, replaces=True)

    def _say_as(self, state: _State, attributes: Mapping[str, str]) -> _State:
        # What is not known is read as if nothing were said of it: section 3.1.9 of the standard.
        say_as = _INTERPRETATIONS.get(attributes.get("interpret-as", "").lower(), SayAs.TEXT)
        return dataclasses.replace(state, say_as=say_as, date_format=attributes.get("format", "").lower()[:8])

    def _pause(self, attributes: Mapping[str, str]) -> None:
        time, strength = attributes.get("time"), attributes.get("strength", "medium")
        if time is None:
            if strength not in _STRENGTHS:
                known = ", ".join(_STRENGTHS)
                raise self._refused("BAD_SSML_ATTRIBUTE", f"<break> has a strength that there is not: choose {known}")
            seconds = _STRENGTHS[strength]
        else:
            found = _TIME.fullmatch(time.strip())
            seconds = float(found[1]) / (1000 if found[2] == "ms" else 1) if found else -1.0
            if not 0 <= seconds <= MAX_PAUSE_SECONDS:
                message = f"<break> has a time that is none: write 0ms to {MAX_PAUSE_SECONDS:g}s, such as 500ms"
                raise self._refused("BAD_SSML_ATTRIBUTE", message)
        self._pauses_seconds += seconds
        if self._pauses_seconds > MAX_PAUSES_SECONDS:
            message = f"the breaks last more than {MAX_PAUSES_SECONDS:g} s together: make them shorter"
            raise self._refused("SSML_PAUSES_TOO_LONG", message)
        if seconds:
            self._spans.append(Span("", pause_seconds=seconds))

    def _speed(self, outer: float, rate: str) -> float:
        rate = rate.strip().lower()
        if not rate:
            return outer
        found = _NUMBER.fullmatch(rate)
        if rate in _RATES:
            speed = _RATES[rate]
        elif found is None:
            known = ", ".join(_RATES)
            raise self._refused(
                "BAD_SSML_ATTRIBUTE", f"<prosody> has a rate that is none: write 80%, 1.2 or one of {known}"
            )
        elif found[1]:
            change = float(found[2]) / (100 if found[3] else 1)
            speed = outer * (1 + change if found[1] == "+" else max(0.0, 1 - change))
        else:
            speed = outer * float(found[2]) / (100 if found[3] else 1)
        return min(MAX_SPEED, max(MIN_SPEED, speed))

    def _end_sentence(self) -> None:
        if self._spans and self._states[-1:] and not self._states[-1].replaces:
            self._spans[-1] = dataclasses.replace(self._spans[-1], ends_sentence=True)

    def _refused(self, reason: str, message: str) -> InvalidInputError:
        return InvalidInputError(self._field, reason, message)
