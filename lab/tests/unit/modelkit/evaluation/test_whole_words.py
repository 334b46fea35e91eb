"""No slot of the shipped engine begins or ends inside a word."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from modelkit.evaluation.local import LocalEngines
from tests.unit.engines.bert.test_word_edges import cuts_a_word

if TYPE_CHECKING:
    from engines.bert.slots import Slot

VALUES = (
    *("seven o'clock", "St. John's", "rock'n'roll", "guns n' roses", "O'Brien", "7:30 a.m.", "twenty-one pilots"),
    *("AC/DC", "$5.50", "50%", "u.s.a.", "McDonald's", "john.smith@example.com", "7-Eleven", "half past six o'clock"),
    *("jack o'lantern", "the d'artagnan", "drum'n'bass", "Coeur d'Alene", "blink-182", "1,250", "St. Mary's"),
    *("Domino's", "ma'am", "Hawai'i"),
)
FRAMES = (
    *("play {}", "what is the weather in {}", "wake me up at {} tomorrow", "add {} to my list", "order {} for dinner"),
    *("remind me of {} on friday", "send an email to {}", "turn it up by {} please"),
)


def test_slots_of_two_hundred_sentences_are_whole_words():
    engines = LocalEngines()
    sentences = [frame.format(value) for frame in FRAMES for value in VALUES]
    assert len(sentences) == 200

    async def understand() -> list[tuple[str, Slot]]:
        return [(text, slot) for text in sentences for slot in (await engines.understand(text)).slots]

    found = asyncio.run(understand())
    assert len(found) > 200
    assert [(text, text[slot.start : slot.end]) for text, slot in found if cuts_a_word(text, slot)] == []
