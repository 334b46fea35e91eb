"""Form of ``agent.yaml``: what every key is, with its range and default."""

from __future__ import annotations

from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from pipelines.data.values import ValueKind
from pipelines.dialog.agent.fulfilments import Fulfilment, LeadingModel
from pipelines.text.language import ENGLISH, LANGUAGES, language_of

MAX_TEXT_CHARACTERS = 1_000
MAX_PROMPTS = 10
MAX_RETRIES = 10
MAX_INTENTS = 200
MAX_SLOTS = 50

CLOSED = "closed"
"""Type of a slot with a value list."""
TEXT = "text"
"""Type of a slot that takes any words."""
ITEMS = "items"
"""Type of a slot that is a list, each item with slots of its own."""

DIGITS, PHONE, EMAIL, PERSON = "digits", "phone", "email", "person"
"""Types of slots that callers dictate."""
DICTATED = frozenset((DIGITS, PHONE, EMAIL, PERSON))

SlotType = Literal[
    "closed",
    "text",
    "items",
    "digits",
    "phone",
    "email",
    "person",
    "date",
    "time",
    "date_time",
    "interval",
    "duration",
    "recurrence",
    "number",
    "ordinal",
    "money",
    "percentage",
    "temperature",
]
assert set(get_args(SlotType)) == {CLOSED, TEXT, ITEMS, *DICTATED, *(kind.value for kind in ValueKind)}

Weekday = Literal["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS: tuple[str, ...] = get_args(Weekday)

Then = Literal["continue", "end", "hand_over"]


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _answers(value: object) -> object:
    return ({"say": value},) if isinstance(value, str) else value


Name = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_]*$", max_length=64)]
Text = Annotated[str, Field(min_length=1, max_length=MAX_TEXT_CHARACTERS)]
Texts = Annotated[tuple[Text, ...], BeforeValidator(_listed), Field(max_length=MAX_PROMPTS)]
Names = Annotated[tuple[str, ...], BeforeValidator(_listed), Field(max_length=MAX_INTENTS)]


class _Form(BaseModel):
    """Refuses unknown keys; never changes."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Allowed(_Form):
    """Values that a slot takes; others are refused, and it is asked for again.

    Attributes:
        between: the least and the most, of numbers, amounts, times (``09:00``), and dates.
        not_on: weekdays that a date must not be.
        pattern: regular expression that a whole value matches.
        refused: said where a value is refused.
    """

    between: tuple[str, str] | None = None
    not_on: Annotated[tuple[Weekday, ...], BeforeValidator(_listed), Field(max_length=6)] = ()
    pattern: Annotated[str, Field(max_length=200)] | None = None
    refused: Text = "Sorry, that is not possible."


class Slot(_Form):
    """A detail of an intent.

    Attributes:
        type: ``closed`` (a value list), ``text`` (any words), ``items`` (a list), one that is dictated (``digits``,
            ``phone``, ``email``, ``person``), or a kind of resolved value such as ``date``.
        required: whether it is asked for where it is missing.
        prompt: what is asked; the second text is said at the second time, and the last one from then on.
        retries: how often it is asked again after an answer that was not understood.
        default: its value where nobody gave one: of an optional slot at once, of a required one after the retries.
        choices: whether the answer may be a number or place in the value list ("the second one").
        sensitive: whether its value is kept out of logs and of stored sessions.
        values: name of the value list; None: the name of the slot.
        heard_as: names of the engine's slots that fill it, besides its own name.
        help: said where the caller asks for help at this slot; None: the intent's.
        several: whether a closed slot takes several values at a time; they are joined by commas.
        allow: which values it takes; None: all of its type.
        future: whether a date in the past is refused.
        prefer: the half of the day of a time without one: "at four" with ``pm`` is 16:00.
        when: conditions on slots and parameters under which it is required.
        remember: whether the next intent with a slot of this name begins with its value.
        slots: of each item of a list.
        say: words of an item, from its slots.
        more: asked after each item, until nothing else is wanted; empty: it is not asked for more.
        within: table whose lines tell which of its values go with those of other slots.
    """

    type: SlotType
    required: bool = False
    prompt: Texts = ()
    retries: int = Field(default=2, ge=0, le=MAX_RETRIES)
    default: Text | None = None
    choices: bool = False
    sensitive: bool = False
    values: Name | None = None
    heard_as: Names = ()
    help: Text | None = None
    several: bool = False
    allow: Allowed | None = None
    future: bool = False
    prefer: Literal["am", "pm"] | None = None
    when: dict[str, str] = Field(default_factory=dict)
    remember: bool = False
    slots: dict[Name, Slot] = Field(default_factory=dict, max_length=MAX_SLOTS)
    say: Text | None = None
    more: Texts = ()
    within: Name | None = None


class Answer(_Form):
    """One of the responses of an intent.

    Attributes:
        when: values of slots or parameters for which it is said; empty: always.
        say: what is said.
    """

    when: dict[str, str] = Field(default_factory=dict)
    say: Text


class Lifetime(_Form):
    """Lifetime of a context, in turns and in seconds.

    Attributes:
        turns: of the caller, after the one that opened it.
        seconds: after it was opened; None: no limit.
    """

    turns: int = Field(default=2, ge=1, le=100)
    seconds: float | None = Field(default=None, gt=0, le=86_400)


class Intent(_Form):
    """Something that the agent can do for the caller.

    Attributes:
        slots: its details, in the order in which they are asked for.
        confirm: the question whether everything is right, before fulfilment; None: not asked.
        fulfilment: name of what carries it out; None: nothing but the response.
        fulfil_when: values of slots or parameters with which it is carried out; with others nothing but the response.
        response: what is said when it is done; the first whose ``when`` fits.
        help: said where the caller asks for help.
        opens: contexts that it opens when it is done.
        needs: contexts of which one must be open.
        follows: contexts in which values of its slots alone ask for it again ("and on Sundays?").
        heard_as: names of the engine's intents that mean it, besides its own name.
        then: what the dialog does when it is done.
        computed: values that are computed from others, by name.
        check: fulfilments that are asked while the form is filled, each with the slots that it checks.
    """

    slots: dict[Name, Slot] = Field(default_factory=dict, max_length=MAX_SLOTS)
    confirm: Text | None = None
    fulfilment: Name | None = None
    fulfil_when: dict[str, str] = Field(default_factory=dict)
    response: Annotated[tuple[Answer, ...], BeforeValidator(_answers), Field(max_length=100)] = ()
    help: Text | None = None
    opens: dict[Name, Lifetime] = Field(default_factory=dict, max_length=MAX_PROMPTS)
    needs: Names = ()
    follows: Names = ()
    heard_as: Names = ()
    then: Then = "continue"
    computed: dict[Name, Text] = Field(default_factory=dict, max_length=MAX_SLOTS)
    check: dict[Name, Names] = Field(default_factory=dict, max_length=MAX_PROMPTS)


class NoInput(_Form):
    """Reaction to silence of the caller.

    Attributes:
        after_seconds: silence after the agent's last word.
        say: said before the last prompt is repeated; the second text at the second time.
        times: how often in a row, before ``then``.
        then: what follows.
    """

    after_seconds: float = Field(default=8.0, ge=0.5, le=600)
    say: Texts = ("Are you still there?",)
    times: int = Field(default=2, ge=0, le=MAX_RETRIES)
    then: Then = "end"


class NoMatch(_Form):
    """Reaction to a turn that is not understood; see :class:`NoInput`."""

    say: Texts = ("Sorry, I did not understand that.",)
    times: int = Field(default=2, ge=0, le=MAX_RETRIES)
    then: Then = "continue"


_TEXTS = frozenset(
    (
        *("end", "help", "cancelled", "change", "wait", "hold", "welcome", "robot", "too_late", "only_now", "failed"),
        *("unsure", "hand_over", "return", "offer"),
    )
)
"""Texts of an agent that each language has."""


class AgentForm(_Form):
    """The content of ``agent.yaml``.

    Attributes:
        name: by which conversations choose the agent.
        language: of its callers.
        intents: what it can do.
        begin: said first; None: it waits for the caller.
        end: said last.
        no_input: see :class:`NoInput`.
        no_match: see :class:`NoMatch`.
        fallback: intent that begins where a turn is not understood outside of any intent; None: ``no_match`` is said.
        help: said where the caller asks for help outside of any intent.
        cancelled: said where the caller gives up an intent.
        offer: asked where a check offers other values, as ``{choices}``.
        change: said where the caller denies the confirmation and says no more.
        wait: said where the caller speaks while a fulfilment runs.
        hold: said where the caller asks to wait.
        welcome: said to thanks where nothing is under way.
        robot: said where the caller asks whether this is a person.
        too_late: said where the caller cancels what is being carried out, or was.
        only_now: said where a wish is for a time, and its intent has no slot for one.
        failed: said where a fulfilment fails.
        unsure: said where a fulfilment was cut off by a failure of the service, and may have been carried out.
        hand_over: said before the caller is handed over to a person.
        return_: said before the agent returns to what was interrupted; in the file ``return``.
        parameters: session parameters with their defaults.
        fulfilments: by what fulfilments are carried out, by name; empty: the caller's program is told of them.
        language_model: leads the dialog, with the intents as its tools; None: the engine's intents lead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    name: Name
    language: str = ENGLISH
    intents: dict[Name, Intent] = Field(min_length=1, max_length=MAX_INTENTS)
    begin: Text | None = None
    end: Text = "Goodbye."
    no_input: NoInput = Field(default_factory=NoInput)
    no_match: NoMatch = Field(default_factory=NoMatch)
    fallback: Name | None = None
    help: Text = "Tell me what I can do for you."
    cancelled: Text = "All right, never mind."
    offer: Text = "Would {choices} do?"
    change: Text = "What shall I change?"
    wait: Text = "One moment, please."
    hold: Text = "Take your time."
    welcome: Text = "You're welcome."
    robot: Text = "I am a computer program."
    too_late: Text = "That cannot be cancelled any more."
    only_now: Text = "I can only do that at once, not at another time."
    failed: Text = "Sorry, that did not work."
    unsure: Text = "I was interrupted, and do not know whether that was done. Please check before you ask again."
    hand_over: Text = "I will hand you over to a colleague."
    return_: Text = Field(default="Back to where we were.", alias="return")
    parameters: dict[Name, str] = Field(default_factory=dict, max_length=MAX_SLOTS)
    fulfilments: dict[Name, Fulfilment] = Field(default_factory=dict, max_length=MAX_INTENTS)
    language_model: LeadingModel | None = None

    @field_validator("language")
    @classmethod
    def _is_known(cls, code: str) -> str:
        if code not in LANGUAGES:
            raise PydanticCustomError("language", "write one of {codes}", {"codes": ", ".join(LANGUAGES)})
        return code

    @model_validator(mode="before")
    @classmethod
    def _in_its_language(cls, content: Any) -> Any:  # noqa: ANN401 - whatever the file holds
        """Give the texts that an agent leaves out in its language."""
        code = content.get("language") if isinstance(content, dict) else None
        language = language_of(code) if isinstance(code, str) and code in LANGUAGES else None
        if language is None:
            return content
        own: dict[str, Any] = {name: text for name, text in language.texts.items() if name in _TEXTS}
        for key in ("no_input", "no_match"):
            told = content.get(key, {})
            own[key] = {"say": language.texts[key], **told} if isinstance(told, dict) else told
        return {**own, **content, "no_input": own["no_input"], "no_match": own["no_match"]}
