import contextlib
import dataclasses

import pytest

from service.admission.admission import Admission
from service.admission.capacity import NEWCOMER
from service.refusals import NotReadyError, TooManyConversationsError, TooManySpeakersError
from service.sessions.capacity_watch import RECOGNIZER_PLACES, RecognizerRoom
from service.sessions.open_conversations import OpenConversations


@dataclasses.dataclass
class FakeRoom:
    """Room for so many newcomers."""

    limit: float

    def refusal(self, conversations: int, typed_turns: int, retry_seconds: float) -> TooManySpeakersError | None:
        if NEWCOMER * (conversations + typed_turns) <= self.limit:
            return None
        return TooManySpeakersError(self.limit, retry_seconds)


def opened(limit: int, room: FakeRoom | None = None) -> Admission:
    admission = Admission(limit, room)
    admission.open()
    return admission


def test_nobody_is_let_in_before_the_door_is_open():
    admission = Admission(1)
    with pytest.raises(NotReadyError), admission.conversation():
        pass
    assert admission.refused == 0


def test_places_are_given_back():
    admission = opened(1)
    for _ in range(3):
        with admission.conversation(), pytest.raises(TooManyConversationsError), admission.conversation():
            pass
    assert admission.refused == 3


def test_a_conversation_that_fails_gives_its_place_back():
    admission = opened(1)
    with pytest.raises(ZeroDivisionError), admission.conversation():
        raise ZeroDivisionError
    with admission.conversation():
        pass


def test_a_crowd_that_comes_at_once_finds_as_much_room_as_there_is():
    """Before a word was heard, and without any measurement in between."""
    admission = opened(512, FakeRoom(4.0))
    with contextlib.ExitStack() as held:
        refusals = []
        for _ in range(24):
            try:
                held.enter_context(admission.conversation())
            except TooManySpeakersError as error:
                refusals.append(error)
        assert len(refusals) == admission.refused == 16
        assert all(1 <= error.retry_seconds <= 3 for error in refusals)
        assert len({error.retry_seconds for error in refusals}) > 3, "they must not all come back together"
    with admission.conversation():
        pass


async def test_typed_turns_need_no_place_in_the_recognizer():
    admission = opened(512, RecognizerRoom(OpenConversations()))
    async with contextlib.AsyncExitStack() as held:
        for _ in range(2 * RECOGNIZER_PLACES):
            await held.enter_async_context(admission.typed_turn())
        for _ in range(2 * RECOGNIZER_PLACES):
            held.enter_context(admission.conversation())
        async with admission.typed_turn():
            with pytest.raises(TooManySpeakersError), admission.conversation():
                pass


async def test_typed_turns_have_places_of_their_own_and_need_room_as_well():
    admission = opened(1)
    with admission.conversation():
        async with admission.typed_turn():
            with pytest.raises(TooManyConversationsError):
                await admission.typed_turn().__aenter__()
    admission = opened(512, FakeRoom(1.0))
    with admission.conversation():
        async with admission.typed_turn():
            with pytest.raises(TooManySpeakersError):
                await admission.typed_turn().__aenter__()
            with pytest.raises(TooManySpeakersError), admission.conversation():
                pass


async def test_the_first_is_let_in_however_late_replies_were():
    admission = opened(512, FakeRoom(0.0))
    with admission.conversation(), pytest.raises(TooManySpeakersError), admission.conversation():
        pass
    async with admission.typed_turn():
        # The first conversation as well: typed turns last no longer than a reply.
        with admission.conversation():
            pass
        with pytest.raises(TooManySpeakersError):
            await admission.typed_turn().__aenter__()
    assert admission.refused == 2
