"""Numbers, mail addresses and names, as people dictate them.

"Double four" is 44, "anna dot weber at example dot com" a mail address, and "it's Weber, Anna Weber speaking" the name
of Anna Weber.
"""

from __future__ import annotations

import itertools
import re
from typing import NamedTuple

from pipelines.text.digit_strings import find_codes

MIN_PHONE_DIGITS, MAX_PHONE_DIGITS = 5, 15
"""Of a telephone number; ITU-T E.164 has 15 at most."""
MAX_NAME_WORDS = 4
_MIN_DIGITS = 3


class Dictated(NamedTuple):
    """A value in a text: code points ``start`` to before ``end``, and what is meant."""

    start: int
    end: int
    value: str


_FIGURES = re.compile(r"(?:\+|\bplus\s+)?\(?\d(?:[\d()/.\s-]*\d)?", re.IGNORECASE)
_WORD = r"(?:zero|oh|o|one|two|three|four|five|six|seven|eight|nine|double|triple|\d+)"
_MIXED = re.compile(
    rf"(?:\+|\bplus\s+)?\b{_WORD}\b(?:[\s,.-]+(?:and\s+|then\s+|um+[,\s]+|uh+[,\s]+)?{_WORD}\b)*", re.IGNORECASE
)
_PAIRS = (
    r"(?:ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen"
    r"|(?:twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?)"
)
_ANY = re.compile(
    rf"(?:\+|\bplus\s+)?\b(?:{_PAIRS}|{_WORD})\b(?:[\s,.-]+(?:um+[,\s]+|uh+[,\s]+)?(?:{_PAIRS}|{_WORD})\b)*",
    re.IGNORECASE,
)
_DIGITS = {
    word: str(number)
    for number, word in enumerate("zero one two three four five six seven eight nine".split())
} | {"oh": "0", "o": "0"}  # fmt: skip
_TEENS = {
    word: str(number)
    for number, word in enumerate(
        "ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen".split(), 10
    )
}
_TENS = {
    word: str(number) for number, word in enumerate("twenty thirty forty fifty sixty seventy eighty ninety".split(), 2)
}

_GAP = re.compile(r"[\s,.-]*(?:and|then|um+|uh+)?[\s,.-]*")

_LOCAL = r"[\w+-]+(?:(?:\.| dot | point | underscore | dash | hyphen | minus | plus )[\w+-]+)*"
_MAIL = re.compile(
    rf"(?P<local>{_LOCAL})(?:@| at | @ )(?P<domain>[\w-]+(?:(?: dash | hyphen )[\w-]+)*(?:(?:\.| dot | point )[\w-]+)+)",
    re.IGNORECASE,
)
_SIGNS = {"dot": ".", "point": ".", "underscore": "_", "dash": "-", "hyphen": "-", "minus": "-", "plus": "+"}
_MAIL_LEAD = re.compile(
    r"^(?:(?:my|the|it|it's|its|is|that's|email|e-mail|mail|address|send|to|write|um|uh|yes|okay)\s+)+", re.IGNORECASE
)

_NAME_WORD = r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*"
_TITLE = r"(?:(?:mr|mrs|ms|miss|mister|missus|doctor|dr|professor|prof)\.?\s+)?"
_NAME = rf"{_TITLE}{_NAME_WORD}(?:\s+{_NAME_WORD}){{0,3}}(?:,\s*{_NAME_WORD}(?:\s+{_NAME_WORD}){{0,3}})?"
_LEADS = re.compile(
    r"\b(?:(?:my|the|her|his|our)\s+(?:full\s+|first\s+|last\s+|sur|family\s+)?name(?:\s+is|['\u2019]s|\s+would\s+be)"
    r"|(?:the\s+)?name\s+(?:is|would\s+be)|name['\u2019]s|(?:in|under)\s+the\s+name\s+(?:of|is)?|under\s+(?:the\s+name\s+)?"
    r"|i\s+am\s+called|(?:you\s+can\s+)?call\s+me|(?:make|put)\s+(?:it|that|me)\s+(?:down\s+)?(?:under|as|for)"
    r"|it\s+is\s+under|this\s+is|speaking\s+(?:to|with)|here\s+is|here['\u2019]s)\s+",
    re.IGNORECASE,
)
"""What stands before a name, wherever it is said."""
_WEAK_LEADS = re.compile(
    r"\b(?:it(?:['\u2019]s|\s+is)|that(?:['\u2019]s|\s+is|\s+would\s+be)|i(?:['\u2019]m|\s+am)|for|we(?:['\u2019]re|\s+are)"
    r"|as\s+i\s+said|i\s+said|name)\b[\s,:]+",
    re.IGNORECASE,
)
"""What stands before a name that was asked for."""
_BEHIND = re.compile(r"\s*,?\s*(?:here|speaking|calling|on\s+the\s+(?:phone|line))\b", re.IGNORECASE)
_SPELLED = re.compile(r"\b(?:[^\W\d_](?:[\s.,-]+|$)){2,}[^\W\d_]?\b")
# fmt: off
_NO_NAMES = frozenset((
    "a", "about", "actually", "again", "ah", "all", "already", "also", "am", "an", "and", "any", "anything", "are", "as",
    "at", "back", "be", "because", "bit", "but", "by", "bye", "call", "calling", "can", "change", "course", "could",
    "day", "did", "do", "does", "don't", "else", "er", "erm", "err", "fine", "first", "for", "from", "full", "gave",
    "give", "given", "good", "got", "great", "have", "hello", "here", "hey", "hi", "hm", "hmm", "hold", "how", "i",
    "i'd", "i'll", "i'm", "i've", "if", "in", "is", "isn't", "it", "it's", "just", "know", "last", "late", "later",
    "let", "like", "looking", "may", "me", "moment", "my", "name", "need", "never", "new", "next", "nice", "no", "nope",
    "not", "now", "number", "of", "off", "oh", "ok", "okay", "on", "one", "or", "our", "out", "please", "quite",
    "ready", "really", "right", "said", "same", "say", "sec", "second", "see", "shall", "she", "should", "sir", "so",
    "some", "sorry", "spell", "spelled", "spelling", "still", "such", "sure", "surname", "tell", "thank", "thanks",
    "that", "that's", "the", "their", "then", "there", "they", "thing", "think", "this", "time", "to", "today", "told",
    "tomorrow", "too", "trying", "uh", "um", "umm", "under", "us", "very", "wait", "want", "was", "we", "well", "what",
    "what's", "when", "where", "which", "who", "why", "will", "with", "wondering", "would", "wrong", "yeah", "yep",
    "yes", "you", "your", "speaking", "mean", "meant", "morning", "afternoon", "evening", "interested", "glad",
    "happy", "afraid", "idea", "mind", "clue", "daughter", "son", "wife", "husband", "mother", "father", "child", "card",
    "account", "question", "problem", "wasn't", "dr.", "address", "email", "phone", "customer", "order", "appointment", "booking", "monday", "tuesday",
    "wednesday", "thursday", "friday", "saturday", "sunday", "hurry", "busy", "lost", "going", "having", "using",
))
"""Words that are in no name."""
# fmt: on


def find_digits(text: str, *, is_asked: bool = False) -> list[Dictated]:
    """Find numbers that are told digit by digit, or in pairs: "four oh seven eighteen" is 40718.

    Args:
        text: English, as it was said or typed.
        is_asked: whether such a number was asked for: then it may be short, and told in pairs.
    """
    if not is_asked:
        found = [Dictated(start, end, digits) for start, end, digits in find_codes(text)]
        figures = (match for match in re.finditer(r"(?<![\w.,:/-])\d{4,}(?![\w/:%-]|[.,]\d)", text))
        taken = {(one.start, one.end) for one in found}
        return sorted([*found, *(Dictated(*it.span(), it[0]) for it in figures if it.span() not in taken)])
    spans = [Dictated(*match.span(), _figures(match[0])) for match in _ANY.finditer(text)]
    spans = [one for one in spans if len(one.value.lstrip("+")) > 1 or len(spans) == 1]
    gaps = (text[one.end : other.start] for one, other in itertools.pairwise(spans))
    if len(spans) > 1 and all(_GAP.fullmatch(gap) for gap in gaps):
        return [Dictated(spans[0].start, spans[-1].end, "".join(one.value for one in spans).replace("+", ""))]
    return [
        one._replace(value=one.value.lstrip("+"))
        for one in spans
        if one.value and text[one.start : one.end].lower() not in {"oh", "o"}
    ]


def find_phones(text: str, *, is_asked: bool = False) -> list[Dictated]:
    """Find telephone numbers: the digits, with a plus where one was said.

    Args:
        text: English, as it was said or typed.
        is_asked: whether one was asked for.
    """
    found: list[Dictated] = []
    for match in _MIXED.finditer(text) if not is_asked else _ANY.finditer(text):
        said = match[0].strip()
        value = ("+" if re.match(r"\+|plus\b", said, re.IGNORECASE) else "") + _figures(said).lstrip("+")
        least = MIN_PHONE_DIGITS if is_asked else MIN_PHONE_DIGITS + 1
        if least <= len(value.lstrip("+")) <= MAX_PHONE_DIGITS:
            found.append(Dictated(match.start(), match.start() + len(said), value))
    return found


def find_mail_addresses(text: str) -> list[Dictated]:
    """Find mail addresses, dictated or written; in lower case."""
    found = []
    for match in _MAIL.finditer(text):
        local, start = match["local"], match.start()
        lead = _MAIL_LEAD.match(local)
        if lead is not None and lead.end() < len(local):
            local, start = local[lead.end() :], start + lead.end()
        written = f"{_written(local)}@{_written(match['domain'])}"
        found.append(Dictated(start, match.end(), written))
    return found


def find_person(text: str, *, is_asked: bool = False) -> Dictated | None:
    """Find the name of a person, with capitals; None: there is none.

    Args:
        text: English, as it was said or typed.
        is_asked: whether a name was asked for: then the whole text may be one.
    """
    spelled = _SPELLED.search(text) if is_asked or _LEADS.search(text) else None
    letters = re.sub(r"[^\w]|_", "", spelled[0]) if spelled is not None else ""
    plain = text[: spelled.start()] + " " * len(spelled[0]) + text[spelled.end() :] if spelled is not None else text
    for lead in (*_LEADS.finditer(plain), *(_WEAK_LEADS.finditer(plain) if is_asked else ())):
        name = _name_at(plain, lead.end())
        if name is not None and (is_asked or name.value != name.value.lower()):
            return _spelled_out(name, letters)
    for behind in _BEHIND.finditer(plain):
        name = _name_before(plain, behind.start())
        if name is not None:
            return _spelled_out(name, letters)
    if not is_asked:
        return None
    parts = [_name_at(plain, place.start(), whole=True) for place in re.finditer(r"(?<![^\s,.;!?])[^\W\d_]", plain)]
    names = [name for name in parts if name is not None]
    # Whoever writes a name with capitals writes nothing else so.
    capital = [name for name in names if all(word[:1].isupper() for word in plain[name.start : name.end].split())]
    if names:
        best = max(capital or names, key=lambda name: (len(name.value.split()), -name.start))
        return _spelled_out(best, letters)
    return Dictated(*spelled.span(), letters.capitalize()) if spelled is not None and len(letters) > 1 else None


def _figures(said: str) -> str:
    digits, times, tens = "", 1, ""
    for word in re.findall(r"[a-z]+|\d+|\+", said.lower()):
        if tens and word in _DIGITS and word not in {"oh", "o", "zero"}:
            digits, tens = digits + _TENS[tens] + _DIGITS[word], ""
            continue
        if tens:
            digits, tens = digits + _TENS[tens] + "0", ""
        if word in {"double", "triple"}:
            times = 2 if word == "double" else 3
        elif word in _TENS:
            tens = word
        elif word in {"plus", "+"}:
            digits += "+"
        else:
            digits, times = (
                digits + (_DIGITS.get(word) or _TEENS.get(word) or (word if word.isdigit() else "")) * times,
                1,
            )
    return digits + (_TENS[tens] + "0" if tens else "")


def _written(dictated: str) -> str:
    words = re.split(r"\s+", dictated.strip().lower())
    return "".join(_SIGNS.get(word, word) for word in words)


def _name_at(text: str, start: int, *, whole: bool = False) -> Dictated | None:
    """Return the name that begins at a place, up to a word that is in no name."""
    words: list[tuple[int, int]] = []
    at = start
    pattern = re.compile(rf"[\s]*({_NAME_WORD})")
    while len(words) < MAX_NAME_WORDS + 1 and (match := pattern.match(text, at)) is not None:
        if match[1].lower().replace("\u2019", "'") in _NO_NAMES:
            break
        words.append(match.span(1))
        at = match.end()
    if not words or (whole and len(words) > MAX_NAME_WORDS):
        return None
    first = Dictated(words[0][0], words[-1][1], _capitalized(text[words[0][0] : words[-1][1]]))
    # "Weber, Anna Weber" says the name after a part of it.
    comma = re.compile(r"[,.]?\s+").match(text, first.end)
    if comma is not None and not whole:
        behind = _name_at(text, comma.end(), whole=True)
        if behind is not None and first.value.split()[-1] in behind.value.split():
            return behind
    return first


def _name_before(text: str, end: int) -> Dictated | None:
    """Return the name that ends at a place: "Anna Weber" of "hi, Anna Weber here"."""
    words = list(re.finditer(_NAME_WORD, text[:end]))[-2:]
    while words and words[0][0].lower() in _NO_NAMES:
        del words[0]
    if not words or any(word[0].lower() in _NO_NAMES for word in words):
        return None
    said = text[words[0].start() : end]
    if re.search(r"[,.;!?]", said) or (said == said.lower() and len(words) < 2):
        return None
    return Dictated(words[0].start(), words[-1].end(), _capitalized(said))


def _spelled_out(name: Dictated, letters: str) -> Dictated:
    """Return a name as it was spelled: "Maier" of "Meyer, M A I E R"."""
    if len(letters) < 2:
        return name
    *others, last = name.value.split()
    word = letters.capitalize()
    return name._replace(value=" ".join((*others, word if last[:1] == word[:1] or not others else last)))


def _capitalized(name: str) -> str:
    """Return a name with capitals: "Anna Weber-Kurz" of "anna weber-kurz"."""
    words = [
        "-".join(part[:1].upper() + part[1:] for part in word.split("-")) if word == word.lower() else word
        for word in name.split()
    ]
    return " ".join(words)
