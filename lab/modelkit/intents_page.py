"""The reference page docs/intents.md: ``python -m modelkit.intents_page`` writes it from the shipped engine.

Each intent has an example utterance (docs/intent_examples.json), which the engine itself understands: its intent must
be the one that it stands for, and the slots on the page are those that the engine found.
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from modelkit.catalogue import MIN_SHARE, read_catalogue
from modelkit.evaluation.local import LocalEngines

if TYPE_CHECKING:
    from engines.bert.intent_decoding import Understanding

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = DOCS / "intents.md"
EXAMPLES = DOCS / "intent_examples.json"

_HEAD = f"""\
# Intents and slots

These are the intents and slots of the shipped engine. `vivavoce intents` prints the same list, `--json` for programs,
and `--engine DIR` lists those of [an engine of your own](../lab/docs/training.md).

An utterance that fits no intent gets the intent `none`. The value of a slot is what was said; an engine that was
trained with closed lists of values gives one of these.

This page is written by `python -m modelkit.intents_page`. Every example was understood by the shipped engine, which
found the slots in the third column. The last column has the slots that at least {MIN_SHARE * 100:.0f} % of the
intent's training utterances have, the most frequent first.

## Intents

| intent | for example | slots found | slots that often come with it |
|---|---|---|---|
"""


class ExampleError(ValueError):
    """The shipped engine understands an example otherwise, or an intent has none."""


def write_page() -> str:
    """Return the text of the page.

    Raises:
        ExampleError: an intent has no example, or the engine understands one otherwise.
    """
    examples: dict[str, str] = json.loads(EXAMPLES.read_text(encoding="utf-8"))
    catalogue = read_catalogue()
    names = {intent.name for intent in catalogue.intents}
    if names != examples.keys():
        raise ExampleError(f"{EXAMPLES} needs one example for each of {sorted(names ^ examples.keys())}")
    understood = asyncio.run(_understand(examples))
    rows = []
    for intent in catalogue.intents:
        text, result = examples[intent.name], understood[intent.name]
        if result.intent != intent.name:
            raise ExampleError(f'{EXAMPLES}: "{text}" gets {result.intent}: choose another example of {intent.name}')
        found = ", ".join(f"{slot.name} = {text[slot.start : slot.end]}" for slot in result.slots)
        rows.append(f"| `{intent.name}` | {text} | {found} | {', '.join(intent.slots or ())} |\n")
    slots = "".join(f"- `{slot.name}`\n" for slot in catalogue.slots)
    return f"{_HEAD}{''.join(rows)}\n## Slots\n\n{slots}"


async def _understand(examples: dict[str, str]) -> dict[str, Understanding]:
    engines = LocalEngines()
    return {name: await engines.understand(text) for name, text in examples.items()}


if __name__ == "__main__":
    try:
        PAGE.write_text(write_page(), encoding="utf-8")
    except ExampleError as error:
        sys.exit(str(error))
