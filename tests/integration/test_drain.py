"""A service that is asked to stop while somebody speaks."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import pytest

import vivavoce
from demo.manifest import FOLDER
from service.grpc_server.probe import serves
from service.processes.child_process import listening

if TYPE_CHECKING:
    from pathlib import Path

RECORDING = FOLDER / "recordings" / "lights.flac"
SECONDS_OF_CHUNK = 0.1


async def test_an_utterance_is_answered_while_nobody_else_is_let_in(tmp_path: Path, triton_address: str):
    serve = ["-m", "vivavoce", "serve", "--port", "0", "--triton", triton_address, "--max-conversations", "64"]
    recording = vivavoce.read_audio(RECORDING)

    async def speech():
        for chunk in recording.chunks(SECONDS_OF_CHUNK):
            yield chunk
            await asyncio.sleep(SECONDS_OF_CHUNK)
        yield vivavoce.EndOfUtterance()
        await asyncio.sleep(60)

    events = []
    with listening(serve, tmp_path / "log") as (process, address):
        async with asyncio.timeout(60), vivavoce.connect(address) as client, vivavoce.connect(address) as other:
            silent = vivavoce.Endpointing(disabled=True)
            with pytest.raises(vivavoce.ServerUnavailable, match="shuts down"):
                async for event in client.converse(
                    speech(), audio=recording.format, endpointing=silent, reply_budget_seconds=30
                ):
                    events.append(event)
                    if isinstance(event, vivavoce.SpeechBegan):
                        assert await asyncio.to_thread(serves, address)
                        process.send_signal(signal.SIGTERM)
                    if isinstance(event, vivavoce.GoingAway):
                        assert not await asyncio.to_thread(serves, address)
                        with pytest.raises(vivavoce.ServerUnavailable) as refused:
                            await other.ask("turn on the lights")
                        assert refused.value.retryable
        assert await asyncio.to_thread(process.wait, 30) == 0

    away = next(event for event in events if isinstance(event, vivavoce.GoingAway))
    assert 25 < away.grace_seconds <= 30
    (reply,) = (event for event in events if isinstance(event, vivavoce.Reply))
    assert events.index(away) < events.index(reply)
    assert reply.intent.name == "iot_hue_lightoff"


async def test_a_second_signal_ends_an_utterance_that_does_not_end(tmp_path: Path, triton_address: str):
    serve = ["-m", "vivavoce", "serve", "--port", "0", "--triton", triton_address, "--max-conversations", "64"]
    recording = vivavoce.read_audio(RECORDING)

    async def speech():
        for chunk in recording.chunks(SECONDS_OF_CHUNK):
            yield chunk
        await asyncio.sleep(60)

    async def nothing():
        await asyncio.sleep(60)
        yield vivavoce.EndOfUtterance()

    with listening(serve, tmp_path / "log") as (process, address):
        async with asyncio.timeout(30), vivavoce.connect(address) as client:
            silent_one = aiter(client.converse(nothing(), audio=None))
            assert isinstance(await anext(silent_one), vivavoce.Started)
            silent = vivavoce.Endpointing(disabled=True)
            with pytest.raises(vivavoce.ServerUnavailable, match="shuts down"):
                async for event in client.converse(
                    speech(), audio=recording.format, endpointing=silent, reply_budget_seconds=30
                ):
                    if isinstance(event, vivavoce.SpeechBegan):
                        process.send_signal(signal.SIGINT)
                    if isinstance(event, vivavoce.GoingAway):
                        assert isinstance(await anext(silent_one), vivavoce.GoingAway)
                        with pytest.raises(vivavoce.ServerUnavailable):
                            await anext(silent_one)
                        await asyncio.sleep(1.2)
                        assert process.poll() is None
                        process.send_signal(signal.SIGTERM)
            assert await asyncio.to_thread(process.wait, 10) == 0
    assert "asked to stop again" in (tmp_path / "log").read_text()
