"""Value lists, templates and control words."""

from __future__ import annotations

import pytest

from pipelines.dialog.agent.templates import fault_of, fill, names_in, required_names_in
from pipelines.dialog.agent.value_list import ValueList, words_of
from pipelines.dialog.control_words import Assent, Control, assent_of, control_of

MILK = ValueList(("milk", "soy milk", "a lot of soy milk"), {"soya": "soy milk"})


def test_longest_value_is_found():
    text = "Soya, a LOT of  soy milk; milk!"
    found = MILK.find(words_of(text))
    assert [(one.value, text[one.start : one.end]) for one in found] == [
        ("soy milk", "Soya"),
        ("a lot of soy milk", "a LOT of  soy milk"),
        ("milk", "milk"),
    ]


def test_value_of_a_text():
    assert MILK.value_of("SOYA.") == "soy milk"
    assert MILK.value_of("soya milk") is None


def test_values_like_a_text():
    assert MILK.like(words_of("with lot")) == ("a lot of soy milk",)
    assert MILK.like(words_of("water")) == ()
    assert MILK.like(words_of("milk")) == (), "it is a word of all"


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("One {a} {b}[ with {c}].", {"a": "x", "b": "y", "c": "z"}, "One x y with z."),
        ("One {a} {b}[ with {c}].", {"a": "x", "b": "y"}, "One x y."),
        ("{a}[ {b} and {c}]", {"a": "x", "b": "y"}, "X"),
        ("{a}", {}, ""),
        ("Say {a}", {"a": "{b} [c]", "b": "no"}, "Say {b} [c]"),
    ],
)
def test_templates(template: str, values: dict[str, str], text: str):
    assert fill(template, values) == text


def test_names_in_a_template():
    assert names_in("{a}[ {b}]") == {"a", "b"}
    assert required_names_in("{a}[ {b}]") == {"a"}


@pytest.mark.parametrize("template", ["{a", "a}", "{}", "{a b}", "[a]", "[{a}", "{a}]", "[[{a}]]", "{{a}}"])
def test_faults_of_templates(template: str):
    assert fault_of(template)


@pytest.mark.parametrize(
    ("text", "control"),
    [
        ("Could you repeat that, please?", Control.REPEAT),
        ("um sorry what did you say", Control.REPEAT),
        ("Sorry?", Control.REPEAT),
        ("repeat this song", None),
        ("are you a robot", Control.ROBOT),
        ("am I talking to a real person?", Control.ROBOT),
        ("I'd like to speak to somebody please", Control.HUMAN),
        ("can you put me through to an operator", Control.HUMAN),
        ("what did I say so far", Control.SUMMARY),
        ("can we go back please", Control.BACK),
        ("that was it, cheers", Control.DONE),
        ("cancel", Control.CANCEL),
        ("please cancel my order", Control.CANCEL),
        ("cancel the alarm at seven", None),
        ("never mind", Control.CANCEL),
        ("stop the music", None),
        ("Help!", Control.HELP),
        ("what drinks do you have", Control.HELP),
        ("help my brother", None),
        ("That's all, thank you.", Control.DONE),
        ("nothing else", Control.DONE),
        ("no thanks, goodbye", Control.GOODBYE),
        ("okay, cancel", Control.CANCEL),
        ("hold on a second", Control.WAIT),
        ("let me check my calendar", Control.WAIT),
        ("yes, no, wait", None),
        ("no, start again", Control.RESTART),
        ("Good morning!", Control.GREETING),
        ("oh, thanks a lot", Control.THANKS),
        ("thank you, goodbye", Control.GOODBYE),
        ("goodbye", Control.GOODBYE),
        ("Good-by", Control.GOODBYE),
        ("", None),
        ("please", None),
    ],
)
def test_controls(text: str, control: Control | None):
    assert control_of(words_of(text)) is control


@pytest.mark.parametrize(
    ("text", "assent"),
    [
        ("Yes.", True),
        ("yeah sure", True),
        ("that\u2019s right", True),
        ("yesterday", None),
        ("okay then", True),
        ("no", False),
        ("not right", False),
        ("now", None),
        ("nothing", False),
        ("that isn't right", False),
        ("it is", True),
        ("it is not", False),
        ("well no", False),
        ("", None),
    ],
)
def test_assent(text: str, assent: bool | None):
    assert assent_of(words_of(text)) is {True: Assent.YES, False: Assent.NO, None: None}[assent]


@pytest.mark.parametrize(
    ("text", "assent"),
    [
        ("yes, a table for three", Assent.YES),
        ("three is right", Assent.YES),
        ("yes, a table for four", Assent.UNCLEAR),
        ("yes but", Assent.UNCLEAR),
        ("is it a table", None),
        ("is that right", Assent.UNCLEAR),
        ("make it three", Assent.UNCLEAR),
    ],
)
def test_words_of_the_question_may_be_said_again(text: str, assent: Assent | None):
    assert assent_of(words_of(text), ("a", "table", "for", "three", "is", "that", "right")) is assent
