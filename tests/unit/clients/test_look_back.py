"""What is kept of a conversation so that it can be said again."""

from __future__ import annotations

from dataclasses import replace

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


def test_what_nothing_was_said_about_is_said_again_in_its_order() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(1), "one", second(2), END, second(3), "two")

    assert again(look_back) == [second(1), "one", second(2), "/", second(3), "two"]
    assert again(look_back) == [second(1), "one", second(2), "/", second(3), "two"], "it is still not answered"


def test_messages_are_as_short_as_others() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, *(second(number) for number in range(5)))

    assert max(len(request.audio) for request in look_back.begin_anew()[1]) == 32 * 1024


def test_of_an_answered_turn_nothing_is_left_but_the_silence_after_it() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(1), second(2), second(3))
    hear(look_back, began(1, 0.5), ended(1, 1.5))
    assert look_back.owed
    hear(look_back, reply(1))

    assert not look_back.owed
    reconnected, requests = look_back.begin_anew()
    assert b"".join(request.audio for request in requests) == second(2)[:16_000] + second(3)
    assert reconnected == vivavoce.Reconnected(lost_seconds=0.0, replayed_seconds=1.5)


@pytest.mark.parametrize(
    ("then", "left"),
    [
        ([], ["one", "two"]),
        ([replace(reply(1, "one"), completes=True)], ["two"]),
        ([reply(2, "two")], []),
        ([prompt(2)], ["one", "two"]),
    ],
    ids=["lost before it is completed", "completed", "never completed by an older server", "asked to wait for"],
)
def test_a_turn_is_answered_when_its_reply_is_whole(then: list[vivavoce.Event], left: list[str]) -> None:
    look_back = LookBack(FORMAT)
    say(look_back, "one")
    hear(look_back, replace(reply(1, "one"), status=vivavoce.ReplyStatus.PARTIAL))
    say(look_back, "two")
    hear(look_back, *then)
    assert again(look_back) == left


def test_a_turn_that_has_happened_in_a_dialog_is_not_said_again() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, "one")
    hear(look_back, replace(reply(1, "one"), status=vivavoce.ReplyStatus.PARTIAL, dialog=vivavoce.Dialog("order")))
    assert look_back.empty


def test_an_utterance_that_is_over_but_not_answered_is_said_again() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(1), END, second(2))
    hear(look_back, began(1, 0.2), ended(1, 0.9, "REQUESTED", "end"))

    assert again(look_back) == [second(1), "/", second(2)]


def test_an_end_of_utterance_ends_what_is_kept() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(1), END, second(2))
    hear(look_back, began(1, 0.2), ended(1, 0.4, "REQUESTED", "end"), reply(1, "end"))

    assert again(look_back) == [second(2)]


def test_a_name_may_be_given_again() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, "one", "one")
    hear(look_back, reply(1, "one"))

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


def test_an_end_of_utterance_before_which_nobody_spoke_is_settled() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, END, second(1), END)
    hear(look_back, vivavoce.Notice(vivavoce.NoticeCode.NO_SPEECH, "Speak.", None, "end"))

    assert again(look_back) == [second(1), "/"]


def test_typed_turns_are_told_apart_by_their_names() -> None:
    """Replies may come in another order than their turns."""
    look_back = LookBack(FORMAT)
    say(look_back, "one", second(1), "three", "four")
    hear(look_back, began(2, 0.5), reply(4, "four"), reply(1, "one"))

    assert again(look_back) == [second(1), "three"]


def test_a_turn_that_is_answered_before_an_earlier_one_is_not_said_again() -> None:
    look_back = LookBack(vivavoce.AudioFormat(vivavoce.Encoding.MULAW, 8_000))
    audio = [second(number, vivavoce.AudioFormat(vivavoce.Encoding.MULAW, 8_000)) for number in (1, 2, 3)]
    say(look_back, *audio)
    hear(look_back, began(1, 0.0), ended(1, 1.0), began(2, 1.0), ended(2, 2.0), reply(2))

    assert again(look_back) == [audio[0] + b"\xff" * 8_000 + audio[2]]

    hear(look_back, began(1, 0.0), ended(1, 1.0), reply(1))
    assert again(look_back) == [b"\xff" * 8_000 + audio[2]]


def test_positions_and_turns_go_on() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(1), second(2), second(3))
    hear(look_back, began(1, 0.5), ended(1, 1.5), reply(1), began(2, 2.25))
    assert look_back.placed(began(2, 2.25)) == began(2, 2.25)
    look_back.begin_anew()

    assert look_back.placed(began(1, 0.75)) == began(2, 2.25)
    assert look_back.placed(ended(1, 1.0)) == ended(2, 2.5)
    assert look_back.placed(vivavoce.Transcript(1, "a", True, 0.75, 1.0)) == vivavoce.Transcript(
        2, "a", True, 2.25, 2.5
    )
    assert look_back.placed(reply(1)).turn == 2
    code = vivavoce.NoticeCode.STAGE_FAILED
    assert look_back.placed(vivavoce.Notice(code, "", 1)) == vivavoce.Notice(code, "", 2)
    assert look_back.placed(vivavoce.Notice(code, "", None)) == vivavoce.Notice(code, "", None)

    hear(look_back, began(1, 0.75), ended(1, 1.0), reply(1))
    look_back.begin_anew()
    assert look_back.placed(began(1, 0.0)) == began(3, 2.5)


def test_of_too_much_audio_the_newest_is_kept_and_what_is_lost_of_an_utterance_is_told() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, *(second(number) for number in range(40)))
    hear(look_back, began(1, 4.0))

    reconnected, requests = look_back.begin_anew()

    assert reconnected == vivavoce.Reconnected(lost_seconds=6.0, replayed_seconds=30.0)
    assert b"".join(request.audio for request in requests) == b"".join(second(number) for number in range(10, 40))
    assert look_back.placed(began(1, 0.0)) == began(1, 10.0)


def test_silence_that_is_dropped_is_not_lost() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, *(second(0) for _ in range(40)))

    assert look_back.begin_anew()[0] == vivavoce.Reconnected(lost_seconds=0.0, replayed_seconds=30.0)


def test_a_typed_turn_outlives_the_audio_around_it() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(0), "one", *(second(number) for number in range(1, 32)))

    said = again(look_back)

    assert said[0] == "one"
    assert said[1:] == [b"".join(second(number) for number in range(2, 32))]


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


def test_what_was_changed_holds_in_a_new_stream_before_anything_is_said_again() -> None:
    look_back = LookBack(FORMAT)
    eager = pb.ConversationUpdate(endpointing={"patience": pb.PATIENCE_EAGER}, documents={"documents": [{"text": "a"}]})
    bounded = pb.ConversationUpdate(
        endpointing={"longest_silence": {"seconds": 2}}, documents={}, second_opinion="heavy"
    )
    say(look_back, second(1), pb.ConverseRequest(update=eager), second(2), pb.ConverseRequest(update=bounded))
    requests = look_back.begin_anew()[1]
    assert requests[0] == pb.ConverseRequest(
        update={
            "endpointing": {"patience": pb.PATIENCE_EAGER, "longest_silence": {"seconds": 2}},
            "documents": {},
            "second_opinion": "heavy",
        }
    )
    assert b"".join(request.audio for request in requests[1:]) == second(1) + second(2)


def test_a_change_alone_is_nothing_that_has_to_be_said_again() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, pb.ConverseRequest(update=pb.ConversationUpdate()))
    assert look_back.empty
    assert not look_back.owed


def test_a_change_of_hints_alone_leaves_the_endpointing_unset() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, pb.ConverseRequest(update={"phrase_hints": {"groups": [{"phrases": ["a"]}]}}))
    (request,) = look_back.begin_anew()[1]
    assert request.update == pb.ConversationUpdate(phrase_hints={"groups": [{"phrases": ["a"]}]})


def test_positions_and_turns_of_pauses_go_on() -> None:
    look_back = LookBack(FORMAT)
    say(look_back, second(1), second(2))
    hear(look_back, began(1, 0.0), ended(1, 1.0), reply(1))
    look_back.begin_anew()
    paused = vivavoce.SpeechPaused(1, "turn", 0.5, 0.25, 0.5, 0.2)
    assert look_back.placed(paused) == vivavoce.SpeechPaused(2, "turn", 0.5, 1.25, 1.5, 0.2)
    assert look_back.placed(vivavoce.SpeechResumed(1, 0.75)) == vivavoce.SpeechResumed(2, 1.75)
