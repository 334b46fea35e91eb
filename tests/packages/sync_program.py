"""A program without asyncio of a user of the client, for the tests of its wheel, with a test of its own."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import numpy as np

import vivavoce
from vivavoce.testing import Turn, serving

if TYPE_CHECKING:
    from vivavoce.microphone import Microphone


def listen(client: vivavoce.sync.Client, microphone: Microphone) -> list[str]:
    """Is here for the type checkers: both clients take a microphone."""
    events = client.converse(microphone, audio=microphone.format)
    return [event.transcript for event in events if isinstance(event, vivavoce.Reply)]


def main(address: str) -> None:
    with vivavoce.sync.connect(address) as client:
        print(json.dumps({"asked": client.ask("turn on the light").transcript}))
        with client.converse(interim_results=True) as conversation:
            conversation.send(np.zeros(1_600, np.float64))
            conversation.send(vivavoce.EndOfUtterance("end"))
            reply = next(event for event in conversation if isinstance(event, vivavoce.Reply))
            conversation.finish()
            rest: list[vivavoce.Event] = list(conversation)
    told: dict[str, object] = reply.to_dict()
    print(json.dumps({"request_id": told["request_id"], "rest": len(rest)}))


def test() -> None:
    turn = Turn("hello", intent=vivavoce.Intent("greet", 0.9))
    with serving(turn) as service, vivavoce.sync.connect(service.address) as client:
        intent = client.ask("hello").intent
    print(json.dumps({"scripted": intent.name if intent is not None else None}))


if __name__ == "__main__":
    main(sys.argv[1])
    test()
