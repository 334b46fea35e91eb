"""Holds a spoken conversation with OpenAI's agents SDK, interrupts it, and prints what came."""

import asyncio
import json
import sys
import wave

from agents.realtime import RealtimeAgent, RealtimeModelSendRawMessage, RealtimeRunner

RATE_HZ = 24_000
FRAME_SECONDS = 0.05
PATIENCE_SECONDS = 60


async def main(url: str, question: str, document: str) -> None:
    with wave.open(question) as recording:
        rate, pcm = recording.getframerate(), recording.readframes(recording.getnframes())
    assert rate == RATE_HZ, "the SDK takes no other rate"
    audio = {"input": {"turn_detection": {"type": "semantic_vad"}}}
    agent = RealtimeAgent(name="Guide", instructions="Answer from the documents.")
    settings = {"model_name": "gpt-realtime", "output_modalities": ["audio"], "audio": audio}
    runner = RealtimeRunner(agent, config={"model_settings": settings})
    where = {"api_key": "none", "url": url.replace("http", "ws", 1) + "/v1/realtime?model=gpt-realtime"}
    step = 2 * round(rate * FRAME_SECONDS)

    async def speak(session: object) -> None:
        for start in range(0, len(pcm), step):
            await session.send_audio(pcm[start : start + step])
            await asyncio.sleep(FRAME_SECONDS)

    kinds, errors, heard_bytes, history = [], [], 0, []
    async with await runner.run(model_config=where) as session, asyncio.timeout(PATIENCE_SECONDS):
        # Documents are a member of our own, for which the SDK has no setting.
        documents = {"vivavoce": {"documents": [{"text": document}]}, "type": "realtime"}
        update = {"type": "session.update", "other_data": {"session": documents}}
        await session.model.send_event(RealtimeModelSendRawMessage(message=update))
        speaking = asyncio.create_task(speak(session))
        async for event in session:
            if event.type == "audio":
                heard_bytes += len(event.audio.data)
            elif event.type == "error":
                errors.append(str(event.error))
            elif event.type == "history_updated":
                history = event.history
            if event.type != "raw_model_event" and (not kinds or kinds[-1] != event.type):
                kinds.append(event.type)
            if event.type == "agent_end":
                break
        await speaking
    said = [
        (item.role, getattr(part, "transcript", None) or getattr(part, "text", None))
        for item in history
        for part in getattr(item, "content", ())
    ]
    print(json.dumps({"kinds": kinds, "errors": errors, "audio_bytes": heard_bytes, "said": said}))


asyncio.run(main(*sys.argv[1:]))
