"""A service whose models use the machine in another way understands the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import vivavoce
from demo.manifest import utterances
from tests.processes import listening

if TYPE_CHECKING:
    from pathlib import Path

SETTINGS = """
[asr]
strategy = "direct"
max_batch_size = 64
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


async def test_other_settings_change_no_reply(tmp_path: Path, server_address: str):
    wanted = await reply_of(server_address)
    (tmp_path / "settings.toml").write_text(SETTINGS)
    serve = ["-m", "vivavoce", "serve", "--port", "0", "--settings", str(tmp_path / "settings.toml")]
    with listening(serve, tmp_path / "log.txt") as (_, address):
        got = await reply_of(address)
    assert wanted.answer is not None
    assert (got.transcript, got.intent, got.answer.text) == (wanted.transcript, wanted.intent, wanted.answer.text)
