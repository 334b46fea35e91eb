"""Has a text spoken with `riva.client.realtime`, writes it as WAV, and prints what came."""

import argparse
import asyncio
import json
import sys
import wave
from collections.abc import AsyncIterator

from riva.client.realtime import RealtimeClientTTS

RATE_HZ = 22_050


async def main(url: str, path: str, *texts: str) -> None:
    arguments = argparse.Namespace(
        server=url.removeprefix("http://"),
        endpoint="/v1/realtime",
        query_params="intent=synthesize",
        use_ssl=False,
        language_code="en-US",
        voice="English-US.Heart",
        sample_rate_hz=RATE_HZ,
        encoding="LINEAR_PCM",
    )
    client = RealtimeClientTTS(arguments)
    await client.connect()

    async def parts() -> AsyncIterator[str | None]:
        for text in texts:
            yield text
            yield None

    pieces: list[bytes] = []
    await asyncio.gather(client.send_text(parts()), client.receive_audio(pieces))
    await client.disconnect()
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(RATE_HZ)
        file.writeframes(b"".join(pieces))
    print(json.dumps({"error": client.error_occurred, "voices": client.list_voices()}))


asyncio.run(main(*sys.argv[1:]))
