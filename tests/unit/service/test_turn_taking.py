"""Turn-taking over ``vivavoce.v1``: what decides, what is told of pauses, and what changes in mid-stream."""

from __future__ import annotations

import pytest

from pipelines.data.messages import EndReason, SpeechEnded, SpeechPaused, SpeechResumed
from pipelines.vad.turn_end import EndpointingMode, Patience
from service.api.vivavoce.converters import to_response
from service.api.vivavoce.endpointing import to_endpointing
from tests.unit.service.harness import FakeVoice, Harness, speaking
from vivavoce.v1 import conversation_pb2 as pb

MODEL, SILENCE = EndpointingMode.MODEL, EndpointingMode.SILENCE
PCM = pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000)


@pytest.mark.parametrize(
    ("chosen", "mode"),
    [
        ({}, MODEL),
        ({"start_window": {"seconds": 1}}, MODEL),
        ({"stop_window": {"seconds": 1}}, SILENCE),
        ({"stop_threshold": 0.05}, SILENCE),
        ({"stop_window": {"seconds": 1}, "patience": pb.PATIENCE_EAGER}, MODEL),
        ({"stop_window": {"seconds": 1}, "mode": pb.ENDPOINTING_MODE_MODEL}, MODEL),
        ({"mode": pb.ENDPOINTING_MODE_SILENCE}, SILENCE),
    ],
)
def test_who_chooses_only_the_silence_gets_the_silence_rule(chosen: dict[str, object], mode: EndpointingMode) -> None:
    assert to_endpointing(pb.EndpointingConfig(**chosen)).mode is mode


def test_patience_and_bounds_are_read() -> None:
    config = to_endpointing(
        pb.EndpointingConfig(
            patience=pb.PATIENCE_PATIENT,
            shortest_silence={"nanos": 300_000_000},
            longest_silence={"seconds": 2},
        )
    )
    assert (config.patience, config.shortest_silence_seconds, config.longest_silence_seconds) == (
        Patience.PATIENT,
        0.3,
        2.0,
    )


def test_pauses_are_written_with_their_places_in_the_audio() -> None:
    paused = to_response(SpeechPaused(2, "what is", 0.25, 16_000, 32_000, 4_000), 0.0).speech_paused
    assert (paused.turn, paused.text, paused.probability) == (2, "what is", 0.25)
    assert [each.ToMilliseconds() for each in (paused.start, paused.end, paused.silence)] == [1_000, 2_000, 250]
    resumed = to_response(SpeechResumed(2, 40_000), 0.0).speech_resumed
    assert (resumed.turn, resumed.start.ToMilliseconds()) == (2, 2_500)


def test_the_silence_that_ended_an_utterance_is_told() -> None:
    ended = to_response(SpeechEnded(1, 16_000, EndReason.SILENCE, silence=4_000), 0.0).speech_ended
    assert ended.silence.ToMilliseconds() == 250
    requested = to_response(SpeechEnded(1, 16_000, EndReason.REQUESTED), 0.0).speech_ended
    assert not requested.HasField("silence")


class Falling(FakeVoice):
    """Hears speech for a second and then silence, over and over."""

    def new_stream(self) -> Falling:
        self.heard = 0
        return self

    def probabilities(self, windows: object) -> list[float]:
        count = len(windows)  # type: ignore[arg-type]
        self.heard += count
        return [float((self.heard - count + window) % 62 < 31) for window in range(count)]


async def test_a_conversation_is_told_of_pauses_and_can_be_changed() -> None:
    async with Harness.running() as harness:
        harness.models.judgements = [0.02]
        harness.voice.__class__ = Falling
        requests = [
            pb.ConverseRequest(config=pb.ConversationConfig(audio=PCM)),
            *speaking(2.2),
            pb.ConverseRequest(update=pb.ConversationUpdate(endpointing={"longest_silence": {"nanos": 320_000_000}})),
            *speaking(1.7),
        ]
        responses = await harness.converse(requests)
    kinds = [response.WhichOneof("response") for response in responses]
    told = [kind for kind in kinds if kind in {"speech_paused", "speech_resumed", "speech_ended"}]
    assert told.count("speech_resumed") == 1, "the first pause is too short to end what the model takes for unfinished"
    assert told.index("speech_paused") < told.index("speech_resumed") < told.index("speech_ended")
    (ended,) = (response.speech_ended for response in responses if response.WhichOneof("response") == "speech_ended")
    assert ended.silence.ToMilliseconds() == 320
