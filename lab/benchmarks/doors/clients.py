"""One client a door: it speaks a recording, and tells the words and when the reply came."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiohttp
import grpc
import soundfile

import vivavoce
from service.api.riva.proto import riva_asr_pb2, riva_asr_pb2_grpc, riva_audio_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine

    import numpy as np
    import numpy.typing as npt

    Samples = npt.NDArray[np.int16]
    Door = Callable[["Service", Samples, bool], Awaitable["Heard"]]

RATE_HZ = 16_000
CHUNK = RATE_HZ // 10
STOP_WINDOW_MS = 608
"""Silence that ends an utterance over every door where words are compared."""

_PCM = vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM, RATE_HZ)
_RATE = {"type": "audio/pcm", "rate": RATE_HZ}


@dataclass(frozen=True, slots=True)
class Service:
    """Where a service is: its gRPC address, the URL of its HTTP port, and a session for that."""

    address: str
    http_url: str
    session: aiohttp.ClientSession


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of one recording.

    Attributes:
        text: all that was recognized.
        replied_at: when the first reply came, on the loop's clock; None where there was none.
        began_at: when the first sample was sent.
    """

    text: str
    began_at: float
    replied_at: float | None = None


@contextlib.asynccontextmanager
async def _beside(speaking: Coroutine[Any, Any, None]) -> AsyncIterator[None]:
    """Speaks while the body runs, and no longer."""
    task = asyncio.create_task(speaking)
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class _Speech:
    """A recording that is spoken.

    Attributes:
        began_at: when its first sample was recorded, on the loop's clock.
    """

    def __init__(self, samples: Samples, *, is_live: bool) -> None:
        self._samples, self._is_live = samples, is_live
        self.began_at = 0.0

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yields pieces of 0.1 s; live ones when they would have been recorded."""
        loop, samples, is_live = asyncio.get_running_loop(), self._samples, self._is_live
        self.began_at = due = loop.time()
        for start in range(0, len(samples), CHUNK):
            piece = samples[start : start + CHUNK]
            if is_live:
                due += len(piece) / RATE_HZ
                await asyncio.sleep(max(0.0, due - loop.time()))
            yield piece.tobytes()


async def over_grpc(service: Service, samples: Samples, is_live: bool) -> Heard:
    """Converses over gRPC."""
    loop, speech = asyncio.get_running_loop(), _Speech(samples, is_live=is_live)
    silence = vivavoce.Endpointing(stop_window_seconds=STOP_WINDOW_MS / 1000)
    async with vivavoce.connect(service.address) as client:
        replied, texts = None, []
        events = client.converse(
            speech.chunks(),
            audio=_PCM,
            endpointing=None if is_live else silence,
            interim_results=True,
        )
        async for event in events:
            if isinstance(event, vivavoce.Reply) and replied is None:
                replied = loop.time()
            if isinstance(event, vivavoce.Transcript) and event.is_final and event.text:
                texts.append(event.text)
    return Heard(" ".join(texts), speech.began_at, replied)


async def over_realtime(service: Service, samples: Samples, is_live: bool) -> Heard:
    """Converses in OpenAI's realtime protocol."""
    loop, speech = asyncio.get_running_loop(), _Speech(samples, is_live=is_live)
    silence = {"type": "server_vad", "silence_duration_ms": STOP_WINDOW_MS}
    detection = {"type": "semantic_vad"} if is_live else silence
    settings: dict[str, Any] = {
        "type": "realtime",
        "output_modalities": ["text"],
        "audio": {"input": {"format": _RATE, "turn_detection": detection}},
    }
    async with service.session.ws_connect("/v1/realtime") as socket:
        await socket.send_json({"type": "session.update", "session": settings})

        async def speak() -> None:
            async for piece in speech.chunks():
                audio = base64.b64encode(piece).decode()
                await socket.send_str(f'{{"type":"input_audio_buffer.append","audio":"{audio}"}}')
            await socket.send_str('{"type":"input_audio_buffer.done"}')

        replied, texts = None, []
        async with _beside(speak()):
            async for message in socket:
                event = json.loads(message.data)
                match event["type"]:
                    case "response.created" if replied is None:
                        replied = loop.time()
                    case "conversation.item.input_audio_transcription.completed" if event["transcript"]:
                        texts.append(event["transcript"])
                    case "error":
                        raise RuntimeError(event["error"]["message"])
    return Heard(" ".join(texts), speech.began_at, replied)


async def over_websocket(service: Service, samples: Samples, is_live: bool) -> Heard:
    """Converses in our own messages over a WebSocket."""
    loop, speech = asyncio.get_running_loop(), _Speech(samples, is_live=is_live)
    config: dict[str, Any] = {"audio": {"encoding": "AUDIO_ENCODING_LINEAR_PCM", "sampleRateHz": RATE_HZ}}
    config["interimResults"] = True
    if not is_live:
        config["endpointing"] = {"stopWindow": f"{STOP_WINDOW_MS / 1000}s"}
    async with service.session.ws_connect("/v1/converse") as socket:
        await socket.send_json({"config": config})

        async def speak() -> None:
            async for piece in speech.chunks():
                await socket.send_bytes(piece)
            await socket.send_str('{"halfClose":{}}')

        replied, texts = None, []
        async with _beside(speak()):
            async for message in socket:
                event = json.loads(message.data)
                if "error" in event:
                    raise RuntimeError(event["error"])
                if "reply" in event and replied is None:
                    replied = loop.time()
                if event.get("transcript", {}).get("isFinal") and event["transcript"].get("text"):
                    texts.append(event["transcript"]["text"])
    return Heard(" ".join(texts), speech.began_at, replied)


async def over_riva(service: Service, samples: Samples, is_live: bool) -> Heard:
    """Recognizes a stream as Riva's clients do."""
    speech = _Speech(samples, is_live=is_live)
    config = riva_asr_pb2.RecognitionConfig(
        encoding=riva_audio_pb2.LINEAR_PCM,
        sample_rate_hertz=RATE_HZ,
        language_code="en-US",
        enable_automatic_punctuation=True,
        verbatim_transcripts=True,
        endpointing_config=riva_asr_pb2.EndpointingConfig(stop_history=STOP_WINDOW_MS),
    )

    async def requests() -> AsyncIterator[riva_asr_pb2.StreamingRecognizeRequest]:
        yield riva_asr_pb2.StreamingRecognizeRequest(
            streaming_config=riva_asr_pb2.StreamingRecognitionConfig(config=config)
        )
        async for piece in speech.chunks():
            yield riva_asr_pb2.StreamingRecognizeRequest(audio_content=piece)

    texts = []
    async with grpc.aio.insecure_channel(service.address) as channel:
        stub = riva_asr_pb2_grpc.RivaSpeechRecognitionStub(channel)  # type: ignore[no-untyped-call]
        async for response in stub.StreamingRecognize(requests()):
            texts += [result.alternatives[0].transcript.strip() for result in response.results if result.is_final]
    return Heard(" ".join(texts), speech.began_at)


async def over_transcriptions(service: Service, samples: Samples, is_live: bool) -> Heard:  # noqa: ARG001
    """Sends a recording as a file, as OpenAI's clients do."""
    loop = asyncio.get_running_loop()
    file = io.BytesIO()
    soundfile.write(file, samples, RATE_HZ, format="WAV", subtype="PCM_16")
    form = aiohttp.FormData()
    form.add_field("model", "asr")
    form.add_field("file", file.getvalue(), filename="recording.wav")
    began = loop.time()
    async with service.session.post("/v1/audio/transcriptions", data=form) as response:
        response.raise_for_status()
        return Heard((await response.json())["text"], began)


DOORS: dict[str, Door] = {
    "grpc": over_grpc,
    "realtime": over_realtime,
    "converse": over_websocket,
    "riva": over_riva,
    "transcriptions": over_transcriptions,
}
CONVERSATIONS = ("grpc", "realtime", "converse")
"""Doors over which turns are answered."""
