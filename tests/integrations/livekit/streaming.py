"""Speaks a recording into the stream of LiveKit's NVIDIA plugin, and prints the events that came."""

import asyncio
import json
import sys
import wave

from livekit import rtc
from livekit.plugins import nvidia

FRAME_SECONDS = 0.02


async def main(server: str, path: str) -> None:
    stream = nvidia.STT(server=server, use_ssl=False).stream()

    async def speak() -> None:
        with wave.open(path) as recording:
            rate, frames = recording.getframerate(), int(recording.getframerate() * FRAME_SECONDS)
            while audio := recording.readframes(frames):
                stream.push_frame(rtc.AudioFrame(audio, rate, 1, len(audio) // 2))
                await asyncio.sleep(FRAME_SECONDS)
        stream.end_input()

    speaking = asyncio.create_task(speak())
    events = []
    async for event in stream:
        said = [
            {"text": data.text, "confidence": data.confidence, "start": data.start_time, "end": data.end_time}
            for data in event.alternatives
        ]
        words = [str(word) for data in event.alternatives for word in data.words or ()]
        events.append({"type": event.type.value, "alternatives": said, "words": words})
    await speaking
    await stream.aclose()
    print(json.dumps({"events": events}))


asyncio.run(main(*sys.argv[1:]))
