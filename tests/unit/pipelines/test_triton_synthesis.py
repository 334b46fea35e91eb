"""How speech is asked for and taken. The real model is met in the integration tests."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2, service_pb2_grpc

from pipelines.errors import ModelError, ModelUnavailableError
from pipelines.models.synthesis_port import SpeechPart
from pipelines.models.triton import TritonSynthesizer
from pipelines.models.triton.client import TritonClient

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

PARTS = (SpeechPart("Hello", speed=1.5), SpeechPart("", "wɝld", pause_seconds=0.25))


class SpeakingTriton(service_pb2_grpc.GRPCInferenceServiceServicer):
    """Answers each request with ``pieces`` pieces of as many samples, or with an error in place of one."""

    def __init__(self) -> None:
        self.pieces = 3
        self.error_at: int | None = None
        self.error = "no such voice"
        self.requests: list[service_pb2.ModelInferRequest] = []
        self.may_go_on = asyncio.Event()
        self.may_go_on.set()
        self.finished = 0
        self.cancelled = 0

    async def ModelStreamInfer(  # noqa: N802
        self, requests: AsyncIterator[service_pb2.ModelInferRequest], context: grpc.aio.ServicerContext
    ) -> AsyncIterator[service_pb2.ModelStreamInferResponse]:
        try:
            async for request in requests:
                self.requests.append(request)
                for piece in range(self.pieces):
                    if piece == self.error_at:
                        yield service_pb2.ModelStreamInferResponse(error_message=self.error)
                        break
                    response = service_pb2.ModelInferResponse(model_name=request.model_name)
                    response.outputs.add(name="AUDIO", datatype="FP32", shape=[piece + 1])
                    response.raw_output_contents.append(np.full(piece + 1, piece, np.float32).tobytes())
                    yield service_pb2.ModelStreamInferResponse(infer_response=response)
                    await self.may_go_on.wait()
            self.finished += 1
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


@contextlib.asynccontextmanager
async def running(triton: SpeakingTriton) -> AsyncIterator[TritonClient]:
    server = grpc.aio.server()
    service_pb2_grpc.add_GRPCInferenceServiceServicer_to_server(triton, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    client = TritonClient(f"127.0.0.1:{port}")
    try:
        yield client
    finally:
        await client.close()
        await server.stop(None)


async def test_speech_comes_in_the_pieces_that_the_model_sends():
    triton = SpeakingTriton()
    async with running(triton) as client:
        speech = TritonSynthesizer(client, "tts.2").speak(PARTS, "heart", 7)
        assert [piece.tolist() async for piece in speech] == [[0], [1, 1], [2, 2, 2]]
        assert client.answered_at("tts.2") is not None
    (request,) = triton.requests
    assert request.model_name == "tts.2"
    raw = dict(zip((tensor.name for tensor in request.inputs), request.raw_input_contents, strict=True))
    assert raw["PAUSE_MS"] == np.array([0, 250], np.int32).tobytes()
    assert raw["SPEED"] == np.array([1.5, 1.0], np.float32).tobytes()
    assert raw["SEED"] == np.array([7], np.int64).tobytes()
    assert raw["VOICE"].endswith(b"heart")


async def test_a_caller_who_leaves_cancels_nothing_at_triton():
    triton = SpeakingTriton()
    triton.may_go_on.clear()
    async with running(triton) as client:
        speech = TritonSynthesizer(client).speak(PARTS, "heart", 7)
        await anext(speech)
        await speech.aclose()
        assert client._abandoned
        triton.may_go_on.set()
        async with asyncio.timeout(5):
            while client._abandoned:
                await asyncio.sleep(0.01)
    assert (triton.finished, triton.cancelled) == (1, 0)


async def test_a_caller_who_is_cancelled_cancels_nothing_at_triton():
    triton = SpeakingTriton()
    triton.may_go_on.clear()
    async with running(triton) as client:
        speech = TritonSynthesizer(client).speak(PARTS, "heart", 7)
        await anext(speech)
        waiting = asyncio.create_task(anext(speech))
        await asyncio.sleep(0.05)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        triton.may_go_on.set()
    assert (triton.finished, triton.cancelled) == (1, 0)


async def test_what_was_ready_before_an_error_is_heard():
    triton = SpeakingTriton()
    triton.error_at = 2
    async with running(triton) as client:
        heard = []
        with pytest.raises(ModelError, match="tts failed"):
            async for piece in TritonSynthesizer(client).speak(PARTS, "heart", 7):
                heard.append(len(piece))  # noqa: PERF401 - those before the error count
        assert heard == [1, 2]


async def test_a_model_whose_process_has_ended_is_reported():
    triton = SpeakingTriton()
    triton.error_at, triton.error = 0, "Stub process 'tts_0_0' is not healthy."
    lost: list[str] = []
    async with running(triton) as client:
        client.on_dead_model = lambda model: not lost.append(model)
        with pytest.raises(ModelUnavailableError, match="has ended"):
            await anext(TritonSynthesizer(client).speak(PARTS, "heart", 7))
    assert lost == ["tts"]


async def test_a_triton_that_is_not_there_is_told_as_such():
    client = TritonClient("127.0.0.1:1")
    with pytest.raises(ModelUnavailableError, match="try again"):
        await anext(TritonSynthesizer(client).speak(PARTS, "heart", 7))
    await client.close()
