"""Languages that a recognizer serves, and the names that callers have for them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pipelines.errors import InvalidInputError

if TYPE_CHECKING:
    from collections.abc import Iterable

AUTO = "auto"
"""Stands for the language that is spoken, among codes and names."""

_MAX_SHOWN = 40
_ENGLISH = "en"
_UNNAMED = frozenset(("", AUTO, "multi"))
"""What callers write who name no language."""
_SAME = {"nb": "no", "fil": "tl", "jv": "jw", "iw": "he", "cmn": "zh", "in": "id", "ji": "yi"}
"""Other codes of languages that recognizers have."""
_NAMES = (
    "af afrikaans,am amharic,ar arabic,as assamese,az azerbaijani,ba bashkir,be belarusian,bg bulgarian,bn bengali,"
    "bo tibetan,br breton,bs bosnian,ca catalan,cs czech,cy welsh,da danish,de german,el greek,en english,es spanish,"
    "et estonian,eu basque,fa persian,fi finnish,fo faroese,fr french,gl galician,gu gujarati,ha hausa,haw hawaiian,"
    "he hebrew,hi hindi,hr croatian,ht haitian creole,hu hungarian,hy armenian,id indonesian,is icelandic,it italian,"
    "ja japanese,jw javanese,ka georgian,kk kazakh,km khmer,kn kannada,ko korean,la latin,lb luxembourgish,ln lingala,"
    "lo lao,lt lithuanian,lv latvian,mg malagasy,mi maori,mk macedonian,ml malayalam,mn mongolian,mr marathi,ms malay,"
    "mt maltese,my myanmar,ne nepali,nl dutch,nn nynorsk,no norwegian,oc occitan,pa punjabi,pl polish,ps pashto,"
    "pt portuguese,ro romanian,ru russian,sa sanskrit,sd sindhi,si sinhala,sk slovak,sl slovenian,sn shona,so somali,"
    "sq albanian,sr serbian,su sundanese,sv swedish,sw swahili,ta tamil,te telugu,tg tajik,th thai,tk turkmen,"
    "tl tagalog,tr turkish,tt tatar,uk ukrainian,ur urdu,uz uzbek,vi vietnamese,yi yiddish,yo yoruba,yue cantonese,"
    "zh chinese"
)
LANGUAGE_NAMES = dict(entry.split(" ", 1) for entry in _NAMES.split(","))
"""English name of each language, in lower case, by its code."""
_CODES = {name: code for code, name in LANGUAGE_NAMES.items()}


@dataclass(frozen=True, slots=True)
class Languages:
    """Languages of a recognizer.

    Attributes:
        codes: of two or three letters, or :data:`AUTO`; the first is taken where a caller names none.
        translates: whether it translates into English.
    """

    codes: tuple[str, ...] = (_ENGLISH,)
    translates: bool = False

    @property
    def spoken(self) -> tuple[str, ...]:
        """The codes of languages alone."""
        return tuple(code for code in self.codes if code != AUTO)

    @property
    def default(self) -> str:
        """Code of what is recognized where nobody names a language; "" where that is found out."""
        return "" if self.codes[0] == AUTO else self.codes[0]

    def code(self, name: str) -> str | None:
        """Return what to ask a recognizer for; None for a language that it lacks.

        Args:
            name: a BCP 47 tag, such as ``de-DE``; an English name; "", ``auto`` or ``multi``.

        Returns:
            "" for the recognizer's own choice.
        """
        name = name.strip().lower()
        if name in _UNNAMED:
            return AUTO if name and AUTO in self.codes[1:] else ""
        code = _CODES.get(name) or re.split(r"[-_]", name)[0]
        code = _SAME.get(code, code)
        if code not in self.codes:
            return None
        return "" if code == self.codes[0] else code


ENGLISH = Languages()


def read_languages(codes: str, translates: str) -> Languages:
    """Read the parameters ``languages`` and ``translates`` of a recognizer's configuration."""
    named = tuple(code.strip() for code in codes.split(",") if code.strip())
    return Languages(named or ENGLISH.codes, translates == "true")


def to_language(name: str, languages: Languages, field: str, others: Iterable[str] = ()) -> str:
    """Return what to ask a recognizer for; see :meth:`Languages.code`.

    Args:
        name: as the caller wrote it.
        languages: of the recognizer.
        field: where it stands.
        others: names of other recognizers that have the language.

    Raises:
        InvalidInputError: the recognizer lacks it.
    """
    code = languages.code(name)
    if code is None:
        served = ", ".join(languages.spoken)
        besides = "".join(f", or the recognizer {other}" for other in others)
        message = f"the language {name[:_MAX_SHOWN]!r} is not served: choose {served}{besides}"
        raise InvalidInputError(field, "UNSUPPORTED_LANGUAGE", message)
    return code
