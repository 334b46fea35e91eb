"""What is told before an utterance is over, on a clock that jumps: audio comes when it is spoken."""

from __future__ import annotations

import asyncio

import pytest

from service.api.riva.proto import riva_asr_pb2 as pb
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.service.riva.calls import config, speaking
from tests.unit.service.riva.without_sockets import Requests, held

TWO_PASSES = pb.EndpointingConfig(stop_history=1_600, stop_history_eou=240)
PAUSES = ((1.5, 1.0), (2.0, 0.0), (0.1, 0.0))


def told(
    first: pb.StreamingRecognizeRequest,
    seconds: float,
    *script: tuple[float, float],
    models: FakeModels | None = None,
) -> list:
    """Speaks for so long and returns all results; the voice hears what ``script`` says."""

    async def requests() -> Requests:
        yield first
        for request in speaking(seconds):
            yield request
            await asyncio.sleep(0.1)

    call, _ = held(requests, *script, models=models)
    return [result for _, response in call.written for result in response.results]


def test_interim_results_come_only_if_they_are_wanted():
    *partials, final = told(config(interim_results=True), 3, (3.0, 1.0))
    assert final.is_final
    assert len(partials) > 1
    assert not any(result.is_final for result in partials)
    assert all(result.alternatives[0].transcript.startswith("w0") for result in partials)
    assert all(0 <= result.stability <= 1 for result in partials)
    (only,) = told(config(), 3, (3.0, 1.0))
    assert only.is_final


def test_an_interim_result_tells_how_far_its_words_reach():
    *partials, final = told(config(interim_results=True), 3, (3.0, 1.0))
    reached = [result.audio_processed for result in partials]
    assert reached == sorted(set(reached))
    assert 0 < reached[0] < reached[-1] <= final.audio_processed


def test_the_first_pass_tells_a_stable_transcript_before_the_utterance_ends():
    results = told(config(interim_results=True, endpointing_config=TWO_PASSES), 3.5, *PAUSES)
    (stable,) = [result for result in results if result.stability == 1]
    assert not stable.is_final
    assert results.index(stable) == len(results) - 2
    assert stable.alternatives[0].transcript == results[-1].alternatives[0].transcript.rstrip()
    assert stable.audio_processed < results[-1].audio_processed


@pytest.mark.parametrize("first_pass_ms", [320, 400])
def test_a_first_pass_that_would_not_come_first_is_left_out(first_pass_ms: int):
    endpointing = pb.EndpointingConfig(stop_history=320, stop_history_eou=first_pass_ms)
    results = told(config(interim_results=True, endpointing_config=endpointing), 3.5, *PAUSES)
    assert [result.is_final for result in results].count(True) == 1
    assert all(result.stability < 1 for result in results)


def test_a_judged_pause_is_an_interim_result_as_stable_as_the_end_is_probable():
    *partials, final = told(config(interim_results=True), 3.5, *PAUSES)
    assert partials[-1].alternatives[0].transcript == final.alternatives[0].transcript.rstrip()
    assert partials[-1].stability == pytest.approx(0.99), "the same words as before"
    assert not any(result.stability == 1 for result in partials)


@pytest.mark.parametrize(
    ("probability", "endpointing", "seconds"),
    [
        (0.99, None, 0.32),
        (0.01, None, 0.608),
        (0.99, pb.EndpointingConfig(stop_history=608), 0.608),
        (0.99, pb.EndpointingConfig(stop_threshold=0.95), 0.608),
        (0.99, pb.EndpointingConfig(start_history=200), 0.32),
    ],
)
def test_no_utterance_ends_later_than_by_silence_and_only_what_was_not_chosen_ends_sooner(
    probability: float, endpointing: pb.EndpointingConfig | None, seconds: float
):
    models = FakeModels(judgements=[probability])
    results = told(config(endpointing_config=endpointing), 3.5, *PAUSES, models=models)
    (final,) = (result for result in results if result.is_final)
    assert final.audio_processed <= 1.5 + seconds + 0.1
    assert final.audio_processed >= 1.5 + 0.19
    assert (final.audio_processed > 2.0) == (seconds > 0.5)
    assert bool(models.judged) == (endpointing is None or endpointing.HasField("start_history"))
