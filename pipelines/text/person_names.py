"""Names of persons, as people say them: "it's Weber, Anna Weber"."""

from __future__ import annotations

import re

from pipelines.text.dictated import Dictated

MAX_NAME_WORDS = 4

_NAME_WORD = r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*"
_LEADS = re.compile(
    r"\b(?:(?:my|the|her|his|our)\s+(?:full\s+|first\s+|last\s+|sur|family\s+)?name(?:\s+is|['\u2019]s|\s+would\s+be)"
    r"|(?:the\s+)?name\s+(?:is|would\s+be)|name['\u2019]s|(?:in|under)\s+the\s+name\s+(?:of|is)?"
    r"|under\s+(?:the\s+name\s+)?|i\s+am\s+called|(?:you\s+can\s+)?call\s+me|(?:make|put)\s+(?:it|that|me)\s+(?:down\s+)?(?:under|as|for)"
    r"|it\s+is\s+under|this\s+is|speaking\s+(?:to|with)|here\s+is|here['\u2019]s)\s+",
    re.IGNORECASE,
)
"""What stands before a name, wherever it is said."""
_WEAK_LEADS = re.compile(
    r"\b(?:it(?:['\u2019]s|\s+is)|that(?:['\u2019]s|\s+is|\s+would\s+be)|i(?:['\u2019]m|\s+am)|for"
    r"|we(?:['\u2019]re|\s+are)|as\s+i\s+said|i\s+said|name)\b[\s,:]+",
    re.IGNORECASE,
)
"""What stands before a name that was asked for."""
_FIRST = re.compile(rf"\b(?:my\s+)?first\s+name(?:\s+is|['\u2019]s)?\s+({_NAME_WORD})", re.IGNORECASE)
_BEHIND = re.compile(r"(?:\s*,\s*|\s+)(?:here|speaking|calling|on\s+the\s+(?:phone|line))\b", re.IGNORECASE)
_SPELLED = re.compile(r"\b(?:[^\W\d_](?:[\s.,-]+|$)){2,}[^\W\d_]?\b")
# fmt: off
_NO_NAMES = frozenset((
    "instead", "better", "else's", "says", "myself", "both", "family",
    "a", "about", "account", "actually", "address", "afraid", "afternoon", "again", "ah", "all", "already",
    "also", "am", "an", "and", "any", "anything", "appointment", "are", "as", "at", "back", "be", "because",
    "bit", "booking", "busy", "but", "by", "bye", "call", "calling", "can", "card", "change", "child", "clue",
    "could", "course", "customer", "daughter", "day", "did", "do", "does", "don't", "dr.", "else", "email", "er",
    "erm", "err", "evening", "father", "fine", "first", "for", "friday", "from", "full", "gave", "give", "given",
    "glad", "going", "good", "got", "great", "happy", "have", "having", "hello", "here", "hey", "hi", "hm", "hmm",
    "hold", "how", "hurry", "husband", "i", "i'd", "i'll", "i'm", "i've", "idea", "if", "in", "interested", "is",
    "isn't", "it", "it's", "just", "know", "last", "late", "later", "let", "like", "looking", "lost", "may", "me",
    "mean", "meant", "mind", "moment", "monday", "morning", "mother", "my", "name", "need", "never", "new",
    "next", "nice", "no", "nope", "not", "now", "number", "of", "off", "oh", "ok", "okay", "on", "one", "or",
    "order", "our", "out", "phone", "please", "problem", "question", "quite", "ready", "really", "right", "said",
    "same", "saturday", "say", "sec", "second", "see", "shall", "she", "should", "sir", "so", "some", "son",
    "sorry", "speaking", "spell", "spelled", "spelling", "still", "such", "sunday", "sure", "surname", "tell",
    "thank", "thanks", "that", "that's", "the", "their", "then", "there", "they", "thing", "think", "this",
    "thursday", "time", "to", "today", "told", "tomorrow", "too", "trying", "tuesday", "uh", "um", "umm", "under",
    "us", "using", "very", "wait", "want", "was", "wasn't", "we", "wednesday", "well", "what", "what's", "when",
    "where", "which", "who", "why", "wife", "will", "with", "wondering", "would", "wrong", "yeah", "yep", "yes",
    "you", "your",
))
"""Words that are in no name."""
# fmt: on


def find_person(text: str, *, is_asked: bool = False) -> Dictated | None:
    """Find the name of a person, with capitals; None: there is none.

    Args:
        text: English, as it was said or typed.
        is_asked: whether a name was asked for: then the whole text may be one.
    """
    spelled = _SPELLED.search(text) if is_asked or _LEADS.search(text) else None
    letters = re.sub(r"[^\w]|_", "", spelled[0]) if spelled is not None else ""
    plain = text[: spelled.start()] + " " * len(spelled[0]) + text[spelled.end() :] if spelled is not None else text
    first = _FIRST.search(plain)
    if first is not None:
        rest = find_person(plain[: first.start()] + " " * len(first[0]) + plain[first.end() :], is_asked=is_asked)
        if rest is not None and len(rest.value.split()) == 1:
            return rest._replace(value=f"{_capitalized(first[1])} {rest.value}")
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
        words = best.value.split()
        if len(words) > 2 and words[0] == words[-1]:
            # "Weber, Anna Weber", of which recognition hears no comma.
            best = best._replace(value=" ".join(words[1:]))
        return _spelled_out(best, letters)
    return Dictated(*spelled.span(), letters.capitalize()) if spelled is not None and len(letters) > 1 else None


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
