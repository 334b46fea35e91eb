from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.errors import InvalidInputError
from pipelines.speech.sentences import split
from pipelines.speech.spans import SayAs, Span
from pipelines.speech.ssml import MAX_DEPTH, read_ssml


def spoken(document: str) -> list[str]:
    return [" ".join(part.text or part.phonemes for part in one.parts) for one in split(read_ssml(document))]


def test_text_and_entities_are_read():
    assert spoken("<speak>Salt &amp; pepper &#65;</speak>") == ["Salt and pepper A"]


def test_elements_that_are_obeyed():
    document = (
        '<?xml version="1.0"?><speak version="1.1" xmlns="http://www.w3.org/2001/10/synthesis" xml:lang="en-US">'
        'A<break time="250ms"/><prosody rate="50%">slow</prosody><say-as interpret-as="spell-out">ab</say-as>'
        '<sub alias="World Wide Web">WWW</sub><phoneme alphabet="x-arpabet" ph="K AE1 T">cat</phoneme></speak>'
    )
    assert read_ssml(document) == [
        Span("A"),
        Span("", pause_seconds=0.25),
        Span("slow", speed=0.5),
        Span("ab", say_as=SayAs.CHARACTERS),
        Span("World Wide Web"),
        Span("", "kˈæt"),
    ]


def test_paragraphs_and_sentences_end_sentences():
    assert spoken("<speak><p>One<s>two</s></p>three</speak>") == ["One", "two", "three"]


def test_of_other_elements_the_content_is_spoken():
    document = (
        '<speak><voice name="x">One <emphasis>two</emphasis></voice> '
        '<amazon:effect xmlns:amazon="x" name="whispered">three</amazon:effect></speak>'
    )
    assert spoken(document) == ["One two three"]


@pytest.mark.parametrize("name", ["metadata", "desc", "lexicon", "meta"])
def test_what_is_no_speech_is_not_spoken(name: str):
    assert spoken(f"<speak>One<{name}>hidden <sub alias='too'>x</sub></{name}> two</speak>") == ["One two"]


@pytest.mark.parametrize(
    ("rate", "speed"),
    [
        ("slow", 0.75),
        ("x-fast", 1.7),
        ("80%", 0.8),
        ("1.2", 1.2),
        ("+20%", 1.2),
        ("-30%", 0.7),
        ("900%", 2.0),
        ("1%", 0.5),
    ],
)
def test_rates(rate: str, speed: float):
    (span,) = read_ssml(f'<speak><prosody rate="{rate}" pitch="high">x</prosody></speak>')
    assert span.speed == pytest.approx(speed)


def test_rates_multiply():
    (span,) = read_ssml('<speak><prosody rate="80%"><prosody rate="+50%">x</prosody></prosody></speak>')
    assert span.speed == pytest.approx(1.2)


def test_strengths_of_breaks():
    spans = read_ssml(
        '<speak>a<break/>b<break strength="x-strong"/>c<break strength="none"/>d<break time="1.5s"/></speak>'
    )
    assert [span.pause_seconds for span in spans if not span.text] == [0.5, 1.2, 1.5]


@pytest.mark.parametrize(
    ("document", "reason"),
    [
        ("<speak>", "BROKEN_SSML"),
        ("no markup", "BROKEN_SSML"),
        ("<speak><b>x</speak>", "BROKEN_SSML"),
        ("<speak>&nbsp;</speak>", "BROKEN_SSML"),
        ("<speak>x</speak><speak>y</speak>", "BROKEN_SSML"),
        ("<p>x</p>", "NO_SPEAK"),
        ('<!DOCTYPE speak [<!ENTITY a "aaaa">]><speak>&a;</speak>', "SSML_DOCTYPE"),
        ('<!DOCTYPE speak SYSTEM "file:///etc/passwd"><speak>x</speak>', "SSML_DOCTYPE"),
        ("<speak>" + "<p>" * MAX_DEPTH + "</p>" * MAX_DEPTH + "</speak>", "SSML_TOO_DEEP"),
        ('<speak><break time="1h"/></speak>', "BAD_SSML_ATTRIBUTE"),
        ('<speak><break time="11s"/></speak>', "BAD_SSML_ATTRIBUTE"),
        ('<speak><break time="-1s"/></speak>', "BAD_SSML_ATTRIBUTE"),
        ('<speak><break strength="huge"/></speak>', "BAD_SSML_ATTRIBUTE"),
        ("<speak>" + '<break time="10s"/>' * 7 + "</speak>", "SSML_PAUSES_TOO_LONG"),
        ('<speak><prosody rate="fastish">x</prosody></speak>', "BAD_SSML_ATTRIBUTE"),
        ("<speak><sub>x</sub></speak>", "BAD_SSML_ATTRIBUTE"),
        ("<speak><phoneme>x</phoneme></speak>", "NO_PHONEMES"),
        ('<speak><phoneme ph="&#1078;">x</phoneme></speak>', "UNKNOWN_PHONEME"),
        ('<speak><phoneme alphabet="x-sampa" ph="x">x</phoneme></speak>', "UNKNOWN_ALPHABET"),
    ],
)
def test_what_cannot_be_read_is_refused(document: str, reason: str):
    with pytest.raises(InvalidInputError) as refused:
        read_ssml(document, "ssml")
    assert (refused.value.reason, refused.value.field) == (reason, "ssml")


@given(st.text(alphabet="<>/&;\"'=! speakbrpotim0129ms%xé\n-[]?", max_size=200))
def test_whatever_comes_is_read_or_refused(document: str):
    for wrapped in (document, f"<speak>{document}</speak>"):
        with contextlib.suppress(InvalidInputError):
            assert all(sentence.parts for sentence in split(read_ssml(wrapped)))
