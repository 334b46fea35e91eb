"""Speech, and typed turns, while a reply is spoken."""

import asyncio

import pytest

from pipelines.data.messages import (
    Interrupted,
    InterruptionReason,
    Reply,
    ReplyAudio,
    ReplyHeld,
    ReplyResumed,
    SpeechBegan,
    Transcript,
)
from pipelines.turns.interruption import InterruptionConfig
from tests import virtual_time
from tests.unit.pipelines.spoken import SpeakingModels, spoken_session


def over_the_reply(*script: tuple[float, float]) -> tuple[tuple[float, float], ...]:
    """A question of a second, a second of listening, and then what is said over the reply."""
    return ((1.0, 0.9), (2.2, 0.0), *script, (60.0, 0.0))


SPEECH_BEGINS = 3.2


def test_speech_stops_the_reply_at_once() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(sentence_seconds=8.0), *over_the_reply((2.0, 0.9))) as session:
            await session.talk(4.5)
            session.models.words = "what about Monday"
            await session.talk(2.5)
            told = session.interrupted
            assert (told.turn, told.reason) == (1, InterruptionReason.SPEECH)
            first, last = session.audio()[0][0], session.audio()[-1][0]
            assert last - SPEECH_BEGINS <= 0.25
            (at,) = session.when(Interrupted)
            assert at - SPEECH_BEGINS < 1.4
            # The caller stopped playing when it was told to.
            (held_at,) = session.when(ReplyHeld)
            assert held_at - SPEECH_BEGINS <= 0.2
            assert told.heard_seconds == pytest.approx(held_at - first, abs=0.05)
            assert told.heard_text
            assert session.of(Reply)[0].speech_text.startswith(told.heard_text)
            assert not session.audio()[-1][1].is_last

    virtual_time.run(hold())


def test_the_interrupting_turn_is_answered_aloud_itself() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(sentence_seconds=8.0), *over_the_reply((2.0, 0.9))) as session:
            await session.talk(8.0)
            assert [reply.turn for reply in session.of(Reply)] == [1, 2]
            assert session.audio(2)

    virtual_time.run(hold())


def test_a_backchannel_leaves_the_reply_whole_and_gets_none_of_its_own() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(sentence_seconds=6.0), *over_the_reply((0.4, 0.9))) as session:
            await session.talk(3.0)
            session.models.words = "Mhm."
            await session.talk(8.0)
            assert session.of(Interrupted) == []
            assert session.heard() == pytest.approx(6.0)
            first = session.audio()[0][0]
            late = [at - first - piece.start_seconds for at, piece in session.audio()]
            (held,), (resumed,) = session.when(ReplyHeld), session.when(ReplyResumed)
            assert max(late) <= resumed - held <= 0.6, "the listener hears a long gap"
            finals = [it for it in session.of(Transcript) if it.is_final]
            assert finals[-1].text == "Mhm."
            assert session.reply.turn == 2
            assert session.reply.speech_text == ""
            assert session.audio(2) == []

    virtual_time.run(hold())


def test_a_cough_does_not_interrupt() -> None:
    async def hold() -> None:
        chosen = {"interruption": InterruptionConfig(shortest_speech_seconds=0.4)}
        script = over_the_reply((0.2, 0.9))
        async with spoken_session(SpeakingModels(sentence_seconds=6.0), *script, **chosen) as session:
            await session.talk(3.0)
            session.models.words = "Stop."
            await session.talk(8.0)
            assert len(session.of(SpeechBegan)) == 2
            assert session.heard() == pytest.approx(6.0)

    virtual_time.run(hold())


def test_a_backchannel_that_goes_on_is_an_interruption() -> None:
    async def hold() -> None:
        script = over_the_reply((0.4, 0.9), (0.35, 0.0), (1.0, 0.9))
        async with spoken_session(SpeakingModels(sentence_seconds=8.0), *script) as session:
            await session.talk(3.0)
            session.models.words = "Yeah."
            await session.talk(0.9)
            assert session.heard() < 8.0
            session.models.words = "Yeah. But what about Monday?"
            await session.talk(3.0)
            assert session.interrupted.reason is InterruptionReason.SPEECH

    virtual_time.run(hold())


def test_without_backchannels_and_bound_any_speech_interrupts() -> None:
    async def hold() -> None:
        chosen = {"interruption": InterruptionConfig(shortest_speech_seconds=0.0, backchannels=())}
        script = over_the_reply((0.4, 0.9))
        async with spoken_session(SpeakingModels(sentence_seconds=6.0), *script, **chosen) as session:
            session.models.words = "Mhm."
            await session.talk(5.0)
            assert session.interrupted.turn == 1
            assert session.audio()[-1][0] - SPEECH_BEGINS <= 0.25

    virtual_time.run(hold())


def test_where_nothing_interrupts_the_replies_come_one_after_the_other() -> None:
    async def hold() -> None:
        chosen = {"interruption": InterruptionConfig(enabled=False)}
        script = over_the_reply((1.5, 0.9))
        async with spoken_session(SpeakingModels(sentence_seconds=4.0), *script, **chosen) as session:
            await session.talk(14.0)
            order = [piece.turn for piece in session.of(ReplyAudio)]
            assert order == sorted(order)
            assert session.heard(1) == session.heard(2) == pytest.approx(4.0)
            assert session.audio(2)[0][0] >= session.audio(1)[0][0] + 4.0 - 1.1

    virtual_time.run(hold())


def test_a_typed_turn_interrupts() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(sentence_seconds=8.0), *over_the_reply()) as session:
            await session.talk(3.0)
            await session.conversation.add_text("and on Monday?")
            await session.talk(1.0)
            assert session.interrupted.reason is InterruptionReason.TYPED
            assert session.audio(2)

    virtual_time.run(hold())


def test_a_reply_that_comes_while_somebody_speaks_is_not_spoken_over_them() -> None:
    async def hold() -> None:
        models = SpeakingModels(answering_seconds=0.15)
        # A second utterance begins as soon as the first one is over.
        async with spoken_session(
            models, (1.0, 0.9), (0.64, 0.0), (3.0, 0.9), (60.0, 0.0), speculates=False
        ) as session:
            await session.talk(4.0)
            assert [reply.turn for reply in session.of(Reply)] == [1]
            assert session.audio(1) == []
            assert session.interrupted.heard_seconds == 0.0

    virtual_time.run(hold())


def test_what_the_caller_tells_of_playback_is_what_was_heard() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(sentence_seconds=8.0), *over_the_reply((2.0, 0.9))) as session:
            await session.talk(3.0)
            session.conversation.speech.report_playback(1, 0.3, finished=False)
            await session.talk(3.0)
            assert session.interrupted.heard_seconds == 0.3

    virtual_time.run(hold())


@pytest.mark.parametrize("tells", [True, False])
def test_nothing_interrupts_a_reply_that_was_played(tells: bool) -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(sentence_seconds=0.8), *over_the_reply((2.0, 0.9))) as session:
            await session.talk(2.9)
            if tells:
                session.conversation.speech.report_playback(1, 0.8, finished=True)
            await session.talk(4.0)
            assert session.of(Interrupted) == []
            assert session.audio(2)

    virtual_time.run(hold())


def test_an_interruption_by_the_last_words_still_ends_the_conversation() -> None:
    async def hold() -> None:
        async with spoken_session(SpeakingModels(sentence_seconds=30.0), *over_the_reply((2.0, 0.9))) as session:
            session.models.words = "stop it"
            await session.talk(3.6)
            await session.conversation.half_close()
            await asyncio.sleep(3.0)
            assert session.conversation.phase == "finished"
            assert session.interrupted.turn == 1
            assert session.audio(2)[-1][1].is_last

    virtual_time.run(hold())
