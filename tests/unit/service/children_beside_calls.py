"""A program that starts children while it makes calls with gRPC, and prints their exit statuses."""

from __future__ import annotations

import asyncio
import json
import sys
from contextlib import suppress
from tempfile import TemporaryFile

from service.child_process import start
from tests.unit.service.harness import Harness
from vivavoce.v1 import conversation_pb2 as pb

CHILDREN = 25


async def main() -> None:
    async with Harness.running() as harness:

        async def ask_on() -> None:
            while True:
                await harness.stub.Ask(pb.AskRequest(text="hello"))

        asking = asyncio.create_task(ask_on())
        statuses = []
        with TemporaryFile() as log:
            for _ in range(CHILDREN):
                process = start([sys.executable, "-c", "pass"], log)
                await asyncio.to_thread(process.communicate)
                statuses.append(process.returncode)
        asking.cancel()
        with suppress(asyncio.CancelledError):
            await asking
    sys.stdout.write(json.dumps(statuses))


if __name__ == "__main__":
    asyncio.run(main())
