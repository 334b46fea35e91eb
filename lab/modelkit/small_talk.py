"""Makes sentences that ask for nothing in particular: what a domain with few intents is to tell from its own.

Some are about the domain's own words, lest the mere mention of one be taken for a request.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence

_WHO = (
    *(
        "i",
        "we",
        "they",
        "you",
        "my brother",
        "the neighbours",
        "her mother",
        "our teacher",
        "the doctor",
        "some people",
    ),
    *("his uncle", "the children", "nobody", "everyone", "that woman", "the old man", "a friend of mine", "the driver"),
)
_DID = (
    *("went home", "called yesterday", "fell asleep", "missed the train", "stayed for a week", "forgot the keys"),
    *("painted the fence", "lost the map", "wrote a letter", "fixed the radio", "sold the car", "left early"),
    *(
        "laughed about it",
        "walked along the river",
        "learned to swim",
        "broke a window",
        "waited outside",
        "moved away",
    ),
)
_WHEN = (
    *(
        "last night",
        "on monday",
        "in the summer",
        "after lunch",
        "years ago",
        "before the meeting",
        "again",
        "too late",
    ),
    *("this morning", "for the first time", "without a word", "when it rained", "at the station", "in the garden"),
)
_THING = (
    *("weather", "movie", "traffic", "meeting", "music", "house", "phone", "garden", "game", "computer", "book"),
    *("window", "story", "letter", "train", "kitchen", "museum", "street", "printer", "bicycle", "camera", "river"),
)
_QUALITY = (
    *("nice", "terrible", "too long", "quite good", "broken", "very old", "better than before", "far away", "empty"),
    *("almost finished", "hard to find", "beautiful", "rather loud", "not what i expected", "closed", "full of people"),
)
_FRAMES = (
    *("{who} {did} {when}", "{who} {did}", "i think {who} {did} {when}", "did you hear that {who} {did}"),
    *("the {thing} is {quality}", "the {thing} was {quality} {when}", "why is the {thing} {quality}"),
    *("what do you think of the {thing}", "how old is the {thing}", "who {did} {when}", "where is the {thing}"),
    *("have you seen the {thing}", "tell me about the {thing}", "is the {thing} {quality}", "turn off the {thing}"),
    *("i don't like the {thing}", "when does the {thing} open", "the {thing} and the {thing} are {quality}"),
    *("what time is it", "how are you", "thank you very much", "see you tomorrow", "good morning", "never mind"),
    *("what is the capital of france", "set an alarm for seven", "play the next song", "stop", "yes", "no", "hello"),
    *("okay", "what", "i am not sure", "hold on a moment", "could you repeat that", "who are you", "that's all right"),
)
_ABOUT_VALUES = (
    *("{who} never liked {value}", "{value} is {quality}", "what is {value}", "where does {value} come from"),
    *(
        "how do you spell {value}",
        "{who} talked about {value} {when}",
        "is {value} healthy",
        "the {thing} smells of {value}",
    ),
    *(
        "{who} {did} because of the {value}",
        "i read a book about {value}",
        "why do they call it {value}",
        "who invented {value}",
    ),
    *(
        "the history of {value}",
        "{value} was {quality} {when}",
        "i had no {value} {when}",
        "that has nothing to do with {value}",
    ),
)
_VALUE_SHARE = 0.25


def small_talk(count: int, values: Sequence[str], rng: random.Random) -> list[str]:
    """Makes ``count`` different sentences.

    Args:
        count: how many.
        values: words of the domain; a quarter of the sentences are about one of them.
        rng: source of chance.
    """
    sentences: dict[str, None] = {}
    while len(sentences) < count:
        frames = _ABOUT_VALUES if values and rng.random() < _VALUE_SHARE else _FRAMES
        sentences[_fill(rng.choice(frames), values, rng)] = None
    return list(sentences)


def _fill(frame: str, values: Sequence[str], rng: random.Random) -> str:
    fillers = {"who": _WHO, "did": _DID, "when": _WHEN, "thing": _THING, "quality": _QUALITY, "value": values}
    for name, texts in fillers.items():
        while f"{{{name}}}" in frame:
            frame = frame.replace(f"{{{name}}}", rng.choice(texts), 1)
    return frame
