"""Random dialogs: whatever is said, pressed or fails, the same few things hold."""

from __future__ import annotations

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.dialog import events
from pipelines.data.dialog.actions import End, Fulfil, Listen, Say
from pipelines.data.dialog.state import State
from pipelines.data.understanding import NO_INTENT, Understanding
from pipelines.dialog.machine import step
from pipelines.text.values import find_values
from tests.examples import examples
from tests.unit.pipelines.dialog.agents import BAR, NOW, agent_of

AGENTS = (
    agent_of(),
    agent_of(BAR | {"no_match": {"times": 0, "then": "continue"}, "no_input": {"times": 0, "then": "continue"}}),
)

# fmt: off
words = st.sampled_from((
    "yes", "no", "small", "large", "medium", "latte", "mocha", "iced", "roast", "light", "two", "second", "one",
    "last", "not", "without", "the", "a", "and", ",", "make", "it", "cancel", "help", "repeat", "bye", "tomorrow",
    "five", "pm", "Ada", "size", "drink", "never", "mind", "all", "or", "but", "okay", "wait", "wrong", "bye",
))
# fmt: on
texts = st.one_of(st.lists(words, max_size=7).map(" ".join), st.text(max_size=12))
intents = st.sampled_from([NO_INTENT, NO_INTENT, *BAR["intents"], "calendar_set", "unknown"])
seconds = st.floats(0, 100)


@st.composite
def turns(draw: st.DrawFn) -> events.Understood:
    text = draw(texts)
    heard = Understanding(
        draw(intents), draw(st.floats(0, 1)), values=find_values(text, NOW), negated=draw(st.booleans())
    )
    return events.Understood(draw(seconds), text, heard, draw(st.sampled_from(["", "", "An answer."])))


happenings = st.one_of(
    turns(),
    turns(),
    turns(),
    st.builds(events.Silence, seconds),
    st.builds(events.Interrupted, seconds),
    st.builds(events.Dtmf, seconds, st.text("0123456789*#A", min_size=1, max_size=4)),
    st.builds(events.ParametersSet, seconds, st.dictionaries(st.sampled_from(["house", "x"]), texts, max_size=2)),
    st.builds(events.Fulfilled, seconds, st.integers(0, 4), st.dictionaries(st.sampled_from(["size", "y"]), texts)),
    st.builds(events.FulfilmentFailed, seconds, st.integers(0, 4)),
)


@examples(100)
@given(st.sampled_from(AGENTS), st.lists(happenings, max_size=30))
def test_what_always_holds(agent, drawn):
    state, _ = step(agent, State(), events.Began(0.0))
    numbers: list[int] = []
    for event in drawn:
        before, copied = state, msgspec.json.encode(state)
        state, actions = step(agent, before, event)
        assert msgspec.json.encode(before) == copied, "states never change"
        assert step(agent, before, event) == (state, actions), "a step depends on nothing else"
        if before.ended:
            assert actions == (), "an ended dialog does nothing"
            continue
        ends = [action for action in actions if not isinstance(action, Say)]
        assert len(ends) <= 1, "one thing is waited for"
        assert not ends or actions[-1] is ends[0], "what is waited for comes last"
        assert all(action.text.strip() and "{" not in action.text for action in actions if isinstance(action, Say))
        if isinstance(event, events.Understood | events.Silence) and not before.fulfilling:
            assert ends, "a turn leaves no dialog without knowing what it waits for"
        for action in actions:
            if isinstance(action, Fulfil):
                numbers.append(action.number)
                slots = agent.slots_of(action.intent)
                assert {name for name, slot in slots.items() if slot.required} <= action.slots.keys()
                assert state.fulfilling == action.number
            if isinstance(action, Listen) and action.slot:
                assert state.form is not None
                assert action.slot not in state.form.slots, "nothing is asked for that is known"
        assert bool(state.ended) == any(isinstance(action, End) for action in actions)
        assert len(state.suspended) <= 3
        assert len(state.contexts) <= 2
        assert len(state.held) <= 4
    assert len(numbers) == len(set(numbers)), "nothing is done twice"


@examples(50)
@given(st.lists(st.sampled_from(["bananas", "pears", ""]), min_size=8, max_size=8))
def test_callers_who_are_never_understood_reach_an_end(said):
    agent = AGENTS[0]
    state, _ = step(agent, State(), events.Began(0.0))
    state, _ = step(agent, state, events.Understood(1.0, "order", Understanding("order", 1.0)))
    for text in said:
        state, _ = step(agent, state, events.Understood(2.0, text))
    assert state.ended == "end"
