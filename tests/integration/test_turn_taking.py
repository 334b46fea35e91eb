"""Turn-taking with the real models: who thinks is waited for, who has finished is answered soon."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import vivavoce
from demo.manifest import utterances

if TYPE_CHECKING:
    import numpy.typing as npt

RATE_HZ = 16_000
ROOM = 1e-4
"""Amplitude of the noise in pauses, much as in the recordings."""

PATIENT_SECONDS = 30.0
"""A budget that a busy machine keeps too: these tests are about what is said of turns, not about replies."""

BY_NAME = {utterance.path.stem: utterance.path for utterance in utterances()}
WAITING = vivavoce.Endpointing(
    mode=vivavoce.EndpointingMode.MODEL,
    patience=vivavoce.Patience.PATIENT,
    # A machine that is so busy that no judgement comes in time must not cut the turn.
    stop_window_seconds=2.0,
)
SILENCE = vivavoce.Endpointing(mode=vivavoce.EndpointingMode.SILENCE)


def recorded(name: str) -> npt.NDArray[np.float32]:
    recording = vivavoce.read_audio(BY_NAME[name])
    assert recording.sample_rate_hz == RATE_HZ
    return np.concatenate([chunk.reshape(-1) for chunk in recording.chunks()])


def room(seconds: float) -> npt.NDArray[np.float32]:
    noise = np.random.default_rng(7).standard_normal(round(seconds * RATE_HZ))
    return (ROOM * noise).astype(np.float32)


def hesitating() -> npt.NDArray[np.float32]:
    """ "Turn off the lights in …", a second of thinking, "… the bedroom please"."""
    samples = recorded("lights")
    cut = round(1.72 * RATE_HZ)
    return np.concatenate([samples[:cut], room(1.0), samples[cut:], room(1.2)])


async def hold(
    address: str, samples: npt.NDArray[np.float32], endpointing: vivavoce.Endpointing | None, *, is_live: bool = True
) -> list[vivavoce.Event]:
    chunks = [samples[at : at + RATE_HZ // 10] for at in range(0, len(samples), RATE_HZ // 10)]
    async with vivavoce.connect(address) as client:
        conversation = client.converse(
            vivavoce.pace(chunks, RATE_HZ) if is_live else chunks,
            audio=vivavoce.AudioFormat(sample_rate_hz=RATE_HZ),
            endpointing=endpointing,
            reply_budget_seconds=PATIENT_SECONDS,
        )
        return [event async for event in conversation]


def of(kind: type, events: list[vivavoce.Event]) -> list:
    return [event for event in events if isinstance(event, kind)]


def check_pauses(events: list[vivavoce.Event]) -> None:
    """The final text is that of the last pause that was told, unless speech was said to have resumed."""
    paused: dict[int, str] = {}
    for event in events:
        match event:
            case vivavoce.SpeechPaused():
                paused[event.turn] = event.text
            case vivavoce.SpeechResumed():
                del paused[event.turn]
            case vivavoce.Transcript(is_final=True):
                assert paused.get(event.turn, event.text) == event.text


@pytest.mark.parametrize("is_live", [True, False])
async def test_who_thinks_for_a_second_in_mid_sentence_is_one_turn(server_address: str, is_live: bool):
    events = await hold(server_address, hesitating(), WAITING, is_live=is_live)
    (reply,) = of(vivavoce.Reply, events)
    words = reply.transcript.lower()
    assert words.startswith("turn off the lights")
    assert "bedroom" in words
    assert len(of(vivavoce.SpeechResumed, events)) == 1
    first = of(vivavoce.SpeechPaused, events)[0]
    assert first.probability < 0.3
    assert "bedroom" not in first.text
    check_pauses(events)


async def test_the_silence_rule_takes_the_same_for_two_turns(server_address: str):
    events = await hold(server_address, hesitating(), SILENCE)
    assert len(of(vivavoce.Reply, events)) == 2
    assert of(vivavoce.SpeechPaused, events) == []


async def test_a_complete_command_is_over_long_before_the_silence_rule_would_end_it(server_address: str):
    silences = []
    # On a machine that does much else a judgement may come too late for any of them.
    for name in ("lights", "alarm", "moon_landing") * 4:
        events = await hold(server_address, np.concatenate([recorded(name), room(1.0)]), None)
        (ended,) = of(vivavoce.SpeechEnded, events)
        check_pauses(events)
        silences.append(ended.silence_seconds)
        if silences[-1] < 0.45:
            return
    pytest.fail(f"no command ended in time: {silences}")


async def test_documents_change_in_mid_stream(server_address: str):
    question = "When was the museum built?"
    document = vivavoce.Document("The museum was built in 1874 by the harbour.", "museum")
    said = [
        vivavoce.TypedTurn(question),
        vivavoce.ConversationUpdate(documents=(document,)),
        vivavoce.TypedTurn(question),
        vivavoce.ConversationUpdate(documents=()),
        vivavoce.TypedTurn(question),
    ]
    async with vivavoce.connect(server_address) as client:
        events = [event async for event in client.converse(said, audio=None, reply_budget_seconds=PATIENT_SECONDS)]
    answers = [reply.answer for reply in of(vivavoce.Reply, events)]
    assert [answer and answer.document_id for answer in answers] == [None, "museum", None]


async def test_an_update_that_cannot_be_served_ends_the_conversation_and_names_its_field(server_address: str):
    said = [vivavoce.ConversationUpdate(vivavoce.Endpointing(longest_silence_seconds=60))]
    with pytest.raises(vivavoce.InvalidRequest) as refused:
        async with vivavoce.connect(server_address) as client:
            async for _ in client.converse(said, audio=None):
                pass
    assert refused.value.field == "update.endpointing.longest_silence"


async def test_endpointing_finds_the_end_by_itself_and_the_reply_was_worked_out_before(server_address: str):
    question = next(utterance for utterance in utterances() if utterance.kind == "question")
    recording = vivavoce.read_audio(question.path)
    speech = vivavoce.pace(recording.chunks(), recording.sample_rate_hz)
    async with vivavoce.connect(server_address) as client:
        events = [
            event
            async for event in client.converse(
                speech, audio=recording.format, documents=question.documents(), interim_results=True
            )
        ]
    kinds = [type(event) for event in events]
    assert kinds[:2] == [vivavoce.Started, vivavoce.SpeechBegan]
    (ended,) = of(vivavoce.SpeechEnded, events)
    assert ended.reason is vivavoce.EndReason.SILENCE
    partials = [event for event in of(vivavoce.Transcript, events) if not event.is_final]
    assert len(partials) >= 2
    (reply,) = of(vivavoce.Reply, events)
    assert reply.turn == 1
    assert {stage.stage.name for stage in reply.latency.stages} == {"ASR", "NLU", "QA"}
