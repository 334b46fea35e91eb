"""Names of languages, and what is asked of a recognizer."""

from __future__ import annotations

import pytest

from pipelines.errors import InvalidInputError
from pipelines.models.languages import ENGLISH, LANGUAGE_NAMES, Languages, read_languages, to_language

DETECTING = read_languages("auto,en,de,no,zh,jw", "true")
GERMAN = Languages(("de", "auto", "en"))


@pytest.mark.parametrize(
    ("languages", "name", "code"),
    [
        (ENGLISH, "", ""),
        (ENGLISH, "en-GB", ""),
        (ENGLISH, "English", ""),
        (ENGLISH, "multi", ""),
        (DETECTING, "", ""),
        (DETECTING, "auto", ""),
        (DETECTING, "en-US", "en"),
        (DETECTING, "de_AT", "de"),
        (DETECTING, "German", "de"),
        (DETECTING, "nb-NO", "no"),
        (DETECTING, "zh-Hans-CN", "zh"),
        (DETECTING, "jv", "jw"),
        (GERMAN, "", ""),
        (GERMAN, "de", ""),
        (GERMAN, "auto", "auto"),
        (GERMAN, "english", "en"),
        (GERMAN, "fr", None),
        (ENGLISH, "de", None),
        (ENGLISH, "klingon", None),
    ],
)
def test_a_name_becomes_what_the_recognizer_is_asked_for(languages: Languages, name: str, code: str | None) -> None:
    assert languages.code(name) == code


def test_a_language_that_is_not_served_is_refused_with_those_that_are() -> None:
    with pytest.raises(InvalidInputError, match="'fr' is not served: choose en, or the recognizer many") as refused:
        to_language("fr", ENGLISH, "config.language_code", ["many"])
    assert (refused.value.field, refused.value.reason) == ("config.language_code", "UNSUPPORTED_LANGUAGE")


def test_a_model_without_parameters_serves_english() -> None:
    assert read_languages("", "") == ENGLISH
    assert (DETECTING.translates, DETECTING.default, GERMAN.default) == (True, "", "de")
    assert len(LANGUAGE_NAMES) == 100
