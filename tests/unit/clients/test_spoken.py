"""Spoken replies in the SDK: what is asked for, told, and sent back."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import vivavoce
from tests.unit.clients.fake_service import make_reply, seconds
from vivavoce._look_back import LookBack
from vivavoce.testing import Turn, serving
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    import grpc

TURN = Turn("when does it open", speech_text="It opens at nine.")
VOICE = vivavoce.ReplyVoice(
    vivavoce.AudioFormat(vivavoce.Encoding.MULAW, 8_000), "heart", 1.5, 7, (vivavoce.Pronunciation("nine", alias="9"),)
)


async def events_of(address: str, *turns: str, **chosen: Any) -> list[vivavoce.Event]:
    async with vivavoce.connect(address) as client:
        said = [vivavoce.TypedTurn(text) for text in turns]
        return [event async for event in client.converse(said, **chosen)]


def of(events: list[vivavoce.Event], kind: type) -> list:
    return [event for event in events if isinstance(event, kind)]


async def test_a_reply_is_spoken():
    with serving(TURN) as service:
        events = await events_of(service.address, TURN.transcript, reply_audio=VOICE)
    (reply,) = of(events, vivavoce.Reply)
    assert reply.speech_text == "It opens at nine."
    pieces = of(events, vivavoce.ReplyAudio)
    assert b"".join(piece.audio for piece in pieces) == bytes(4 * 800)
    assert [piece.start_seconds for piece in pieces] == pytest.approx([0.0, 0.1, 0.2, 0.3])
    assert [piece.is_last for piece in pieces] == [False, False, False, True]
    assert 0 <= pieces[0].first_audio_seconds < 5
    assert [piece.first_audio_seconds for piece in pieces[1:]] == [None] * 3


async def test_everything_that_is_asked_is_sent():
    interruption = vivavoce.Interruption(
        shortest_speech_seconds=0.5, ignore_backchannels=True, backchannels=("mhm", "ja")
    )
    with serving(TURN) as service:
        await events_of(service.address, TURN.transcript, reply_audio=VOICE, interruption=interruption)
        await events_of(service.address, TURN.transcript)
        config = service.config()
        plain = service.received[-2].config
    assert config.reply_audio == pb.ReplyAudioConfig(
        encoding=pb.AUDIO_ENCODING_MULAW,
        sample_rate_hz=8_000,
        voice="heart",
        speed=1.5,
        seed=7,
        lexicon=[pb.LexiconEntry(word="nine", alias="9")],
    )
    assert config.interruption == pb.InterruptionConfig(
        shortest_speech=seconds(0.5), ignore_backchannels=True, backchannels=["mhm", "ja"]
    )
    assert not plain.HasField("reply_audio")
    assert not plain.HasField("interruption")


async def test_without_a_voice_the_fake_says_nothing():
    with serving(TURN) as service:
        events = await events_of(service.address, TURN.transcript)
    assert of(events, vivavoce.Reply)[0].speech_text == ""
    assert of(events, vivavoce.ReplyAudio) == []


async def test_an_interruption_is_told():
    turn = Turn("when does it open", speech_text="It opens at nine.", interrupted_after_words=2)
    with serving(turn) as service:
        events = await events_of(service.address, turn.transcript, reply_audio=vivavoce.ReplyVoice())
    assert len(of(events, vivavoce.ReplyAudio)) == 2
    assert of(events, vivavoce.Interrupted) == [
        vivavoce.Interrupted(1, 0.2, "It opens", vivavoce.InterruptionReason.SPEECH)
    ]


@pytest.mark.parametrize(
    ("chosen", "error"),
    [
        ({"reply_audio": "heart"}, TypeError),
        ({"reply_audio": vivavoce.ReplyVoice(vivavoce.AudioFormat(channel_count=2))}, vivavoce.InvalidRequest),
        ({"reply_audio": vivavoce.ReplyVoice(seed=1 << 70)}, vivavoce.InvalidRequest),
        ({"reply_audio": vivavoce.ReplyVoice(lexicon=("nine",))}, TypeError),
        ({"interruption": True}, TypeError),
        ({"interruption": vivavoce.Interruption(shortest_speech_seconds=float("nan"))}, vivavoce.InvalidRequest),
    ],
)
async def test_what_the_messages_cannot_hold_is_refused(chosen: dict[str, Any], error: type[Exception]):
    with serving(TURN) as service:
        with pytest.raises(error):
            await events_of(service.address, TURN.transcript, **chosen)
        assert service.conversations == 0


def controls(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
    """Speaks for as long as it likes, until it is told to stop."""
    for request in requests:
        match request.WhichOneof("request"):
            case "config":
                yield pb.ConverseResponse(started=pb.Started(conversation_id="c-1"))
            case "text":
                yield pb.ConverseResponse(reply=make_reply(1, request_id=request.request_id, speech_text="Nine."))
                yield pb.ConverseResponse(reply_audio=pb.ReplyAudio(turn=1, audio=b"ab"))
            case "cancel_reply":
                reason = pb.INTERRUPTION_REASON_CANCELLED
                yield pb.ConverseResponse(interrupted=pb.Interrupted(turn=1, reason=reason))
                return


async def test_playback_and_cancelling_are_sent():
    with serving(TURN) as service:
        service.script = controls
        async with vivavoce.connect(service.address) as client:
            over = asyncio.Event()

            async def said():
                yield vivavoce.TypedTurn("when?")
                await over.wait()

            conversation = client.converse(said(), reply_audio=vivavoce.ReplyVoice())
            async for event in conversation:
                if isinstance(event, vivavoce.ReplyAudio):
                    conversation.send_playback(1, 0.25)
                    conversation.send_playback(1, 0.5, finished=True)
                    with pytest.raises(vivavoce.InvalidRequest):
                        conversation.send_playback(1, float("inf"))
                    conversation.cancel_reply(1)
                if isinstance(event, vivavoce.Interrupted):
                    assert event.reason is vivavoce.InterruptionReason.CANCELLED
                    break
            await conversation.aclose()
            conversation.cancel_reply()
    sent = [request for request in service.received if request.WhichOneof("request") in {"playback", "cancel_reply"}]
    assert sent == [
        pb.ConverseRequest(playback=pb.Playback(turn=1, position=seconds(0.25))),
        pb.ConverseRequest(playback=pb.Playback(turn=1, position=seconds(0.5), finished=True)),
        pb.ConverseRequest(cancel_reply=pb.CancelReply(turn=1)),
    ]


def test_playback_and_cancelling_are_sent_without_asyncio():
    with serving(TURN) as service:
        service.script = controls
        with (
            vivavoce.sync.connect(service.address) as client,
            client.converse(reply_audio=vivavoce.ReplyVoice()) as conversation,
        ):
            conversation.send(vivavoce.TypedTurn("when?"))
            while not isinstance(conversation.poll(5), vivavoce.ReplyAudio):
                pass
            conversation.send_playback(1, 0.25)
            with pytest.raises(vivavoce.InvalidRequest):
                conversation.send_playback(1, float("nan"))
            conversation.cancel_reply()
            assert isinstance(conversation.poll(5), vivavoce.Interrupted)
        conversation.cancel_reply()
    assert service.received[-2].playback == pb.Playback(turn=1, position=seconds(0.25))
    assert service.received[-1].cancel_reply == pb.CancelReply()


async def test_a_control_overtakes_a_backlog_that_is_full():
    with serving(TURN) as service:
        async with vivavoce.connect(service.address) as client:
            conversation = client.converse([], reply_audio=vivavoce.ReplyVoice())
            for _ in range(300):
                conversation.send_playback(1, 0.25)
            assert conversation._backlog.full()
            assert len(conversation._urgent) == 16
            conversation.cancel_reply()
            assert conversation._urgent[-1].HasField("cancel_reply")
            assert len(conversation._urgent) == 16
            await conversation.aclose()


def test_after_a_lost_connection_turns_have_other_numbers():
    look_back = LookBack(vivavoce.AudioFormat())
    look_back.sent(pb.ConverseRequest(text="when?", request_id="a"))
    look_back.answered_by(
        vivavoce.Reply(1, "when?", None, (), None, vivavoce.ReplyStatus.COMPLETE, (), LATENCY, False, request_id="a")
    )
    look_back.begin_anew()
    assert look_back.sent(pb.ConverseRequest(playback=pb.Playback(turn=1))) is None, "nothing is played of it any more"
    assert look_back.sent(pb.ConverseRequest(cancel_reply=pb.CancelReply(turn=2))).cancel_reply.turn == 1
    assert look_back.sent(pb.ConverseRequest(cancel_reply=pb.CancelReply())).cancel_reply.turn == 0
    assert look_back.empty, "a control is not sent again"
    assert look_back.placed(vivavoce.ReplyAudio(1, b"", 0.0, True)).turn == 2
    told = vivavoce.Interrupted(1, 0.0, "", vivavoce.InterruptionReason.SPEECH)
    assert look_back.placed(told).turn == 2


LATENCY = vivavoce.Latency(0.0, ())


async def test_the_first_audio_is_timed_from_the_last_sound():
    turn = Turn("when does it open", speech_text="It opens at nine.", audio_seconds=1.0)

    async def said():
        for _ in range(10):
            yield np.zeros(1600, np.int16)
        await asyncio.sleep(0.2)

    with serving(turn) as service:
        async with vivavoce.connect(service.address) as client:
            events = [event async for event in client.converse(said(), reply_audio=vivavoce.ReplyVoice())]
    first = of(events, vivavoce.ReplyAudio)[0]
    assert 0 <= first.first_audio_seconds < 5
    assert first.to_dict()["first_audio_ms"] == round(first.first_audio_seconds * 1_000, 1)
