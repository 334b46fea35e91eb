"""Speakers over each door, with fake models, and what an agent is told of them."""

from __future__ import annotations

import asyncio
import copy
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from pipelines.data.messages import Transcript
from pipelines.data.predictions import IntentPrediction
from pipelines.data.recognition import Speaker, TimedWord
from pipelines.dialog.sessions import DialogSessions
from pipelines.errors import InvalidInputError
from pipelines.models.speaker_port import SpeakerEmbeddings
from pipelines.speakers import enrolled
from pipelines.speakers.clustering import MAX_SPEAKERS
from pipelines.speakers.enrolled import DIMENSIONS, EnrolmentError
from service.admission.admission import Admission
from service.api.http.openai.transcripts import segments_of
from service.api.riva.asr.results import ResultWriter
from service.api.riva.asr.settings import to_settings
from service.api.riva.asr.voice import ObservedVoice
from service.api.vivavoce.conversation_stream import hold_conversation
from service.api.vivavoce.web_messages import to_json
from service.sessions.dialogs import Dialogs
from service.sessions.host import SessionHost
from service.speakers import Speakers
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.pipelines.fakes import INSTANT, FakeModels
from tests.unit.service.harness import SPEECH, FakeVoice
from tests.unit.service.http.running import Openai
from tests.unit.service.http.test_transcriptions import THREE_SECONDS
from tests.unit.service.riva.calls import recognition
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence
    from pathlib import Path

DIARIZED = pb.ConversationConfig(
    audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000),
    diarization=pb.DiarizationConfig(),
)
VOICE = np.eye(1, DIMENSIONS, 3, np.float32)


class OneVoice(FakeModels):
    """Hears one voice in all sound, and an order in all words."""

    def __init__(self) -> None:
        super().__init__(0.001, 0.001, 0.001)

    async def embed(self, windows: Sequence[np.ndarray], due: float | None = None) -> SpeakerEmbeddings:
        return SpeakerEmbeddings(np.repeat(VOICE, len(windows), 0), INSTANT)

    async def predict(self, text: str, due: float | None = None) -> IntentPrediction:
        return IntentPrediction("person", 0.9, (), INSTANT)


def host_of(speakers: Speakers, form: dict[str, Any] = BAR) -> SessionHost:
    admission = Admission(8)
    admission.open()
    dialogs = Dialogs({"bar": agent_of(form)}, DialogSessions(), hears_speakers=speakers.tells_names)
    return SessionHost(OneVoice(), FakeVoice(), admission, dialogs=dialogs, speakers=speakers)


async def held(host: SessionHost, config: pb.ConversationConfig, *said: pb.ConverseRequest) -> list[Any]:
    came: list[pb.ConverseResponse] = []

    async def requests() -> AsyncIterator[pb.ConverseRequest]:
        yield pb.ConverseRequest(config=config)
        for request in said:
            yield request

    async def write(response: pb.ConverseResponse) -> None:
        came.append(response)

    async with asyncio.timeout(10):
        await hold_conversation(host, requests(), write)
    return came


SPOKEN = [pb.ConverseRequest(audio=SPEECH)] * 20


async def test_transcripts_and_replies_tell_who_speaks_as_protobuf_and_json():
    came = await held(host_of(Speakers(is_served=True)), DIARIZED, *SPOKEN, pb.ConverseRequest(text="typed"))
    (final,) = [one.transcript for one in came if one.transcript.is_final]
    (span,) = final.speakers
    assert span.speaker.tag == 1
    assert final.start.ToSeconds() <= span.start.ToSeconds() < span.end.ToNanoseconds() / 1e9
    spoken, typed = sorted([one.reply for one in came if one.HasField("reply")], key=lambda reply: reply.turn)[:2]
    replies = {reply.transcript: reply for reply in (spoken, typed)}
    assert not replies.pop("typed").HasField("speaker")
    assert json.loads(to_json(next(iter(replies.values()))))["speaker"] == {"tag": 1}


@pytest.mark.parametrize(
    ("speakers", "count", "reason", "field"),
    [
        (Speakers(), 2, "NO_SPEAKER_DIARIZATION", "config.diarization"),
        (Speakers(is_served=True), -1, "SPEAKER_COUNT_OUT_OF_RANGE", "config.diarization.max_speakers"),
        (Speakers(is_served=True), 40, "SPEAKER_COUNT_OUT_OF_RANGE", "config.diarization.max_speakers"),
    ],
)
async def test_what_cannot_be_told_apart_is_refused(speakers: Speakers, count: int, reason: str, field: str):
    config = pb.ConversationConfig(diarization=pb.DiarizationConfig(max_speakers=count))
    with pytest.raises(InvalidInputError) as raised:
        await held(host_of(speakers), config)
    assert (raised.value.reason, raised.value.field) == (reason, field)
    assert str(MAX_SPEAKERS) in str(raised.value) or "--diarization" in str(raised.value)


async def test_openais_client_reads_segments_of_speakers():
    async with (
        Openai.running(models=OneVoice(), speakers=Speakers(is_served=True)) as service,
        service.client as client,
    ):
        create = client.audio.transcriptions.create
        asked = {"file": ("a.wav", THREE_SECONDS), "model": "gpt-4o-transcribe-diarize"}
        found = await create(**asked, response_format="diarized_json")
        (segment,) = found.segments
        assert (found.text, segment.speaker, segment.text) == ("w0 w1 w2", "A", "w0 w1 w2")
        assert 0 <= segment.start < segment.end <= found.duration
        events = [event async for event in await create(**asked, response_format="diarized_json", stream=True)]
        assert [event.type for event in events] == [f"transcript.text.{kind}" for kind in ("delta", "segment", "done")]
        assert (await create(**asked)).text == "w0 w1 w2"


def test_segments_go_from_speaker_to_speaker():
    ann, other, last = Speaker(1, "ann"), Speaker(2), Speaker(28)
    words = [("so", ann), ("yes", ann), ("no", other), ("well", last), ("what", None)]
    timed = tuple(TimedWord(text, 16_000 * at, 16_000 * (at + 1), speaker=who) for at, (text, who) in enumerate(words))
    found = segments_of(Transcript(1, "", is_final=True, start=0, end=0, words=timed), 4)
    assert [(one["id"], one["speaker"], one["text"]) for one in found] == [
        ("seg_004", "ann", "so yes"),
        ("seg_005", "B", "no"),
        ("seg_006", "AB", "well"),
        ("seg_007", "unknown", "what"),
    ]
    assert (found[0]["start"], found[0]["end"]) == (0.0, 2.0)


async def test_rivas_words_have_the_tag_of_their_speaker():
    asked = recognition(diarization_config={"enable_speaker_diarization": True, "max_speaker_count": 3})
    settings = to_settings(asked, "config", host_of(Speakers(is_served=True)), interim_results=False)
    assert settings.diarization is not None
    assert (settings.diarization.max_speakers, settings.recognition.word_times) == (3, True)
    writer = ResultWriter(settings, ObservedVoice(FakeVoice().new_stream()), channel=1)
    words = (TimedWord("yes", 0, 99, speaker=Speaker(1)), TimedWord("no", 100, 200, speaker=Speaker(2)))
    told = await writer.streaming(Transcript(1, "yes no", is_final=True, start=0, end=200, words=words))
    assert [word.speaker_tag for word in told.alternatives[0].words] == [1, 2]


LOCK: dict[str, Any] = copy.deepcopy(BAR) | {
    "parameters": {"speaker": ""},
    "intents": {
        "person": {
            "fulfilment": "unlock",
            "fulfil_when": {"speaker": "ann"},
            "response": [{"when": {"speaker": "ann"}, "say": "Open, {speaker}."}, {"say": "For Ann alone."}],
        }
    },
}


@pytest.fixture
def voices(tmp_path: Path) -> Path:
    enrolled.enrol(tmp_path / "voices", "ann", VOICE, 10.0)
    return tmp_path / "voices"


async def unlocked(host: SessionHost, *said: pb.ConverseRequest, **parameters: str) -> list[tuple[str, int]]:
    """What the agent says to each turn, and how many fulfilments come of it."""
    config = pb.ConversationConfig(agent="bar", session=pb.SessionConfig(parameters=parameters), audio=DIARIZED.audio)
    replies = [one.reply for one in await held(host, config, *said) if one.HasField("reply")]
    return [(reply.speech_text, len(reply.dialog.fulfilments)) for reply in replies]


TYPED = pb.ConverseRequest(text="open the door")
OPEN, CLOSED = ("Open, ann.", 1), ("For Ann alone.", 0)


async def test_only_the_enrolled_voice_unlocks(voices: Path):
    host = host_of(Speakers(folder=voices), LOCK)
    assert await unlocked(host, *SPOKEN) == [OPEN]
    # Neither a typed turn nor what the caller says of himself has a voice.
    assert await unlocked(host, TYPED, speaker="ann") == [CLOSED]
    update = pb.ConverseRequest(
        update=pb.ConversationUpdate(session=pb.SessionParameters(parameters={"speaker": "ann"}))
    )
    assert await unlocked(host, update, TYPED) == [CLOSED]
    # A voice is forgotten with the next conversation.
    enrolled.delete(voices, "ann")
    assert await unlocked(host, *SPOKEN) == [CLOSED]


async def test_where_no_voice_is_enrolled_the_parameter_is_the_callers(voices: Path):
    assert await unlocked(host_of(Speakers(is_served=True), LOCK), *SPOKEN, speaker="ann") == [OPEN]


def test_a_folder_that_cannot_be_read_is_told_at_the_start_and_later_costs_the_names_alone(
    voices: Path, caplog: pytest.LogCaptureFixture
):
    speakers = Speakers(folder=voices)
    assert speakers.diarization(0, "", "").enrolled.names == ("ann",)
    (voices / "bob.voice.json").write_text("{}")
    assert speakers.diarization(0, "", "").enrolled.names == ()
    assert "bob.voice.json" in caplog.text
    with pytest.raises(EnrolmentError):
        Speakers(folder=voices)
