"""Pronunciations in the International Phonetic Alphabet and X-ARPABET."""

from __future__ import annotations

import re
import unicodedata

from pipelines.errors import InvalidInputError

MAX_PHONEMES = 200

_IPA = frozenset("abcdefghijklmnopqrstuvwxyzæɐɑɒɔəɚɛɜɝɡɪɨɫɬɹɾʁʃʊʌʍʒʔʤʧðŋøœχβθᵊᵻ ˈˌː.̩̃͡ʰʲ-'")
_ARPABET_TABLE = (
    "AA:ɑ AE:æ AH:ʌ AO:ɔ AW:aʊ AX:ə AXR:ɚ AY:aɪ B:b CH:tʃ D:d DH:ð DX:ɾ EH:ɛ ER:ɝ EY:eɪ F:f G:ɡ HH:h IH:ɪ IX:ɨ "
    "IY:i JH:dʒ K:k L:l M:m N:n NG:ŋ OW:oʊ OY:ɔɪ P:p Q:ʔ R:ɹ S:s SH:ʃ T:t TH:θ UH:ʊ UW:u V:v W:w Y:j Z:z ZH:ʒ"
)
_ARPABET = dict(pair.split(":") for pair in _ARPABET_TABLE.split())
_STRESSES = {"": "", "0": "", "1": "ˈ", "2": "ˌ"}
_ARPABET_PHONE = re.compile(r"\{?@?([A-Z]{1,3})([012]?)\}?")
_ALPHABETS = {"ipa", "x-arpabet", "arpabet"}


def to_ipa(phonemes: str, alphabet: str, field: str) -> str:
    """Return a pronunciation in the International Phonetic Alphabet.

    Args:
        phonemes: what a caller wrote.
        alphabet: ``ipa`` or ``x-arpabet``.
        field: what errors name.

    Raises:
        InvalidInputError: there is no such alphabet, or a sign that it does not have.
    """
    if alphabet.lower() not in _ALPHABETS:
        message = f"the phonetic alphabet {alphabet[:40]!r} is not served: choose ipa or x-arpabet"
        raise InvalidInputError(field, "UNKNOWN_ALPHABET", message)
    if not phonemes.strip():
        raise InvalidInputError(field, "NO_PHONEMES", "a pronunciation is empty: write its phonemes")
    if len(phonemes) > MAX_PHONEMES:
        message = f"a pronunciation has {len(phonemes):,} signs: write at most {MAX_PHONEMES}"
        raise InvalidInputError(field, "TOO_MANY_PHONEMES", message)
    return _from_ipa(phonemes, field) if alphabet.lower() == "ipa" else _from_arpabet(phonemes, field)


def _from_ipa(phonemes: str, field: str) -> str:
    ipa = unicodedata.normalize("NFD", phonemes).strip().strip("/[]")
    for sign in ipa:
        if sign not in _IPA:
            message = f"U+{ord(sign):04X} is no sign for a sound of English: write phonemes in the IPA, such as həˈloʊ"
            raise InvalidInputError(field, "UNKNOWN_PHONEME", message)
    return ipa.replace("-", "").replace("'", "ˈ")


def _from_arpabet(phonemes: str, field: str) -> str:
    signs = []
    for phone in phonemes.upper().replace("}{", "} {").split():
        found = _ARPABET_PHONE.fullmatch(phone)
        if found is None or found[1] not in _ARPABET:
            message = f"{phone[:10]!r} is no phoneme of ARPAbet: write such as HH AH0 L OW1"
            raise InvalidInputError(field, "UNKNOWN_PHONEME", message)
        sound = "ə" if found[1] == "AH" and found[2] == "0" else _ARPABET[found[1]]
        signs.append(_STRESSES[found[2]] + sound)
    return "".join(signs)
