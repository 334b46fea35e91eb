"""``RivaLanguageUnderstanding`` through a real socket; the model behind finds the intent "count" and the first word."""

import asyncio
import contextlib
from itertools import product

import grpc
import pytest

from pipelines.errors import ModelUnavailableError
from service.api.riva.proto import riva_nlp_pb2 as pb
from service.api.riva.proto.riva_common_pb2 import RequestId
from service.refusals import TooManyConversationsError
from tests.unit.service.harness import Harness
from tests.unit.service.refusals import assert_refused, details_of
from tests.unit.service.riva.calls import language

ID = RequestId(value="mine")
ONES = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")


async def test_a_text_has_an_intent_and_slots(harness: Harness):
    response = await language(harness).AnalyzeIntent(pb.AnalyzeIntentRequest(query="three red roses", id=ID))
    assert (response.intent.class_name, response.intent.score) == ("count", pytest.approx(0.9))
    (slot,) = response.slots
    assert (slot.token, slot.label[0].class_name, slot.span[0].start, slot.span[0].end) == ("three", "first", 0, 5)
    assert response.id.value == "mine"


async def test_the_slots_of_a_text_are_its_entities(harness: Harness):
    response = await language(harness).AnalyzeEntities(pb.AnalyzeEntitiesRequest(query="three red roses", id=ID))
    ((slot,),) = (sequence.results for sequence in response.results)
    assert (slot.token, slot.label[0].class_name) == ("three", "first")
    assert response.id.value == "mine"


async def test_texts_are_classified_in_order(harness: Harness):
    response = await language(harness).ClassifyText(pb.TextClassRequest(text=["one", "two"], top_n=3, id=ID))
    assert [[label.class_name for label in result.labels] for result in response.results] == [["count"]] * 2
    assert response.id.value == "mine"


async def test_every_word_of_a_text_has_a_class(harness: Harness):
    request = pb.TokenClassRequest(text=["Three, red roses!", "one"], id=ID)
    response = await language(harness).ClassifyTokens(request)
    first, second = response.results
    assert [(word.token, word.label[0].class_name) for word in first.results] == [
        ("Three", "first"),
        ("red", "O"),
        ("roses", "O"),
    ]
    assert [(word.span[0].start, word.span[0].end) for word in first.results] == [(0, 5), (7, 10), (11, 16)]
    assert [word.token for word in second.results] == ["one"]
    assert response.id.value == "mine"


async def test_a_question_has_an_answer(harness: Harness):
    request = pb.NaturalQueryRequest(query="Where?", context="Paris is a city.", top_n=2, id=ID)
    response = await language(harness).NaturalQuery(request)
    assert [(result.answer, result.score) for result in response.results] == [("Paris", pytest.approx(0.8))]
    assert response.id.value == "mine"


async def test_a_question_without_an_answer_has_an_empty_one(harness: Harness):
    harness.models.answers_anything = False
    response = await language(harness).NaturalQuery(pb.NaturalQueryRequest(query="Who?", context="Paris is a city."))
    assert [(result.answer, result.score) for result in response.results] == [("", 0.0)]


async def test_texts_are_written_in_figures(harness: Harness):
    request = pb.TextTransformRequest(text=["It costs twenty three dollars.", "Hello!"], id=ID)
    request.model.model_name = "itn"
    response = await language(harness).TransformText(request)
    assert list(response.text) == ["It costs $23.", "Hello!"]
    assert response.id.value == "mine"


async def test_others_are_served_while_long_texts_are_written_in_figures(harness: Harness):
    amounts = [f"{hundreds} hundred {tens} {ones} dollars." for hundreds, tens, ones in product(ONES, TENS, ONES)]
    texts = [" ".join(amounts[start : start + 50]) for start in range(0, 500, 50)]
    writing = asyncio.ensure_future(language(harness).TransformText(pb.TextTransformRequest(text=texts)))
    for _ in range(5):
        await language(harness).GetRivaNLPConfig(pb.RivaNLPConfigRequest())
    assert not writing.done()
    assert [text.count("$") for text in (await writing).text] == [50] * 10


@pytest.mark.parametrize("model", ["", "punctuation", "riva-punctuation-en-US"])
async def test_texts_are_punctuated_as_one_batch(harness: Harness, model: str):
    request = pb.TextTransformRequest(text=["hello there", "good bye"], id=ID)
    request.model.model_name = model
    response = await language(harness).PunctuateText(request)
    assert list(response.text) == ["Hello there.", "Good bye."]
    assert response.id.value == "mine"
    assert harness.models.punctuated == [["hello there", "good bye"]]


async def test_the_config_of_understanding_tells_the_models(harness: Harness):
    every = await language(harness).GetRivaNLPConfig(pb.RivaNLPConfigRequest())
    assert [model.model_name for model in every.model_config] == ["intent_slot", "qa", "itn", "punctuation"]
    one = await language(harness).GetRivaNLPConfig(pb.RivaNLPConfigRequest(model_name="qa"))
    assert [(model.model_name, model.parameters["language_code"]) for model in one.model_config] == [("qa", "en-US")]
    nvidias = await language(harness).GetRivaNLPConfig(pb.RivaNLPConfigRequest(model_name="riva-punctuation-en-US"))
    assert [model.model_name for model in nvidias.model_config] == ["punctuation"]


@pytest.mark.parametrize(
    ("method", "request_"),
    [
        ("AnalyzeIntent", pb.AnalyzeIntentRequest(query="three")),
        ("NaturalQuery", pb.NaturalQueryRequest(query="Where?", context="Paris is a city.")),
        ("PunctuateText", pb.TextTransformRequest(text=["hello"])),
    ],
)
async def test_a_text_takes_a_place_and_gives_it_back(harness: Harness, method: str, request_: object):
    call = getattr(language(harness), method)
    async with contextlib.AsyncExitStack() as places:
        taken = await take_all(harness, places)
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await call(request_)
        assert refused.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert details_of(refused.value)["RetryInfo"].retry_delay.ToMilliseconds() > 0
    await call(request_)
    async with contextlib.AsyncExitStack() as places:
        assert await take_all(harness, places) == taken


async def take_all(harness: Harness, places: contextlib.AsyncExitStack) -> int:
    for taken in range(1_000):
        try:
            await places.enter_async_context(harness.admission.typed_turn())
        except TooManyConversationsError:
            return taken
    raise AssertionError("there is no end of places")


REFUSED = {
    "an empty text": ("AnalyzeIntent", pb.AnalyzeIntentRequest(), "EMPTY_TEXT", "query"),
    "a long text": ("AnalyzeEntities", pb.AnalyzeEntitiesRequest(query="x" * 2_001), "TEXT_TOO_LONG", "query"),
    "another language": (
        "AnalyzeIntent",
        pb.AnalyzeIntentRequest(query="salut", options={"lang": "fr-FR"}),
        "UNSUPPORTED_LANGUAGE",
        "options.lang",
    ),
    "another language of texts": (
        "ClassifyText",
        pb.TextClassRequest(text=["salut"], model={"language_code": "fr-FR"}),
        "UNSUPPORTED_LANGUAGE",
        "model.language_code",
    ),
    "another model": (
        "ClassifyTokens",
        pb.TokenClassRequest(text=["hello"], model={"model_name": "riva_ner"}),
        "UNKNOWN_MODEL",
        "model.model_name",
    ),
    "a model for something else": (
        "TransformText",
        pb.TextTransformRequest(text=["hello"], model={"model_name": "qa"}),
        "UNKNOWN_MODEL",
        "model.model_name",
    ),
    "a model that cannot punctuate": (
        "PunctuateText",
        pb.TextTransformRequest(text=["hello"], model={"model_name": "itn"}),
        "UNKNOWN_MODEL",
        "model.model_name",
    ),
    "another language to punctuate": (
        "PunctuateText",
        pb.TextTransformRequest(text=["salut"], model={"language_code": "fr-FR"}),
        "UNSUPPORTED_LANGUAGE",
        "model.language_code",
    ),
    "nothing to punctuate": ("PunctuateText", pb.TextTransformRequest(text=["x", ""]), "EMPTY_TEXT", "text"),
    "too much to punctuate": ("PunctuateText", pb.TextTransformRequest(text=["x" * 2_001]), "TEXT_TOO_LONG", "text"),
    "too many texts to punctuate": (
        "PunctuateText",
        pb.TextTransformRequest(text=["x"] * 65),
        "TEXT_COUNT_OUT_OF_RANGE",
        "text",
    ),
    "no texts": ("ClassifyText", pb.TextClassRequest(), "TEXT_COUNT_OUT_OF_RANGE", "text"),
    "too many texts": ("TransformText", pb.TextTransformRequest(text=["x"] * 65), "TEXT_COUNT_OUT_OF_RANGE", "text"),
    "too much to write in figures": (
        "TransformText",
        pb.TextTransformRequest(text=["x" * 2_000] * 10 + ["x"]),
        "TEXTS_TOO_LONG",
        "text",
    ),
    "an empty text among others": ("ClassifyText", pb.TextClassRequest(text=["x", " "]), "EMPTY_TEXT", "text"),
    "no question": ("NaturalQuery", pb.NaturalQueryRequest(context="Paris."), "EMPTY_TEXT", "query"),
    "no context": ("NaturalQuery", pb.NaturalQueryRequest(query="Who?"), "EMPTY_DOCUMENT", "context"),
    "a long context": (
        "NaturalQuery",
        pb.NaturalQueryRequest(query="Who?", context="x" * 100_001),
        "DOCUMENTS_TOO_LONG",
        "context",
    ),
    "the config of another model": (
        "GetRivaNLPConfig",
        pb.RivaNLPConfigRequest(model_name="riva_ner"),
        "UNKNOWN_MODEL",
        "model_name",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
async def test_what_cannot_be_served_is_refused(harness: Harness, case: str):
    method, request, reason, field = REFUSED[case]
    with pytest.raises(grpc.RpcError) as refused:
        await getattr(language(harness), method)(request)
    assert_refused(refused.value, reason, field)


async def test_models_that_cannot_be_reached_are_told_as_such(harness: Harness):
    harness.models.fail = {"nlu"}
    harness.models.error = ModelUnavailableError("the model server cannot be reached: try again soon")
    with pytest.raises(grpc.RpcError) as failed:
        await language(harness).ClassifyText(pb.TextClassRequest(text=["one", "two"]))
    assert details_of(failed.value)["ErrorInfo"].reason == "MODELS_UNAVAILABLE"


async def test_a_model_that_fails_to_punctuate_is_told_as_such(harness: Harness):
    harness.models.fail = {"punctuation"}
    with pytest.raises(grpc.RpcError) as failed:
        await language(harness).PunctuateText(pb.TextTransformRequest(text=["one"]))
    assert details_of(failed.value)["ErrorInfo"].reason == "MODEL_FAILED"


async def test_before_the_models_are_ready_a_caller_is_told_to_return():
    async with Harness.running(ready=False) as harness:
        with pytest.raises(grpc.RpcError) as refused:
            await language(harness).AnalyzeIntent(pb.AnalyzeIntentRequest(query="hello"))
        assert details_of(refused.value)["ErrorInfo"].reason == "NOT_READY"
