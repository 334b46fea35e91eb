"""The naive baseline, which benchmarks compare the service with, says what ours says."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import vivavoce
from demo.manifest import utterances
from service.processes.child_process import listening

if TYPE_CHECKING:
    from collections.abc import Iterator

BY_NAME = {utterance.path.stem: utterance for utterance in utterances()}
PATIENT_SECONDS = 30.0


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    log = tmp_path_factory.mktemp("naive") / "log.txt"
    with listening(["-m", "benchmarks.alternatives.naive_service"], log) as (_, address):
        yield address


@pytest.mark.parametrize("name", ["lights", "moon_date"])
async def test_the_naive_baseline_says_what_was_meant(address, name):
    utterance = BY_NAME[name]
    recording = vivavoce.read_audio(utterance.path)
    async with vivavoce.connect(address) as client:
        events = [
            event
            async for event in client.converse(
                recording.chunks(),
                audio=recording.format,
                interim_results=True,
                documents=utterance.documents(),
                reply_budget_seconds=PATIENT_SECONDS,
            )
        ]
    (reply,) = (event for event in events if isinstance(event, vivavoce.Reply))
    assert reply.status is vivavoce.ReplyStatus.COMPLETE
    assert not reply.speculated
    assert utterance.intent in {None, reply.intent.name}
    assert (reply.answer.text if reply.answer else None) == utterance.answer
    assert all(event.is_final for event in events if isinstance(event, vivavoce.Transcript))
