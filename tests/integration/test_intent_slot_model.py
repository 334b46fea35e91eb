from __future__ import annotations

import itertools
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest
import tritonclient.grpc as triton
from tritonclient.utils import InferenceServerException

from tests.integration.bert_models import strings, understand

if TYPE_CHECKING:
    from collections.abc import Iterator

COMMANDS = [
    ("Turn on the lights in the kitchen.", "iot_hue_lighton", {"house_place": "kitchen"}),
    (
        "What's the weather like in Paris this weekend?",
        "weather_query",
        {"place_name": "Paris", "date": "this weekend"},
    ),
    ("Play some jazz, please.", "play_music", {"music_genre": "jazz"}),
    ("😀 turn off the bedroom lights", "iot_hue_lightoff", {"house_place": "bedroom"}),
    ("WAKE ME UP AT 7:30 A.M. TOMORROW", "alarm_set", {"time": "7:30 A.M.", "date": "TOMORROW"}),
]
OUTSIDE = [
    "Who wrote the annual report?",
    "The quarterly figures were disappointing.",
    "What is the warranty period of the dishwasher?",
    "She walked along the river until it grew dark.",
]


@pytest.fixture(scope="module")
def client(triton_address: str) -> Iterator[triton.InferenceServerClient]:
    with triton.InferenceServerClient(triton_address) as connected:
        yield connected


@pytest.mark.parametrize(("text", "intent", "slots"), COMMANDS)
def test_a_command_is_understood(client, text, intent, slots):
    (understood,) = understand(client, text)
    assert understood.intent == intent
    assert understood.slots == slots
    assert 0.5 < understood.confidence <= 1
    assert understood.compute_ms > 0


@pytest.mark.parametrize("text", OUTSIDE)
def test_what_no_intent_covers_is_not_forced_into_one(client, text):
    (understood,) = understand(client, text)
    assert (understood.intent, understood.slots) == ("none", {})
    assert understood.confidence < 0.5


def test_kinds_and_candidates_are_told_for_each_row(client):
    texts = [
        "Turn on the lights.",
        "Don't turn on the lights!",
        "Are the lights on?",
        "",
        "I turned them on yesterday.",
    ]
    result = client.infer("intent_slot", [strings("TEXT", texts, [len(texts), 1])], client_timeout=30)
    told = zip(result.as_numpy("INTENT"), result.as_numpy("KIND"), result.as_numpy("NEGATED"), strict=True)
    assert [(intent[0].decode(), kind[0].decode(), bool(negated[0])) for intent, kind, negated in told] == [
        ("iot_hue_lighton", "command", False),
        ("none", "command", True),
        ("none", "question", False),
        ("none", "", False),
        ("none", "statement", False),
    ]
    names, scores = result.as_numpy("INTENT_NAMES"), result.as_numpy("INTENT_SCORES")
    assert names[0][0] == b"iot_hue_lighton"
    assert scores[0][0] == pytest.approx(float(result.as_numpy("CONFIDENCE")[0][0]))
    assert not any(names[3])
    assert all(one >= other for one, other in itertools.pairwise(scores[0]))


def test_an_empty_text_asks_for_nothing(client):
    (understood,) = understand(client, "")
    assert (understood.intent, understood.confidence, understood.slots) == ("none", 0.0, {})


def test_a_very_long_text_is_served(client):
    (understood,) = understand(client, "turn on the lights " * 5000)
    assert understood.intent == "iot_hue_lighton"


def test_a_batch_is_decided_as_its_rows_alone(client):
    texts = [text for text, _, _ in COMMANDS] + OUTSIDE + [""]
    alone = [understand(client, text)[0] for text in texts]
    with ThreadPoolExecutor(8) as pool:
        concurrent = list(pool.map(lambda text: understand(client, text)[0], texts * 3))
    for got, expected in ((understand(client, *texts), alone), (concurrent, alone * 3)):
        assert [(u.intent, u.slots) for u in got] == [(u.intent, u.slots) for u in expected]
        assert [u.confidence for u in got] == pytest.approx([u.confidence for u in expected], abs=1e-3)


def test_requests_are_batched(client):
    def executions() -> tuple[int, int]:
        (stats,) = client.get_inference_statistics("intent_slot_bert", as_json=True)["model_stats"]
        return int(stats["inference_count"]), int(stats["execution_count"])

    before = executions()
    with ThreadPoolExecutor(16) as pool:
        list(pool.map(lambda _: understand(client, "what time is it in Tokyo"), range(64)))
    requests, batches = (after - earlier for after, earlier in zip(executions(), before, strict=True))
    # The watchdog of a service may have asked too.
    assert 64 <= requests < 70
    assert batches < 64


def test_a_text_that_is_not_utf8_fails_alone(client):
    with pytest.raises(InferenceServerException, match="TEXT is not UTF-8"):
        client.infer("intent_slot", [strings("TEXT", [b"\xff\xfe lights"], [1, 1])])
    assert understand(client, "turn on the lights")[0].intent == "iot_hue_lighton"
