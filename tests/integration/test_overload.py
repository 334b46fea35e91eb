"""More callers than there is room for: those inside are answered, the others are told at once, and nothing is left."""

from __future__ import annotations

import asyncio
import contextlib
import re
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tritonclient.grpc.aio as triton_client

import vivavoce
from demo.manifest import utterances
from pipelines.data.predictions import AnswerSpan
from pipelines.errors import ModelUnavailableError
from pipelines.models.triton import TritonAnswers, TritonClient, TritonIntents
from pipelines.session.calibration import recorded_utterances
from service.admission.capacity import NEWCOMER
from service.processes.child_process import listening

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from tests.integration.conftest import Triton

PATIENT_SECONDS = 60.0
CROWD = 12
ROUNDS = 4
LIGHTS = next(utterance.path for utterance in utterances() if utterance.path.stem == "lights")


@contextlib.contextmanager
def serving(triton: Triton, log: Path, *options: str) -> Iterator[str]:
    arguments = ["-m", "vivavoce", "serve", "--port", "0", "--triton", triton.address, *options]
    with listening(arguments, log) as (_, address):
        yield address


async def speak(address: str) -> list[vivavoce.Event]:
    """Says one command at the pace of speech."""
    recording = vivavoce.read_audio(LIGHTS)
    speech = vivavoce.pace(recording.chunks(), recording.sample_rate_hz)
    async with vivavoce.connect(address) as client:
        conversation = client.converse(speech, audio=recording.format, reply_budget_seconds=PATIENT_SECONDS)
        return [event async for event in conversation]


async def until_no_sequence_is_open(triton: Triton) -> None:
    async with asyncio.timeout(20):
        while await asyncio.to_thread(triton.open_sequences):
            await asyncio.sleep(0.05)


async def test_of_three_times_as_many_those_who_are_let_in_are_answered(triton: Triton, tmp_path: Path):
    log = tmp_path / "log.txt"
    with serving(triton, log, "--max-conversations", "2") as address:
        calls = [asyncio.create_task(speak(address)) for _ in range(6)]
        done, speaking = await asyncio.wait(calls, timeout=1.5)
        refusals = [call.exception() for call in done]
        assert len(speaking) == 2
        assert all(isinstance(refusal, vivavoce.Overloaded) for refusal in refusals)
        assert all(refusal.reason == "TOO_MANY_CONVERSATIONS" for refusal in refusals)
        assert all(1 <= refusal.retry_after_seconds <= 3 for refusal in refusals)
        for events in await asyncio.gather(*speaking):
            (reply,) = (event for event in events if isinstance(event, vivavoce.Reply))
            assert reply.status is vivavoce.ReplyStatus.COMPLETE
            assert "lights" in reply.transcript.lower()
        await until_no_sequence_is_open(triton)
        both = await asyncio.gather(speak(address), speak(address))
        assert all(any(isinstance(event, vivavoce.Reply) for event in events) for events in both)
    found = re.search(r"speculations: (\d+) made.* refused for want of room: 4$", log.read_text(), re.MULTILINE)
    assert found
    assert int(found[1]) >= 1


async def test_a_crowd_is_let_in_up_to_the_capacity_that_was_measured(triton: Triton, tmp_path: Path):
    """Nobody has said a word yet: what counts is what they may be expected to say."""
    log = tmp_path / "log.txt"

    async def listen_in(address: str, leave: asyncio.Event) -> None:
        async def nothing() -> AsyncIterator[bytes]:
            await leave.wait()
            for silence in ():
                yield silence

        async with vivavoce.connect(address) as client:
            async for _ in client.converse(nothing()):
                pass

    with serving(triton, log) as address:
        measured = re.search(r"capacity: (\S+) speakers at most, of which (\S+) are let in", log.read_text())
        assert float(measured[1]) > 0.5
        places, leave = int(float(measured[2]) / NEWCOMER), asyncio.Event()
        calls = [asyncio.create_task(listen_in(address, leave)) for _ in range(3 * places)]
        refused, inside = await asyncio.wait(calls, timeout=1.0)
        assert all(isinstance(call.exception(), vivavoce.Overloaded) for call in refused)
        assert len(inside) == pytest.approx(places, abs=1 + places / 8)
        leave.set()
        await asyncio.gather(*inside)
        assert any(isinstance(event, vivavoce.Reply) for event in await speak(address))


async def test_a_file_that_is_sent_at_once_with_all_the_trimmings_holds_nobody_up(server_address: str, triton: Triton):
    """A thousand hints, ten alternatives, a minute and a half of speech without a pause in the sending."""
    speech = np.concatenate(recorded_utterances() * 2)
    hints = vivavoce.PhraseHints(tuple(f"the number {number} bus" for number in range(1000)))

    async def send_file() -> list[vivavoce.Event]:
        async with vivavoce.connect(server_address) as client:
            conversation = client.converse(
                np.split(speech, range(16_000, len(speech), 16_000)),
                audio=vivavoce.AudioFormat(vivavoce.Encoding.LINEAR_PCM, 16_000),
                phrase_hints=[hints],
                max_alternatives=10,
            )
            return [event async for event in conversation]

    file = asyncio.create_task(send_file())
    events = await speak(server_address)
    assert not file.done()
    (reply,) = (event for event in events if isinstance(event, vivavoce.Reply))
    assert reply.status is vivavoce.ReplyStatus.COMPLETE
    finals = [event for event in await file if isinstance(event, vivavoce.Transcript) and event.is_final]
    assert sum(len(final.text.split()) for final in finals) > 100
    await until_no_sequence_is_open(triton)


async def test_shared_memory_does_not_grow_with_what_is_said(server_address: str, triton: Triton):
    """Triton would run out of it some day (triton-inference-server/server#7481)."""
    chosen = [(utterance, vivavoce.read_audio(utterance.path)) for utterance in utterances()[:8]]

    async def say_all() -> None:
        async with vivavoce.connect(server_address) as client, asyncio.TaskGroup() as speaking:
            for utterance, recording in chosen:
                documents = utterance.documents()
                conversation = client.converse(recording.chunks(), audio=recording.format, documents=documents)
                speaking.create_task(_to_the_end(conversation))

    await say_all()
    before = triton.shared_memory_bytes()
    for _ in range(ROUNDS):
        await say_all()
    # What was sent to the recognizer since is several times as long; regions grow by a megabyte at a time.
    sent = ROUNDS * sum(4 * 16_000 * recording.duration_seconds for _, recording in chosen)
    assert triton.shared_memory_bytes() - before <= 1 << 20 < sent / 4


async def _to_the_end(conversation: vivavoce.Conversation) -> None:
    async for _ in conversation:
        pass


async def test_triton_hears_of_no_cancellation(triton: Triton):
    """It may not survive one: what nobody waits for is answered, and the answer left aside."""
    client, statistics = TritonClient(triton.address), triton_client.InferenceServerClient(triton.address)
    intents = TritonIntents(client)

    async def answered() -> int:
        """Returns how many requests the intent model has answered."""
        (model,) = (await statistics.get_inference_statistics("intent_slot")).model_stats
        return int(model.inference_stats.success.count)

    async def settled() -> int:
        """Triton counts a request a moment after it has answered it."""
        await asyncio.sleep(0.5)
        return await answered()

    try:
        # The first request also asks for the engine's phrase hints.
        await intents.predict("turn on the lamp")
        before = await settled()
        calls = []
        for number in range(CROWD):
            calls.append(asyncio.create_task(intents.predict(f"turn on lamp {number}")))
            await asyncio.sleep(number / 5000)
            calls[-1].cancel()
        assert len(await asyncio.gather(*calls, return_exceptions=True)) == CROWD
        await client.close()
        # Triton counts a request a moment after it has answered it.
        async with asyncio.timeout(10):
            while await answered() < before + CROWD:
                await asyncio.sleep(0.05)
        assert await answered() == before + CROWD
    finally:
        await statistics.close()


async def test_triton_does_not_compute_what_nobody_waits_for_any_more(triton: Triton):
    """The deadline reaches the network behind the ensemble: what comes to its turn too late is not computed."""
    client = TritonClient(triton.address)
    answers = TritonAnswers(client)
    document = LIGHTS.parent.parent.joinpath("documents", "apollo_11.txt").read_text()

    async def ask(within_seconds: float) -> tuple[list[object], float]:
        """Asks many questions at once; returns what came of each, and for how long the network computed."""
        before = (await client.busy_seconds())["qa_bert"]
        due = asyncio.get_running_loop().time() + within_seconds
        calls = [answers.find(f"Who was number {number}?", document, due) for number in range(CROWD)]
        found = await asyncio.gather(*calls, return_exceptions=True)
        return found, (await client.busy_seconds())["qa_bert"] - before

    try:
        in_time, computed = await ask(PATIENT_SECONDS)
        assert all(isinstance(answer, AnswerSpan) for answer in in_time)
        too_late, spared = await ask(0.0)
        assert all(isinstance(error, ModelUnavailableError) for error in too_late)
        assert spared < computed / 2
    finally:
        await client.close()
