"""``StreamingRecognize`` through a real socket; the recognizer behind it says one word a second."""

import io

import numpy as np
import pytest
import soundfile

from pipelines.data.recognition import PhraseHint
from service.api.riva.proto import riva_asr_pb2 as pb
from service.api.riva.proto import riva_audio_pb2
from service.api.riva.proto.riva_common_pb2 import RequestId
from tests.unit.pipelines.fakes import ScriptedVoice
from tests.unit.service.harness import SPEECH, Harness
from tests.unit.service.riva.calls import audio, config, finals, speaking, speech, stream


def script(harness: Harness, *parts: tuple[float, float]) -> None:
    """Lets every stream hear speech and silence as ``parts`` say, pairs of seconds and probability."""
    harness.voice.new_stream = lambda: ScriptedVoice(*parts)


async def test_an_utterance_becomes_one_final_result(harness: Harness):
    (response,) = await stream(harness, [config(), *speaking(2)])
    (result,) = response.results
    assert result.is_final
    assert [alternative.transcript for alternative in result.alternatives] == ["w0 w1 w2 "]
    assert list(result.alternatives[0].language_code) == ["en-US"]
    assert result.channel_tag == 1
    assert result.audio_processed == pytest.approx(2.0, abs=0.032)
    assert not result.HasField("pipeline_states")


async def test_nothing_is_understood_or_answered(harness: Harness):
    await stream(harness, [config(), *speaking(2)])
    assert harness.models.understood == []


async def test_silence_ends_an_utterance_and_speech_begins_the_next(harness: Harness):
    script(harness, (1.5, 1.0), (1.0, 0.0), (1.5, 1.0), (1.0, 0.0), (0.1, 0.0))
    assert len(finals(await stream(harness, [config(), *speaking(5)]))) == 2


async def test_an_end_of_utterance_can_be_forced(harness: Harness):
    came = await stream(
        harness,
        [config(), *speaking(1), audio(SPEECH, force_eou="true"), *speaking(1), audio(SPEECH, force_eou="false")],
    )
    assert len(finals(came)) == 2


async def test_an_end_can_be_forced_without_audio(harness: Harness):
    end = pb.StreamingRecognizeRequest(runtime_config={"force_eou": "true"})
    came = await stream(harness, [config(), *speaking(1), end, *speaking(1), audio(b"", force_eou="true")])
    assert len(finals(came)) == 2


@pytest.mark.parametrize("punctuation", [True, False])
async def test_marks_alone_are_no_result(harness: Harness, punctuation: bool):
    harness.models.words = "..."
    wanted = config(interim_results=True, enable_automatic_punctuation=punctuation)
    assert await stream(harness, [wanted, *speaking(2)]) == []


async def test_as_many_transcripts_are_told_as_are_wanted(harness: Harness):
    (response,) = await stream(harness, [config(max_alternatives=3), *speaking(1)])
    told = response.results[0].alternatives
    assert [alternative.transcript for alternative in told] == ["w0 w1 ", "w0 w1 or 1 ", "w0 w1 or 2 "]
    assert [alternative.confidence for alternative in told] == pytest.approx([0.5, 0.25, 0.125])
    (response,) = await stream(harness, [config(max_alternatives=99), *speaking(1)])
    assert len(response.results[0].alternatives) == 10
    (response,) = await stream(harness, [config(max_alternatives=1), *speaking(1)])
    assert [alternative.confidence for alternative in response.results[0].alternatives] == [0.0]


async def test_what_is_likely_to_be_said_is_told_to_the_recognizer(harness: Harness):
    contexts = [{"phrases": ["Tromsø", "pier four"], "boost": 20.0}, {"phrases": ["ferry"]}]
    await stream(harness, [config(speech_contexts=contexts), *speaking(1)])
    assert harness.models.sequences[0].options.hints == (
        PhraseHint("Tromsø", 20.0),
        PhraseHint("pier four", 20.0),
        PhraseHint("ferry", None),
    )


async def test_the_request_id_comes_back_with_every_response(harness: Harness):
    first = config(interim_results=True)
    first.id.CopyFrom(RequestId(value="mine"))
    came = await stream(harness, [first, *speaking(2)])
    assert {response.id.value for response in came} == {"mine"}
    assert not (await stream(harness, [config(), *speaking(1)]))[0].HasField("id")


async def test_without_punctuation_transcripts_are_in_lower_case(harness: Harness):
    harness.models.words = "Well, it's Bob's."
    assert finals(await stream(harness, [config(), *speaking(1)])) == ["Well, it's Bob's."]
    plain = config(enable_automatic_punctuation=False)
    assert finals(await stream(harness, [plain, *speaking(1)])) == ["well it's bob's"]


async def test_final_transcripts_are_in_figures_unless_verbatim_ones_are_wanted(harness: Harness):
    harness.models.words = "It costs twenty three dollars."
    came = await stream(harness, [config(verbatim_transcripts=False, interim_results=True), *speaking(2)])
    assert finals(came) == ["It costs $23."]
    assert came[0].results[0].alternatives[0].transcript == "It costs"
    assert came[-2].results[0].alternatives[0].transcript.rstrip(".") == harness.models.words.rstrip(".")
    options = {"apply_partial_itn": "true"}
    eager = config(verbatim_transcripts=False, interim_results=True, custom_configuration=options)
    came = await stream(harness, [eager, *speaking(2)])
    assert came[-2].results[0].alternatives[0].transcript.rstrip(".") == "It costs $23"
    assert finals(await stream(harness, [config(), *speaking(1)])) == [harness.models.words]


async def test_profanity_is_masked_if_that_is_wanted(harness: Harness):
    harness.models.words = "What the fuck?"
    assert finals(await stream(harness, [config(profanity_filter=True), *speaking(1)])) == ["What the f***?"]
    assert finals(await stream(harness, [config(), *speaking(1)])) == ["What the fuck?"]


async def test_each_channel_is_recognized_by_itself_if_that_is_wanted(harness: Harness):
    stereo = audio(np.zeros(3200, "<i2").tobytes())
    both = config(audio_channel_count=2, enable_separate_recognition_per_channel=True)
    came = await stream(harness, [both, *[stereo] * 20])
    assert sorted(result.channel_tag for response in came for result in response.results) == [1, 2]
    assert finals(came) == ["w0 w1 w2", "w0 w1 w2"]
    assert len(harness.models.sequences) == 2
    first_alone = await stream(harness, [config(audio_channel_count=2), *[stereo] * 20])
    assert finals(first_alone) == ["w0 w1 w2"]


async def test_voice_activity_is_told_if_that_is_wanted(harness: Harness):
    script(harness, (0.96, 0.01), (0.64, 0.9), (1.0, 0.02))
    options = {"get_vad_probabilities": "true"}
    came = await stream(harness, [config(custom_configuration=options), *speaking(3.2)])
    told = [
        probability
        for response in came
        for result in response.results
        for probability in result.pipeline_states.vad_probabilities
    ]
    assert told == pytest.approx([0.01] * 30 + [0.9] * 20 + [0.02] * 50)


async def test_voice_activity_is_told_of_every_window_of_a_long_message(harness: Harness):
    script(harness, (20.0, 0.01), (20.0, 0.02))
    options = {"get_vad_probabilities": "true"}
    came = await stream(harness, [config(custom_configuration=options), audio(bytes(2 * 16_000 * 40))])
    told = [list(result.pipeline_states.vad_probabilities) for response in came for result in response.results]
    assert [probability for part in told for probability in part] == pytest.approx([0.01] * 625 + [0.02] * 625)
    assert max(map(len, told)) < 1_100


async def test_the_thresholds_of_voice_activity_can_be_chosen(harness: Harness):
    script(harness, (1.5, 0.6), (1.0, 0.0))
    strict = config(custom_configuration={"neural_vad.onset": "0.8"})
    assert finals(await stream(harness, [strict, *speaking(2.4)])) == []
    assert len(finals(await stream(harness, [config(), *speaking(2.4)]))) == 1


def recording(container: str, subtype: str, rate: int = 16_000, channels: int = 1) -> bytes:
    buffer = io.BytesIO()
    soundfile.write(buffer, np.zeros((rate * 2, channels), np.float32), rate, format=container, subtype=subtype)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("encoding", "rate", "data"),
    [
        (riva_audio_pb2.LINEAR_PCM, 16_000, recording("RAW", "PCM_16")),
        (riva_audio_pb2.LINEAR_PCM, 8_000, recording("RAW", "PCM_16", 8_000)),
        (riva_audio_pb2.LINEAR_PCM, 44_100, recording("WAV", "PCM_16", 44_100)),
        (riva_audio_pb2.LINEAR_PCM, 0, recording("WAV", "PCM_16", 48_000)),
        (riva_audio_pb2.MULAW, 8_000, recording("RAW", "ULAW", 8_000)),
        (riva_audio_pb2.ALAW, 8_000, recording("RAW", "ALAW", 8_000)),
        (riva_audio_pb2.FLAC, 0, recording("FLAC", "PCM_16", 22_050)),
        (riva_audio_pb2.OGGOPUS, 0, recording("OGG", "OPUS", 48_000)),
        (riva_audio_pb2.ENCODING_UNSPECIFIED, 0, recording("WAV", "PCM_16")),
        (riva_audio_pb2.ENCODING_UNSPECIFIED, 0, recording("WAV", "ULAW", 8_000)),
        (riva_audio_pb2.ENCODING_UNSPECIFIED, 0, recording("WAV", "PCM_16", 16_000, channels=2)),
        (riva_audio_pb2.ENCODING_UNSPECIFIED, 0, recording("FLAC", "PCM_16")),
        (riva_audio_pb2.ENCODING_UNSPECIFIED, 0, recording("OGG", "OPUS", 48_000)),
        (riva_audio_pb2.ENCODING_UNSPECIFIED, 16_000, recording("RAW", "PCM_16")),
    ],
)
async def test_audio_is_understood_whether_or_not_its_encoding_is_named(
    harness: Harness, encoding: int, rate: int, data: bytes
):
    chunks = [audio(data[start : start + 3200]) for start in range(0, len(data), 3200)]
    assert finals(await stream(harness, [config(encoding=encoding, sample_rate_hertz=rate), *chunks])) == ["w0 w1 w2"]


async def test_the_config_of_recognition_tells_the_model_and_its_uses(harness: Harness):
    answer = await speech(harness).GetRivaSpeechRecognitionConfig(pb.RivaSpeechRecognitionConfigRequest())
    assert [(model.model_name, model.parameters["type"]) for model in answer.model_config] == [
        ("asr", "online"),
        ("asr", "offline"),
    ]
    assert {model.parameters["language_code"] for model in answer.model_config} == {"en-US"}
