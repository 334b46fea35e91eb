"""Look-back of a conversation, beside what the scenarios say of all clients."""

from __future__ import annotations

import pytest

import vivavoce
from tests.unit.clients.test_live_view import REPLY
from vivavoce import _look_back
from vivavoce._look_back import LookBack
from vivavoce.v1 import conversation_pb2 as pb

FORMAT = vivavoce.AudioFormat()
END = pb.ConverseRequest(end_of_utterance=pb.EndOfUtterance(), request_id="end")


def second(number: int, of: vivavoce.AudioFormat = FORMAT) -> bytes:
    """A second of audio in which every byte is `number`."""
    duration = of.duration_seconds(1)
    assert duration is not None
    return bytes([number]) * round(1 / duration)


def say(look_back: LookBack, *said: bytes | str | pb.ConverseRequest) -> None:
    for one in said:
        match one:
            case bytes():
                look_back.sent(pb.ConverseRequest(audio=one))
            case str():
                look_back.sent(pb.ConverseRequest(text=one, request_id=one))
            case _:
                look_back.sent(one)


def began(turn: int, start_seconds: float) -> vivavoce.SpeechBegan:
    return vivavoce.SpeechBegan(turn, start_seconds)


def ended(turn: int, end_seconds: float, reason: str = "SILENCE", request_id: str = "") -> vivavoce.SpeechEnded:
    return vivavoce.SpeechEnded(turn, end_seconds, vivavoce.EndReason[reason], request_id)


def reply(turn: int, request_id: str = "") -> vivavoce.Reply:
    return vivavoce.Reply(
        turn, "", None, (), None, REPLY.status, (), REPLY.latency, speculated=False, request_id=request_id
    )


def prompt(turn: int) -> vivavoce.Prompt:
    return vivavoce.Prompt(turn, "", None, (), None, REPLY.status, (), REPLY.latency, speculated=False)


def hear(look_back: LookBack, *events: vivavoce.Event) -> None:
    for event in events:
        look_back.answered_by(event)


def again(look_back: LookBack) -> list[bytes | str]:
    """What a new stream begins with: audio joined, typed turns as they are, ends of utterance as "/"."""
    told: list[bytes | str] = []
    for request in look_back.begin_anew()[1]:
        if not request.HasField("audio"):
            told.append(request.text or "/")
        elif told and isinstance(told[-1], bytes):
            told[-1] += request.audio
        else:
            told.append(request.audio)
    return told


def test_messages_are_as_short_as_others() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, *(second(number) for number in range(5)))

    assert max(len(request.audio) for request in look_back.begin_anew()[1]) == 32 * 1024


def test_a_name_may_be_given_again() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, "one", "one")
    hear(look_back, reply(1, "one"))
    assert look_back.owed

    assert again(look_back) == ["one"]


@pytest.mark.parametrize(
    "unnamed",
    [
        [reply(1)],
        [began(1, 0.2), ended(1, 0.4, "REQUESTED")],
        [vivavoce.Notice(vivavoce.NoticeCode.NO_SPEECH, "Speak.", None)],
    ],
)
def test_a_server_that_names_no_requests_is_told_from_its_first_answer(unnamed: list[vivavoce.Event]) -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(1), "one", END)

    with pytest.raises(vivavoce.Incompatible, match=r"update the server, or leave reconnect_seconds at 0\.$"):
        hear(look_back, *unnamed)


def test_a_server_that_names_no_requests_will_do_where_none_are_made() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(1))
    hear(look_back, began(1, 0.2), ended(1, 0.4), reply(1))

    assert again(look_back) == [second(1)[12_800:]]


def test_the_end_of_the_audio_ends_what_is_kept() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(1))
    hear(look_back, began(1, 0.2), ended(1, 0.4, "HALF_CLOSE"), reply(1))

    assert look_back.empty


def test_the_bound_in_bytes_holds_for_dense_audio(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_look_back, "MAX_BYTES", 64_000)
    look_back = LookBack(FORMAT)
    say(look_back, second(1), second(2), second(3))

    assert again(look_back) == [second(2) + second(3)]


def test_typed_turns_need_no_audio() -> None:
    look_back = LookBack(None)
    say(look_back, "one", "two")
    hear(look_back, reply(1, "one"))
    reconnected, requests = look_back.begin_anew()

    assert reconnected == vivavoce.Reconnected(0.0, 0.0)
    assert [request.text for request in requests] == ["two"]
    assert look_back.placed(reply(1)).turn == 2


@pytest.mark.parametrize("encoding", [vivavoce.Encoding.FLAC, vivavoce.Encoding.OGGOPUS])
def test_audio_that_cannot_be_cut_is_refused(encoding: vivavoce.Encoding) -> None:
    with pytest.raises(vivavoce.InvalidRequest, match=r"send LINEAR_PCM.*or leave reconnect_seconds at 0") as caught:
        LookBack(vivavoce.AudioFormat(encoding))

    assert caught.value.field == "config.audio"


def test_a_change_alone_is_nothing_that_has_to_be_said_again() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, pb.ConverseRequest(update=pb.ConversationUpdate()))
    assert look_back.empty
    assert not look_back.owed
