"""Languages of agents: control words, and their own texts."""

from __future__ import annotations

import time
from typing import Any

import pytest

from pipelines.dialog.agent.form import AgentForm
from pipelines.dialog.agent.templates import fill
from pipelines.dialog.agent.value_list import words_of
from pipelines.dialog.control_words import Assent, Control, assent_of, control_of, is_whole
from pipelines.dialog.phrases import Kind, read_phrases
from pipelines.text.language import LANGUAGES, language_of, speaking
from pipelines.text.values.by_language import said_of

AGENT: dict[str, Any] = {"name": "wirt", "language": "de", "intents": {"gruss": {"response": "Hallo."}}}


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("Wie bitte?", Control.REPEAT),
        ("noch einmal bitte", Control.REPEAT),
        ("Hilfe!", Control.HELP),
        ("was kann ich sagen", Control.HELP),
        ("abbrechen", Control.CANCEL),
        ("vergessen Sie es", Control.CANCEL),
        ("von vorne bitte", Control.RESTART),
        ("zurück", Control.BACK),
        ("einen Moment bitte", Control.WAIT),
        ("warten Sie mal kurz", Control.WAIT),
        ("auf Wiederhören", Control.GOODBYE),
        ("danke, tschüss", Control.GOODBYE),
        ("das wär's", Control.DONE),
        ("nein, das ist alles", None),
        ("ich möchte mit einem Menschen sprechen", Control.HUMAN),
        ("sind Sie ein Roboter", Control.ROBOT),
        ("was habe ich bisher gesagt", Control.SUMMARY),
        ("guten Tag", Control.GREETING),
        ("vielen Dank", Control.THANKS),
        ("einen Tisch bitte", None),
        ("help", None),
        ("ja", None),
    ],
)
def test_german_control_words(text: str, control: Control | None):
    with speaking("de"):
        assert control_of(words_of(text)) is control


@pytest.mark.parametrize(
    ("text", "assent"),
    [
        ("ja", Assent.YES),
        ("ja gerne", Assent.YES),
        ("das stimmt so", Assent.YES),
        ("alles richtig, danke", Assent.YES),
        ("Ja, genau. Buchen Sie das bitte.", Assent.YES),
        ("passt", Assent.YES),
        ("nein", Assent.NO),
        ("nein, danke", Assent.NO),
        ("ja, aber nicht heute", Assent.NO),
        ("das stimmt nicht", Assent.NO),
        ("nicht richtig", Assent.NO),
        ("ja, abbrechen", Assent.NO),
        ("ja, wenn es regnet", Assent.UNCLEAR),
        ("ja, und noch einen Tisch", Assent.UNCLEAR),
        ("vielleicht morgen", None),
    ],
)
def test_german_assent(text: str, assent: Assent | None):
    with speaking("de"):
        assert assent_of(words_of(text)) is assent


def test_languages_do_not_mix():
    with speaking("de"):
        assert not is_whole(words_of("yes please"))
        assert fill("{n:words} Tische", {"n": "2"}) == "Zwei Tische"
        assert [said_of(it) for it in ("10:00", "19:30", "2026-03-03", "drei")] == [
            "10 Uhr",
            "19 Uhr 30",
            "3. März",
            "drei",
        ]
    assert is_whole(words_of("yes please"))
    assert not is_whole(words_of("ja bitte"))
    assert fill("{n:words} tables", {"n": "2"}) == "Two tables"
    assert said_of("10:00") == "10:00"


@pytest.mark.parametrize("code", [code for code in LANGUAGES if code != "en"])
def test_language_has_all_words(code: str):
    language = language_of(code)
    assert language is not None
    kinds = {kind.value for kind in Kind} - {"unread"}
    assert language.phrases.keys() == kinds
    english = AgentForm.model_validate(AGENT | {"language": "en"}).model_dump(by_alias=True)
    own = AgentForm.model_validate(AGENT | {"language": code}).model_dump(by_alias=True)
    texts = [name for name, text in english.items() if isinstance(text, str) and name not in {"name", "language"}]
    assert [name for name in texts if own[name] == english[name]] == []


def test_texts_of_an_agent_count_before_those_of_its_language():
    form = AgentForm.model_validate(AGENT | {"end": "Servus.", "no_match": {"times": 1}})
    assert (form.end, form.no_match.times) == ("Servus.", 1)
    assert form.no_match.say == ("Das habe ich leider nicht verstanden.",)
    with pytest.raises(ValueError, match="write one of en, de"):
        AgentForm.model_validate(AGENT | {"language": "xx"})


def test_long_texts_cost_little():
    words = words_of("ja nein doch aber " * 10)
    with speaking("de"):
        read_phrases(words)
        began = time.process_time()
        read_phrases(words[:-1])
        assert time.process_time() - began < 0.1
