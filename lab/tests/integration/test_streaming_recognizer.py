"""A streaming recognizer of NeMo beside the shipped one: chosen by callers, and alive after a kill."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING

import psutil
import pytest

import vivavoce
from lab.tests.unit.modelkit.importing.asr_checkpoints import NEMO
from modelkit.importing.asr.engine import AsrOptions, import_asr
from service.processes.child_process import listening
from tests.robustness.kills import process_of

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

RECORDINGS = NEMO.parents[3] / "demo" / "recordings"
VARIANT = {"asr": "stream"}
PATIENT_SECONDS = 30.0
_ENGLISH = re.compile(r"(?i)built")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("imported") / "engine"
    import_asr(NEMO / "hybrid_streaming.nemo", directory, AsrOptions(160))
    return directory


@pytest.fixture(scope="module")
def service(engine: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[psutil.Process, str]]:
    log = tmp_path_factory.mktemp("streaming_service") / "log.txt"
    arguments = ["-m", "vivavoce", "serve", "--port", "0", "--variant", f"stream={engine}"]
    with listening(arguments, log) as (process, address):
        yield psutil.Process(process.pid), address


def speech(name: str) -> vivavoce.Recording:
    return vivavoce.read_audio(RECORDINGS / f"{name}.flac")


async def said(
    client: vivavoce.Client,
    *parts: vivavoce.Recording | vivavoce.ConversationUpdate,
    kill: psutil.Process | None = None,
) -> list[str]:
    """Say recordings as turns of their own, and return the final transcripts."""

    async def pieces() -> AsyncIterator[object]:
        for part in parts:
            if isinstance(part, vivavoce.ConversationUpdate):
                yield part
                continue
            for index, piece in enumerate(part.chunks()):
                await asyncio.sleep(0.02)
                if kill is not None and index == 15:
                    kill.kill()
                yield piece
            yield vivavoce.EndOfUtterance()

    (first,) = [part for part in parts if isinstance(part, vivavoce.Recording)][:1]
    events = client.converse(
        pieces(),
        audio=vivavoce.AudioFormat(sample_rate_hz=first.sample_rate_hz),
        variants=VARIANT,
        endpointing=vivavoce.Endpointing(disabled=True),
        reply_budget_seconds=PATIENT_SECONDS,
    )
    return [event.text async for event in events if isinstance(event, vivavoce.Transcript) and event.is_final]


async def test_callers_choose_it_and_change_their_choice_between_turns(service: tuple[psutil.Process, str]):
    shipped = vivavoce.ConversationUpdate(variants={})
    async with vivavoce.connect(service[1]) as client:
        (alone,) = await said(client, speech("museum_boat"))
        first, second = await said(client, speech("museum_boat"), shipped, speech("museum_boat"))
        with pytest.raises(vivavoce.InvalidRequest, match="no variant 'other' of 'asr'"):
            await said(client, speech("museum_boat"), vivavoce.ConversationUpdate(variants={"asr": "other"}))
    assert alone
    assert first == alone
    assert _ENGLISH.search(second)
    assert not _ENGLISH.search(first)


async def test_a_killed_recognizer_hears_the_utterance_again(service: tuple[psutil.Process, str]):
    process, address = service
    async with vivavoce.connect(address) as client:
        (undisturbed,) = await said(client, speech("weather"))
        (disturbed,) = await said(client, speech("weather"), kill=process_of(process.pid, "asr-stream"))
    assert disturbed == undisturbed
