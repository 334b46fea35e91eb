"""A service whose models use the machine in another way understands the same."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import grpc

import vivavoce
from demo.manifest import utterances
from service.api.riva.proto import riva_nlp_pb2, riva_nlp_pb2_grpc
from service.processes.child_process import listening

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """
[asr]
strategy = "direct"
max_batch_size = 64
workers = 3
threads = 2
partial_interval_seconds = 0.8

[intent_slot_bert]
dynamic_batching = false
max_batch_size = 1

[qa_bert]
instances = 2
threads = 1
preferred_batch_sizes = [4]
queue_delay_microseconds = 100

[punctuation]
max_batch_size = 24
"""


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


async def test_other_settings_change_no_reply(tmp_path: Path, server_address: str):
    wanted, sentences = await reply_of(server_address), await punctuated(server_address)
    (tmp_path / "settings.toml").write_text(SETTINGS)
    # How many a busy machine answers in time is not asked here.
    serve = ["-m", "vivavoce", "serve", "--port", "0", "--max-conversations", "8"]
    serve += ["--settings", str(tmp_path / "settings.toml")]
    with listening(serve, tmp_path / "log.txt") as (_, address):
        # Side by side, then one alone: with the strategy direct there are places of which nobody speaks.
        replies = [*await asyncio.gather(*(reply_of(address) for _ in range(3))), await reply_of(address)]
        assert await punctuated(address) == sentences
    assert wanted.answer is not None
    for got in replies:
        assert (got.transcript, got.intent, got.answer.text) == (wanted.transcript, wanted.intent, wanted.answer.text)
