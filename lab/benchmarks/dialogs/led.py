"""Conversations that callers lead: what they want, and what they say when they are asked.

A conversation is a list of lines for each situation, and not a script of turns: whoever invents it does not know what
the agent asks, nor when.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import jellyfish
import yaml
from rapidfuzz import fuzz

import vivavoce
from benchmarks.dialogs.partner import NoReplyError, talking
from pipelines.data.values import ValueKind
from pipelines.dialog.rehearsal import CLOCK
from pipelines.text.values import find_values

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from benchmarks.dialogs.partner import Heard
    from benchmarks.dialogs.voices import Voice
    from pipelines.dialog.agent.agent import Agent

MAX_TURNS = 20
MAX_REPEATS = 2
SAME_SOUND = 80.0
"""Likeness of the sounds of two names, of 100, from which on they are the same to who hears them."""
MAX_CONFIRMATIONS = 3
"""So often a caller says no to what is wrong, and then hangs up."""
YES, NO = "yes", "no"


@dataclass(frozen=True)
class Wanted:
    """Something that must be carried out, with the slots that matter."""

    fulfilment: str
    slots: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Led:
    """A conversation that a caller leads.

    Attributes:
        name: what happens in it.
        mood: of the caller.
        says: lines that are said one after the other where the agent asks for nothing in particular.
        asked: lines for each slot that the agent asks for, the first one at the first time.
        confirming: lines at confirmations; after them the caller says yes to what is right, and no to all else.
        wants: what must be carried out, and nothing else may be.
        hears: pieces of text that the agent must say some time.
        at_most: turns that a patient caller would need.
        is_unanswered: whether the agent's documents have no answer, and none may be told.
    """

    name: str
    mood: str
    says: tuple[str, ...]
    asked: Mapping[str, tuple[str, ...]]
    confirming: tuple[str, ...]
    wants: tuple[Wanted, ...]
    hears: tuple[str, ...]
    at_most: int
    is_unanswered: bool = False


@dataclass
class Outcome:
    """What became of a conversation.

    Attributes:
        reached: whether all was carried out and told that the caller wanted, and nothing else.
        wrong: what was carried out and not wanted.
        turns: of the caller.
        misses: replies that say that nothing was understood.
        lines: what was said.
        turn_seconds: from the last sound to each reply.
    """

    reached: bool = False
    wrong: list[str] = field(default_factory=list)
    turns: int = 0
    misses: int = 0
    lines: list[str] = field(default_factory=list)
    turn_seconds: list[float] = field(default_factory=list)


def read_conversations(path: Path) -> tuple[Led, ...]:
    """Reads a file of conversations, or of questions that are each asked alone."""
    listed = yaml.safe_load(path.read_text(encoding="utf-8"))
    return tuple(
        Led(one["ask"], "", (one["ask"],), {}, (), (), (one["hears"],) if one["hears"] else (), 1, not one["hears"])
        if "ask" in one
        else Led(
            one["name"],
            str(one.get("mood", "")),
            tuple(map(str, one["says"])),
            {slot: tuple(map(str, lines)) for slot, lines in (one.get("asked") or {}).items()},
            tuple(map(str, one.get("confirming") or ())),
            tuple(
                Wanted(want["fulfilment"], {name: str(value) for name, value in (want.get("slots") or {}).items()})
                for want in one.get("wants") or ()
            ),
            tuple(map(str, one.get("hears") or ())),
            int(one.get("at_most", MAX_TURNS)),
        )
        for one in listed
    )


class _Caller:
    """What a caller says next.

    Args:
        led: what the caller wants and says.
        agent: that is called.
        spoken: whether names are heard and not read.
    """

    def __init__(self, led: Led, agent: Agent, *, spoken: bool) -> None:
        self._led, self._agent, self._spoken = led, agent, spoken
        self.open_wants = list(led.wants)
        self.unwanted: list[Wanted] = []
        self._says = list(led.says)
        self._asked = {slot: list(lines) for slot, lines in led.asked.items()}
        self._confirming = list(led.confirming)
        self._refused = 0

    def take(self, done: Iterable[Wanted]) -> None:
        """Notes what was carried out."""
        for one in done:
            fitting = next((want for want in self.open_wants if self._fulfils(one, want)), None)
            if fitting is None:
                self.unwanted.append(one)
            else:
                self.open_wants.remove(fitting)

    def next_line(self, dialog: vivavoce.Dialog) -> str | None:
        """Returns the next line; None: the caller is at a loss, or has all that was wanted."""
        if dialog.confirming:
            if self._confirming:
                return self._confirming.pop(0)
            intent = self._agent.intents.get(dialog.intent)
            offered = Wanted((intent.fulfilment if intent else None) or "", dict(dialog.slots))
            if any(self._fulfils(offered, want) for want in self.open_wants):
                return YES
            self._refused += 1
            return NO if self._refused <= MAX_CONFIRMATIONS else None
        lines = self._asked.get(dialog.asked, []) if dialog.asked else []
        if lines:
            return lines.pop(0)
        return self._says.pop(0) if self._says else None

    def _fulfils(self, done: Wanted, want: Wanted) -> bool:
        return done.fulfilment == want.fulfilment and all(
            _is_same(done.slots.get(name, ""), value, by_sound=self._spoken and self._is_name(name))
            for name, value in want.slots.items()
        )

    def _is_name(self, slot: str) -> bool:
        types = {intent.slots[slot].type for intent in self._agent.intents.values() if slot in intent.slots}
        return bool(types & {"person", "text", "email"})


async def lead(client: vivavoce.Client, agent: Agent, led: Led, voice: Voice | None, manner: int) -> Outcome:
    """Holds a conversation with an agent.

    Args:
        client: of the service.
        agent: that the service has.
        led: what the caller wants and says.
        voice: speaks what the caller says; None: everything is typed.
        manner: of the voice.
    """
    outcome, caller = Outcome(), _Caller(led, agent, spoken=voice is not None)
    said: list[str] = []
    told = False
    repeats = 0 if led.is_unanswered else MAX_REPEATS
    async with talking(client, agent.form.name, spoken=voice is not None) as partner:
        line = caller.next_line(vivavoce.Dialog())
        while line is not None and outcome.turns < MAX_TURNS:
            outcome.turns += 1
            try:
                if voice is None:
                    heard = await partner.type(line)
                else:
                    # Said again, it is said in another manner.
                    said_now = await voice.speak(_digit_by_digit(line), manner + MAX_REPEATS - repeats)
                    heard = await partner.say(said_now)
            except NoReplyError as error:
                outcome.lines.append(str(error))
                break
            outcome.lines += _told(line, heard, spoken=voice is not None)
            told |= any(_tells(reply) for reply in heard.replies)
            missed = any(text in heard.said for text in agent.form.no_match.say)
            outcome.misses += missed
            outcome.turn_seconds += heard.turn_seconds
            said.append(heard.said)
            caller.take(Wanted(one.name, dict(one.slots)) for one in heard.fulfilments)
            if heard.ends:
                outcome.lines.append(f"({heard.ends})")
                break
            before, line = line, caller.next_line(heard.dialog)
            if line is None and missed and repeats:
                # Who was not understood says it again.
                repeats, line = repeats - 1, before
            if line == NO:
                outcome.lines.append(f"({dict(heard.dialog.slots)})")
    _judge(led, outcome, caller, " ".join([partner.greeting, *said]))
    if led.is_unanswered and told:
        outcome.reached = False
        outcome.lines.append("it was answered")
    return outcome


def _tells(reply: vivavoce.Reply) -> bool:
    """True if the agent says what was found in documents."""
    found = re.findall(r"\w+", reply.answer.text.lower()) if reply.answer is not None else []
    return bool(found) and set(found) <= set(re.findall(r"\w+", (reply.speech_text or "").lower()))


def _told(line: str, heard: Heard, *, spoken: bool) -> list[str]:
    done = [f"[{one.name}: {dict(one.slots)}]" for one in heard.fulfilments]
    asked = heard.dialog.asked or ("yes or no" if heard.dialog.confirming else "")
    lines = [f"caller: {line}"]
    if spoken:
        lines.append(f"heard:  {' | '.join(heard.transcripts)}")
    return [*lines, f"agent:  {heard.said}{f' ({asked}?)' if asked else ''}", *done]


def _judge(led: Led, outcome: Outcome, caller: _Caller, said: str) -> None:
    outcome.wrong = [f"{one.fulfilment} {dict(one.slots)}" for one in caller.unwanted]
    outcome.lines += [f"missing: {want.fulfilment} {dict(want.slots)}" for want in caller.open_wants]
    outcome.lines += [f"wrong: {one}" for one in outcome.wrong]
    unheard = [text for text in led.hears if _plain(text) not in _plain(said)]
    outcome.lines += [f"not heard: {text}" for text in unheard]
    outcome.reached = not (caller.open_wants or outcome.wrong or unheard)


def _is_same(value: str, wanted: str, *, by_sound: bool) -> bool:
    # Of an amount "400" and "400.00" are the same.
    if _plain(value) == _plain(wanted) or _plain(value) == _plain(wanted).removesuffix(".00"):
        return True
    # Callers hear how their name is read back, and not how it is written.
    return by_sound and _sounds_like(_in_figures(value), _in_figures(wanted))


def _sounds_like(one: str, other: str) -> bool:
    if re.findall(r"\d+", one) != re.findall(r"\d+", other):
        return False
    codes = (jellyfish.metaphone(re.sub(r"\d+", " ", text)) for text in (one, other))
    return fuzz.ratio(*codes) >= SAME_SOUND


def _in_figures(text: str) -> str:
    for value in reversed(find_values(text, CLOCK)):
        if value.kind is ValueKind.NUMBER:
            text = f"{text[: value.start]}{value.value}{text[value.end :]}"
    return text


def _digit_by_digit(text: str) -> str:
    """Returns a text with its long numbers as people say them: "0 1 5 1" for "0151"."""
    numbers = r"(?<![\w:.,])(?:\d{4,}|0\d+|\d+(?:[ /-]\d+)+)(?: \d+)*(?![\w:]|[.,]\d)"
    return re.sub(numbers, lambda it: " ".join(re.sub(r"\D", "", it[0])), text)


def _plain(text: str) -> str:
    return re.sub(r"[^\w.:@+]+", " ", text.lower()).strip(" .")
