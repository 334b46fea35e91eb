"""Two engines of one role side by side: each conversation and each typed turn is served by the one that it chooses."""

from __future__ import annotations

import pytest

import vivavoce

TEXT = "turn on the lights in the kitchen"
OTHER = {"intent_slot": "other"}


async def test_a_typed_turn_chooses_its_engine(server_address: str):
    async with vivavoce.connect(server_address) as client:
        plain, other = await client.ask(TEXT), await client.ask(TEXT, variants=OTHER)
    assert other.intent.name == f"other.{plain.intent.name}"
    assert set(plain.model_versions) == {"intent_slot"}
    assert set(other.model_versions) == {"intent_slot-other"}


async def test_conversations_side_by_side_keep_their_choice(server_address: str):
    async def said(variants: dict[str, str]) -> list[str]:
        async with vivavoce.connect(server_address) as client:
            turns = [vivavoce.TypedTurn(TEXT)] * 3
            events = [event async for event in client.converse(turns, audio=None, variants=variants)]
        return [event.intent.name for event in events if isinstance(event, vivavoce.Reply)]

    assert len(set(await said({}))) == 1
    assert {name.startswith("other.") for name in await said(OTHER)} == {True}


@pytest.mark.parametrize(
    ("variants", "message"),
    [
        ({"intent_slot": "museum"}, r"no variant 'museum' of 'intent_slot' is served: choose one of other"),
        ({"qa": "other"}, r"no variant 'other' of 'qa' is served: leave it out"),
        ({"": ""}, r"no variant '' of '' is served"),
    ],
)
async def test_what_is_not_served_is_refused(server_address: str, variants: dict[str, str], message: str):
    async with vivavoce.connect(server_address) as client:
        with pytest.raises(vivavoce.InvalidRequest, match=message):
            await client.ask(TEXT, variants=variants)
        with pytest.raises(vivavoce.InvalidRequest, match=message):
            _ = [event async for event in client.converse([vivavoce.TypedTurn(TEXT)], audio=None, variants=variants)]
