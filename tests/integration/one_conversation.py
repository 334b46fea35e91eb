"""Run a service with its own Triton, converse with it, and let it idle: ``one_conversation LOG SECONDS``."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

import vivavoce
from demo.manifest import utterances
from service.processes.child_process import SERVE, listening


async def _converse(address: str) -> vivavoce.Reply:
    utterance = next(one for one in utterances() if one.kind == "question")
    recording = vivavoce.read_audio(utterance.path)
    async with vivavoce.connect(address) as client:
        spoken = [chunk async for chunk in client.say("It is 9:30, said Xanthippocles.")]
        assert spoken
        events = client.converse(recording.chunks(), audio=recording.format, documents=utterance.documents())
        return [event async for event in events if isinstance(event, vivavoce.Reply)][-1]


async def _main(log: Path, seconds: float) -> None:
    with listening(SERVE, log) as (_, address):
        reply = await _converse(address)
        await asyncio.sleep(seconds)
        sys.stdout.write(f"{reply.status}\n")


if __name__ == "__main__":
    asyncio.run(_main(Path(sys.argv[1]), float(sys.argv[2])))
