"""Plays the scripts of an agent against a running service: typed, or spoken."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.dialogs.partner import NoReplyError, talking
from benchmarks.dialogs.voices import recorded
from pipelines.dialog.comparing import Outcome, differences, text_differences

if TYPE_CHECKING:
    from pathlib import Path

    import vivavoce
    from benchmarks.dialogs.partner import Heard, Partner
    from benchmarks.dialogs.voices import Voice
    from pipelines.dialog.agent.scripts import Script, Turn


@dataclass
class Played:
    """What came of a script.

    Attributes:
        script: its name.
        failures: what was expected and did not come.
        lines: what was said, and what was heard of it.
        turn_seconds: from the last sound to each reply.
        reached: whether the last turn came out as expected, whatever came before it.
    """

    script: str
    failures: list[str] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    turn_seconds: list[float] = field(default_factory=list)
    reached: bool = False


def playable(script: Script) -> str:
    """Returns why a script cannot be played by a live service; "" where it can."""
    for turn in script.turns:
        if turn.answer:
            return "its documents are part of the script"
        if turn.wait_seconds or turn.fulfilment != "done" or turn.result:
            return "it lets time pass, a fulfilment fail, or one give a result"
        if turn.silence_seconds is not None:
            return "it waits in silence"
        if turn.caller is not None and not any(character.isalnum() for character in turn.caller):
            return "it has a turn without a word"
    return ""


async def play(
    client: vivavoce.Client, agent: str, script: Script, voice: Voice | None, folder: Path, manner: int
) -> Played:
    """Plays a script.

    Args:
        client: of the service.
        agent: by its name.
        script: what is said, and what must come of it.
        voice: speaks what has no recording; None: everything is typed.
        folder: that recordings are named from.
        manner: of the voice.
    """
    played = Played(script.name)
    async with talking(client, agent, spoken=voice is not None, parameters=script.parameters) as partner:
        slots: dict[str, str] = {}
        for number, turn in enumerate(script.turns, 1):
            try:
                heard = await _do(partner, turn, voice, folder, manner)
            except NoReplyError as error:
                played.failures.append(f"turn {number}: {error}")
                return played
            played.lines += [
                f"caller: {turn.caller or turn.dtmf}",
                f"heard: {heard.transcripts}",
                f"agent: {heard.said}",
            ]
            played.turn_seconds += heard.turn_seconds
            found = differences(turn, _outcome(heard, slots))
            played.failures += [f"turn {number}: {text}" for text in found]
            played.reached = not found
            if heard.ends and number < len(script.turns):
                played.failures.append(f"the dialog is over after turn {number}")
                played.reached = False
                break
        played.failures += text_differences(script.begins, partner.greeting)
    return played


async def _do(partner: Partner, turn: Turn, voice: Voice | None, folder: Path, manner: int) -> Heard:
    if turn.parameters:
        partner.set_parameters(dict(turn.parameters))
    if turn.dtmf is not None:
        return await partner.press(turn.dtmf + "#" * (not turn.dtmf.endswith(("#", "*"))))
    assert turn.caller is not None
    if voice is None:
        return await partner.type(turn.caller)
    if turn.recording is not None:
        return await partner.say(recorded(folder / turn.recording))
    return await partner.say(await voice.speak(turn.caller, manner))


def _outcome(heard: Heard, slots: dict[str, str]) -> Outcome:
    """Returns what came of a turn; ``slots`` are those of the intent that was done last."""
    dialog, fulfilments = heard.dialog, heard.fulfilments
    if fulfilments:
        slots.clear()
        slots.update(fulfilments[-1].slots)
    shown = dict(dialog.slots) if dialog.intent and not fulfilments else dict(slots)
    names = ", ".join(each.name for each in fulfilments)
    return Outcome(heard.said, dialog.intent, dialog.asked, dialog.confirming, heard.ends, names, shown)
