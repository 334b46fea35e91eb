"""A service whose models use the machine in another way understands the same."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc

import vivavoce
from demo.manifest import utterances
from service.api.riva.proto import riva_nlp_pb2, riva_nlp_pb2_grpc

if TYPE_CHECKING:
    from tests.integration.conftest import Service


async def reply_of(address: str) -> vivavoce.Reply:
    utterance = next(each for each in utterances() if each.answer is not None)
    recording = vivavoce.read_audio(utterance.path)
    async with vivavoce.connect(address) as client:
        events = client.converse(
            recording.chunks(),
            audio=recording.format,
            documents=utterance.documents(),
            reply_budget_seconds=10,
        )
        return next(event for event in [each async for each in events] if isinstance(event, vivavoce.Reply))


async def punctuated(address: str) -> list[str]:
    """Punctuates as many texts as one request may hold."""
    texts = [f"where is platform {number}" for number in range(64)]
    async with grpc.aio.insecure_channel(address) as channel:
        understanding = riva_nlp_pb2_grpc.RivaLanguageUnderstandingStub(channel)
        return list((await understanding.PunctuateText(riva_nlp_pb2.TextTransformRequest(text=texts))).text)


async def test_other_settings_change_no_reply(server_address: str, bare_service: Service):
    wanted, sentences = await reply_of(server_address), await punctuated(server_address)
    address = bare_service.address
    # Side by side, then one alone: with the strategy direct there are places of which nobody speaks.
    replies = [*await asyncio.gather(*(reply_of(address) for _ in range(3))), await reply_of(address)]
    assert await punctuated(address) == sentences
    assert wanted.answer is not None
    for got in replies:
        assert (got.transcript, got.intent, got.answer.text) == (wanted.transcript, wanted.intent, wanted.answer.text)
