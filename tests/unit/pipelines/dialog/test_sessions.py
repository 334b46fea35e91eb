"""Sessions by id: they outlive streams, expire, and belong to one stream at a time."""

from __future__ import annotations

import tracemalloc
from functools import partial
from typing import Any

import pytest

from pipelines.data.understanding import Understanding
from pipelines.dialog.session import DialogSession
from pipelines.dialog.sessions import DialogSessions
from pipelines.errors import InvalidInputError
from tests.unit.pipelines.dialog.agents import BAR, agent_of

AGENT = agent_of()
ORDER = Understanding("order", 0.9)


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def sessions(clock: Clock) -> DialogSessions:
    return DialogSessions(60.0, 3, clock)


def say(session: DialogSession, text: str, understanding: Understanding | None = None) -> str:
    return session.commit(session.preview(text, understanding or Understanding())).text


async def test_a_session_goes_on_in_the_next_stream(sessions: DialogSessions):
    async with sessions.open(AGENT, "a", {"house": "Ada's"}) as session:
        assert session.greeting == "Hello."
        assert session.state.parameters == {"house": "Ada's"}
        assert say(session, "a latte", ORDER) == "Which size?"
    async with sessions.open(AGENT, "a", {"house": "Bob's", "SYSTEM": "obey"}) as session:
        assert say(session, "small") == "1 small latte?"
        assert session.state.parameters == {"house": "Bob's"}


def test_preview_changes_nothing():
    session = DialogSession(AGENT)
    session.begin()
    before = session.state
    assert session.preview("a latte", ORDER).text == "Which size?"
    assert session.preview("bye", Understanding()).ends == "end"
    assert session.state is before


async def test_without_an_id_nothing_is_kept(sessions: DialogSessions):
    async with sessions.open(AGENT):
        assert len(sessions) == 0


async def test_two_streams_cannot_share_a_session(sessions: DialogSessions):
    async with sessions.open(AGENT, "a") as session:
        say(session, "a latte", ORDER)
        with pytest.raises(InvalidInputError, match="another stream") as caught:
            async with sessions.open(AGENT, "a"):
                pass
        assert caught.value.reason == "SESSION_IN_USE"
        async with sessions.open(AGENT, "a", owner="somebody else") as other:
            assert other.state.form is None
    async with sessions.open(AGENT, "a") as session:
        assert session.state.form is not None


async def test_an_id_is_bounded(sessions: DialogSessions):
    with pytest.raises(InvalidInputError, match="128 are the most"):
        async with sessions.open(AGENT, "a" * 129):
            pass


async def test_sessions_expire(sessions: DialogSessions, clock: Clock):
    async with sessions.open(AGENT, "a") as session:
        say(session, "a latte", ORDER)
        clock.now += 1_000
    clock.now += 59
    async with sessions.open(AGENT, "a") as session:
        assert session.state.form is not None, "an open stream counts as use"
    clock.now += 60
    async with sessions.open(AGENT, "a") as session:
        assert session.state.form is None


async def test_the_least_recently_used_are_dropped(sessions: DialogSessions):
    for name in "abcab":
        async with sessions.open(AGENT, name) as session:
            say(session, "a latte", ORDER)
    async with sessions.open(AGENT, "d"):
        assert len(sessions) == 3
    async with sessions.open(AGENT, "c") as session:
        assert session.state.form is None
    async with sessions.open(AGENT, "b") as session:
        assert session.state.form is not None


@pytest.mark.parametrize(
    ("bounds", "mallory", "kept"),
    [
        # So many sessions of one owner, whatever others do.
        ({"max_sessions": 5}, 6, 5),
        ({"max_sessions": 5}, 100, 5),
        # So many bytes of one owner.
        ({"max_bytes": 60_000}, 100, 14),
    ],
)
@pytest.mark.parametrize("owners", [1, 3, 8])
async def test_one_owner_never_pushes_out_the_sessions_of_another(
    bounds: dict[str, int], mallory: int, kept: int, owners: int
):
    sessions = DialogSessions(**bounds)
    async with sessions.open(AGENT, "order", owner="alice") as session:
        say(session, "a latte", ORDER)
    for number in range(mallory):
        for owner in range(owners):
            async with sessions.open(AGENT, f"m{number}", owner=f"mallory {owner}") as session:
                pass
    async with sessions.open(AGENT, "order", owner="alice") as session:
        assert say(session, "small") == "1 small latte?"
    assert len(sessions) <= min(owners, 4) * kept + 1
    async with sessions.open(AGENT, f"m{mallory - 1}", owner="mallory 0") as session:
        assert session.began is None or owners > 4


async def test_open_sessions_are_never_dropped(sessions: DialogSessions):
    opened = [sessions.open(AGENT, str(number)) for number in range(5)]
    for one in opened:
        await one.__aenter__()
    assert len(sessions) == 5
    for one in opened:
        await one.__aexit__(None, None, None)
    assert len(sessions) == 3


async def test_an_ended_session_and_a_changed_agent_begin_anew(sessions: DialogSessions):
    async with sessions.open(AGENT, "a") as session:
        assert say(session, "goodbye") == "Goodbye."
    async with sessions.open(AGENT, "a") as session:
        assert say(session, "a latte", ORDER) == "Which size?"
    async with sessions.open(agent_of(), "a") as session:
        assert session.state.form is None


@pytest.mark.parametrize("form", [BAR, {**BAR, "fulfilments": {"order": {"tool": {"deadline_seconds": 5}}}}])
async def test_sessions_are_small(form: dict[str, Any]):
    sessions = DialogSessions()
    agent = agent_of(form)
    tracemalloc.start()
    try:
        for number in range(200):
            async with sessions.open(agent, f"caller {number}") as session:
                if session.tools is not None:
                    # As the conversation does, which is kept by what it tells the caller with.
                    session.tools.open(partial(print, bytes(100_000)))
                say(session, "a small medium roast latte", ORDER)
                say(session, "yes")
                say(session, "another latte", ORDER)
                if session.tools is not None:
                    session.tools.close()
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(sessions) == 200
    assert size < 200 * 10 * 2**10
