"""A program of a user of the client, for the tests of its wheel: types, audio and what comes back, as JSON lines."""

from __future__ import annotations

import asyncio
import json
import sys

import numpy as np

import vivavoce


async def main(address: str) -> None:
    async with vivavoce.connect(address) as client:
        reply = await client.ask("turn on the light", documents=[vivavoce.Document("The museum opens at nine.")])
        intent: vivavoce.Intent | None = reply.intent
        print(json.dumps({"asked": reply.transcript, "intent": intent.name if intent else None}))
        chunks = [np.zeros(1_600, np.float32)] * 5
        audio = vivavoce.AudioFormat(sample_rate_hz=16_000)
        async for event in client.converse(chunks, audio=audio, interim_results=True):
            match event:
                case vivavoce.Transcript(text=text, is_final=True):
                    print(json.dumps({"heard": text}))
                case vivavoce.Reply(slots=slots):
                    print(json.dumps({"slots": {slot.name: slot.value for slot in slots}}))
                case _:
                    pass


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1]))
