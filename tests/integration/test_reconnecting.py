"""A conversation whose service is replaced in the middle of an utterance."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from typing import TYPE_CHECKING

import vivavoce
from demo.manifest import FOLDER
from service.processes.child_process import listening
from service.triton.process import free_port

if TYPE_CHECKING:
    from pathlib import Path

RECORDING = FOLDER / "recordings" / "lights.flac"


async def test_an_utterance_survives_a_service_that_is_replaced(tmp_path: Path, triton_address: str):
    serve = ["-m", "vivavoce", "serve", "--port", str(free_port()), "--triton", triton_address]
    serve += ["--max-conversations", "64", "--drain-seconds", "2"]
    recording = vivavoce.read_audio(RECORDING)
    chunks = list(recording.chunks())
    replaced = asyncio.Event()

    async def speech():
        for chunk in chunks[: len(chunks) // 2]:
            yield chunk
        await replaced.wait()
        for chunk in chunks[len(chunks) // 2 :]:
            yield chunk
        yield vivavoce.EndOfUtterance()

    events = []
    with contextlib.ExitStack() as services:
        process, address = services.enter_context(listening(serve, tmp_path / "first"))
        async with asyncio.timeout(120), vivavoce.connect(address) as client:
            conversation = client.converse(
                speech(),
                audio=recording.format,
                endpointing=vivavoce.Endpointing(disabled=True),
                reply_budget_seconds=30,
                reconnect_seconds=60,
            )
            async for event in conversation:
                events.append(event)
                if isinstance(event, vivavoce.SpeechBegan) and not replaced.is_set():
                    process.send_signal(signal.SIGTERM)
                    assert await asyncio.to_thread(process.wait, 30) == 0
                    services.enter_context(listening(serve, tmp_path / "second"))
                    replaced.set()

    beside = vivavoce.Transcript | vivavoce.SpeechEnded | vivavoce.GoingAway
    assert [type(event) for event in events if not isinstance(event, beside)] == [
        *(vivavoce.Started, vivavoce.SpeechBegan),
        *(vivavoce.Reconnected, vivavoce.Started, vivavoce.SpeechBegan, vivavoce.Reply),
    ]
    assert events[-1].turn == 1
    assert events[-1].intent.name == "iot_hue_lightoff"
    assert "turn off the light" in events[-1].transcript.lower()
    assert "bedroom" in events[-1].transcript.lower()
