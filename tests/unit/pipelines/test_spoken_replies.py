"""Replies that are spoken: what goes out when, and how far ahead."""

import asyncio

import pytest

from pipelines.audio.encoding import SpeechFormat
from pipelines.audio.formats import Encoding
from pipelines.data.messages import Interrupted, InterruptionReason, Notice, Reply, ReplyAudio, ReplyHeld, ReplyResumed
from pipelines.errors import InvalidInputError
from pipelines.speech.reply_voice import DEFAULT_LEAD_SECONDS, ReplyVoice
from pipelines.speech.synthesis import MAX_PIECE_BYTES
from pipelines.turns.interruption import InterruptionConfig
from tests import virtual_time
from tests.unit.pipelines.spoken import SpeakingModels, spoken_session

ONE_TURN = ((0.3, 0.0), (1.0, 0.9), (60.0, 0.0))
LONG = "Paris is the capital, and has been for many hundreds of years, of France and of all of its islands."


def test_an_answer_is_spoken_in_order_and_to_its_end() -> None:
    async def hold() -> None:
        models = SpeakingModels()
        async with spoken_session(models, *ONE_TURN) as session:
            await session.talk(8.0)
            assert session.reply.speech_text == "Paris is the capital of France."
            pieces = [piece for _, piece in session.audio()]
            assert session.came.index(session.audio()[0]) > [m for _, m in session.came].index(session.reply)
            assert session.heard() == pytest.approx(3.0)
            assert [piece.is_last for piece in pieces] == [False] * (len(pieces) - 1) + [True]
            position = 0.0
            for piece in pieces:
                assert piece.start_seconds == pytest.approx(position)
                assert len(piece.audio) <= MAX_PIECE_BYTES
                position += len(piece.audio) / 48_000

    virtual_time.run(hold())


def test_the_first_sentence_is_made_in_the_pause_and_goes_out_with_the_reply() -> None:
    async def hold() -> None:
        models = SpeakingModels(synthesis_seconds=0.2)
        async with spoken_session(models, *ONE_TURN) as session:
            await session.talk(3.0)
            (replied,) = session.when(Reply)
            assert session.reply.speculated
            assert session.audio()[0][0] - replied < 0.01

    virtual_time.run(hold())


@pytest.mark.parametrize("lead", [0.1, DEFAULT_LEAD_SECONDS, 2.0])
def test_audio_is_sent_no_further_ahead_than_the_caller_needs(lead: float) -> None:
    async def hold() -> None:
        voice = ReplyVoice(lead_seconds=lead)
        async with spoken_session(SpeakingModels(sentence_seconds=10.0), *ONE_TURN, voice=voice) as session:
            await session.talk(14.0)
            pieces = [(at, piece) for at, piece in session.audio() if piece.audio]
            first = pieces[0][0]
            ends = [piece.start_seconds + len(piece.audio) / 48_000 - (at - first) for at, piece in pieces]
            assert max(ends) <= lead + 0.01
            starts = [piece.start_seconds - (at - first) for at, piece in pieces]
            assert min(starts[1:]) > min(0.02, lead - 0.09), "the caller runs dry"

    virtual_time.run(hold())


def test_who_pauses_the_playback_gets_no_more_meanwhile() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(sentence_seconds=10.0), *ONE_TURN) as session:
            await session.talk(2.3)
            for _ in range(20):
                session.conversation.speech.report_playback(1, 0.5, finished=False)
                await session.talk(0.1)
            assert session.heard() <= 0.5 + DEFAULT_LEAD_SECONDS + 0.1

    virtual_time.run(hold())


@pytest.mark.parametrize(("spoken_seconds", "outcome", "within"), [(0.2, ReplyResumed, 0.21), (2.0, Interrupted, 1.7)])
def test_speech_over_a_reply_holds_it_at_the_caller_until_it_is_judged(
    spoken_seconds: float, outcome: type, within: float
) -> None:
    async def hold() -> None:
        cough = ((0.3, 0.0), (1.0, 0.9), (1.5, 0.0), (spoken_seconds, 0.9), (60.0, 0.0))
        async with spoken_session(SpeakingModels(sentence_seconds=10.0), *cough) as session:
            began = asyncio.get_running_loop().time() + 2.8
            await session.talk(6.0)
            (held,), (held_at,), (judged_at,) = session.of(ReplyHeld), session.when(ReplyHeld), session.when(outcome)
            assert held.turn == 1
            assert held_at - began <= 0.25
            assert judged_at - held_at <= within
            assert not [at for at, _ in session.audio() if held_at < at < judged_at]
            (judged,) = session.of(outcome)
            heard = judged.heard_seconds if outcome is Interrupted else judged.position_seconds
            assert heard == pytest.approx(held.position_seconds)
            assert bool([at for at, _ in session.audio() if at > judged_at]) is (outcome is ReplyResumed)

    virtual_time.run(hold())


@pytest.mark.parametrize(
    ("words", "is_echo"),
    [
        ("has been for many hundreds", True),
        ("it has been for many hundred", True),
        ("all of its islands", False),  # It is not yet said.
        ("hundreds", False),
        ("how many people live there", False),
    ],
)
def test_what_repeats_the_words_that_are_being_said_is_no_turn(words: str, is_echo: bool) -> None:
    async def hold() -> None:
        models = SpeakingModels(sentence_seconds=7.0)
        over = ((0.3, 0.0), (1.0, 0.9), (2.6, 0.0), (0.9, 0.9), (60.0, 0.0))
        async with spoken_session(models, *over, document=LONG) as session:
            await session.talk(3.0)
            models.words = words
            await session.talk(9.0)
            (second,) = [reply for reply in session.of(Reply) if reply.turn == 2]
            assert (second.transcript, bool(session.of(Interrupted))) == (("", False) if is_echo else (words, True))

    virtual_time.run(hold())


def test_a_speculation_that_is_dropped_is_never_heard() -> None:
    async def hold() -> None:
        models = SpeakingModels()
        async with spoken_session(models, (1.0, 0.9), (0.4, 0.0), (1.0, 0.9), (60.0, 0.0)) as session:
            await session.talk(1.39)
            assert len(models.spoken_texts) == 1, "it is prepared in the pause"
            await session.talk(0.6)
            assert session.conversation.speech._spoken == {}
            await session.talk(1.0)
            assert {piece.turn for _, piece in session.audio()} == {1}
            assert session.reply.transcript == "w0 w1 w2"

    virtual_time.run(hold())


def test_the_second_sentence_is_made_when_the_first_was_sent() -> None:
    async def hold() -> None:
        models = SpeakingModels()
        async with spoken_session(models, *ONE_TURN, document=LONG) as session:
            await session.talk(2.5)
            assert session.reply.speech_text == LONG
            assert len(models.spoken_texts) == 1
            await session.talk(8.0)
            assert len(models.spoken_texts) > 1
            assert session.audio()[-1][1].is_last

    virtual_time.run(hold())


def test_a_reply_does_not_wait_for_a_voice_that_is_slow() -> None:
    async def hold() -> None:
        models = SpeakingModels(synthesis_seconds=2.0)
        async with spoken_session(models, *ONE_TURN) as session:
            await session.talk(6.0)
            (replied,) = session.when(Reply)
            assert replied < 2.2
            assert session.reply.status.value == "COMPLETE"
            assert session.audio()[0][0] > replied + 1.0

    virtual_time.run(hold())


def test_a_voice_that_fails_is_told_and_the_conversation_goes_on() -> None:
    async def hold() -> None:
        models = SpeakingModels(synthesis_fails=True)
        async with spoken_session(models, *ONE_TURN) as session:
            await session.talk(3.0)
            (notice,) = session.of(Notice)
            assert notice.message == "speech failed: out of order"
            assert notice.turn == 1
            assert session.of(ReplyAudio) == []
            models.synthesis_fails = False
            await session.conversation.add_text("and now?")
            await asyncio.sleep(1.0)
            assert session.audio(2)

    virtual_time.run(hold())


def test_after_the_half_close_the_rest_comes_at_once_and_the_conversation_ends() -> None:
    async def hold() -> None:
        loop = asyncio.get_running_loop()
        async with spoken_session(SpeakingModels(sentence_seconds=20.0), *ONE_TURN) as session:
            await session.talk(1.3)
            began = loop.time()
            await session.conversation.half_close()
            await asyncio.sleep(2.0)
            assert session.conversation.phase == "finished"
            assert session.heard() == pytest.approx(20.0)
            assert session.came[-1][1].is_last
            assert session.came[-1][0] - began < 1.0

    virtual_time.run(hold())


def test_a_caller_who_does_not_read_gets_no_audio_to_pile_up() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(sentence_seconds=30.0), *ONE_TURN) as session:
            await session.talk(1.3)
            session.reads.clear()
            await session.talk(20.0)
            assert len(session.conversation.outbox._messages) < 10
            session.reads.set()
            await session.talk(1.0)
            assert session.audio()

    virtual_time.run(hold())


def test_replies_to_typed_turns_are_spoken_one_after_the_other_where_nothing_interrupts() -> None:
    async def hold() -> None:
        chosen = {"interruption": InterruptionConfig(enabled=False)}
        async with spoken_session(SpeakingModels(), **chosen) as session:
            for number in range(11):
                await session.conversation.add_text(f"question {number}?")
            await asyncio.sleep(60.0)
            order = [piece.turn for piece in session.of(ReplyAudio)]
            assert set(order) == set(range(1, 10))
            assert order == sorted(order)
            skipped = [notice.turn for notice in session.of(Notice)]
            assert skipped == [10, 11]

    virtual_time.run(hold())


@pytest.mark.parametrize("encoding", [Encoding.MULAW, Encoding.ALAW, Encoding.OGGOPUS, Encoding.LINEAR_PCM_FLOAT32])
def test_every_encoding_of_speech_is_spoken(encoding: Encoding) -> None:
    rate = 48_000 if encoding in (Encoding.OGGOPUS, Encoding.LINEAR_PCM_FLOAT32) else 8_000

    async def hold() -> None:
        voice = ReplyVoice(SpeechFormat(encoding, rate))
        async with spoken_session(SpeakingModels(), *ONE_TURN, voice=voice) as session:
            await session.talk(1.3)
            await session.conversation.half_close()
            await asyncio.sleep(1.0)
            whole = b"".join(piece.audio for _, piece in session.audio())
            assert all(len(piece.audio) <= MAX_PIECE_BYTES for _, piece in session.audio())
            if encoding is Encoding.OGGOPUS:
                assert whole.startswith(b"OggS")
            else:
                width = 4 if encoding is Encoding.LINEAR_PCM_FLOAT32 else 1
                assert len(whole) == pytest.approx(3.0 * rate * width, rel=0.01)

    asyncio.run(hold()) if encoding is Encoding.OGGOPUS else virtual_time.run(hold())


def test_a_reply_is_cancelled_while_it_is_spoken_and_before() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(), *ONE_TURN) as session:
            await session.talk(1.0)
            session.conversation.speech.cancel(1)
            session.conversation.speech.cancel(1)
            await session.talk(2.0)
            assert session.of(ReplyAudio) == []
            assert session.reply.speech_text == ""
            assert session.interrupted == Interrupted(1, 0.0, "", InterruptionReason.CANCELLED)
            await session.conversation.add_text("and now?")
            await asyncio.sleep(1.0)
            session.conversation.speech.cancel(0)
            await asyncio.sleep(0)
            told = session.of(Interrupted)[-1]
            assert told.turn == 2
            assert told.heard_seconds == pytest.approx(1.0, abs=0.1)
            count = len(session.audio(2))
            await asyncio.sleep(2.0)
            assert len(session.audio(2)) == count
            session.conversation.speech.cancel(0)
            session.conversation.speech.cancel(2)
            assert len(session.of(Interrupted)) == 2

    virtual_time.run(hold())


@pytest.mark.parametrize("lead", [0.0, 0.09, 10.5, float("nan")])
def test_a_lead_that_cannot_be_is_refused(lead: float) -> None:
    with pytest.raises(InvalidInputError) as refused:
        ReplyVoice(lead_seconds=lead)
    assert (refused.value.field, refused.value.reason) == ("config.reply_audio.lead", "LEAD_OUT_OF_RANGE")


@pytest.mark.parametrize(
    ("turn", "seconds", "reason"),
    [
        (7, 0.0, "UNKNOWN_TURN"),
        (0, 0.0, "UNKNOWN_TURN"),
        (-1, 0.0, "UNKNOWN_TURN"),
        (1, 0.1, "PLAYBACK_RUNS_BACKWARDS"),
    ],
)
def test_playback_that_cannot_be_is_refused(turn: int, seconds: float, reason: str) -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(), *ONE_TURN) as session:
            await session.talk(2.5)
            session.conversation.speech.report_playback(1, 0.2, finished=False)
            with pytest.raises(InvalidInputError) as refused:
                session.conversation.speech.report_playback(turn, seconds, finished=False)
            assert refused.value.reason == reason

    virtual_time.run(hold())


def test_of_replies_that_are_not_spoken_nothing_is_played_or_cancelled() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(), *ONE_TURN, voice=None) as session:
            await session.talk(3.0)
            assert session.reply.speech_text == ""
            with pytest.raises(InvalidInputError, match="send reply_audio"):
                session.conversation.speech.report_playback(1, 0.2, finished=False)
            with pytest.raises(InvalidInputError, match="send reply_audio"):
                session.conversation.speech.cancel(1)

    virtual_time.run(hold())
