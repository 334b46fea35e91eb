"""The servicer of ``nvidia.riva.nlp.RivaLanguageUnderstanding``."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from pipelines.data.answers import Document
from pipelines.errors import InvalidInputError
from pipelines.models.bulk import BulkGate, pieces
from pipelines.models.contracts import INTENT_SLOT, PUNCTUATION, QA
from pipelines.stages.answering import MAX_DOCUMENT_CHARACTERS, find_answer
from pipelines.stages.understanding import understand
from pipelines.text.itn import inverse_normalize
from service.api.riva.fields import check_model, renamed
from service.api.riva.nlp import words
from service.api.riva.proto import riva_nlp_pb2 as pb
from service.api.vivavoce.converters import LANGUAGE, check_language, check_text
from service.grpc_server.deserializers import refuse_malformed
from service.grpc_server.errors import reported_to

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from pipelines.data.understanding import Understanding
    from pipelines.models.ports import Models
    from service.admission.admission import Admission
    from service.api.riva.proto import riva_common_pb2
    from service.grpc_server.errors import Context

MAX_TEXTS = 64
MAX_CHARACTERS_IN_FIGURES = 20_000
"""Of all texts of a request together: numbers are written on the core that serves everybody."""

_FIGURES = "itn"
_NVIDIAS = {"riva-punctuation-en-US": PUNCTUATION}
"""What NVIDIA calls its own, which clients ask for by name, and ours in their place."""
_TASKS = {
    INTENT_SLOT: "intent and slot classification",
    QA: "question answering",
    _FIGURES: "text transformation",
    PUNCTUATION: "punctuation and capitalization",
}


class LanguageServicer:
    """Understands text for Riva's clients.

    Args:
        models: understanding, answering, and capitals and punctuation.
        admission: who is let in; a request takes the place of a typed turn.
        bulk: lets requests of many texts pass after live replies.
    """

    def __init__(self, models: Models, admission: Admission, bulk: BulkGate | None = None) -> None:
        self._bulk = bulk or BulkGate()
        self._models = models
        self._admission = admission

    async def AnalyzeIntent(  # noqa: N802 - named by the contract
        self, request: pb.AnalyzeIntentRequest, context: Context
    ) -> pb.AnalyzeIntentResponse:
        """Find the intent of a text and its slots; see the contract."""
        async with self._served(request, context):
            check_language(request.options.lang, "options.lang")
            found = await self._understand(request.query, "query")
            return pb.AnalyzeIntentResponse(
                intent=words.to_intent(found), slots=words.to_slots(found.slots), id=_id(request)
            )

    async def AnalyzeEntities(  # noqa: N802 - named by the contract
        self, request: pb.AnalyzeEntitiesRequest, context: Context
    ) -> pb.TokenClassResponse:
        """Find the slots of a text; see the contract."""
        async with self._served(request, context):
            check_language(request.options.lang, "options.lang")
            found = await self._understand(request.query, "query")
            sequence = pb.TokenClassSequence(results=words.to_slots(found.slots))
            return pb.TokenClassResponse(results=[sequence], id=_id(request))

    async def ClassifyText(  # noqa: N802 - named by the contract
        self, request: pb.TextClassRequest, context: Context
    ) -> pb.TextClassResponse:
        """Find the intents of texts; see the contract."""
        async with self._served(request, context):
            found = await self._understand_all(request)
            results = [pb.ClassificationResult(labels=[words.to_intent(each)]) for each in found]
            return pb.TextClassResponse(results=results, id=_id(request))

    async def ClassifyTokens(  # noqa: N802 - named by the contract
        self, request: pb.TokenClassRequest, context: Context
    ) -> pb.TokenClassResponse:
        """Find the slot of each word of texts; see the contract."""
        async with self._served(request, context):
            found = await self._understand_all(request)
            results = [
                pb.TokenClassSequence(results=words.to_words(text, each.slots))
                for text, each in zip(request.text, found, strict=True)
            ]
            return pb.TokenClassResponse(results=results, id=_id(request))

    async def NaturalQuery(  # noqa: N802 - named by the contract
        self, request: pb.NaturalQueryRequest, context: Context
    ) -> pb.NaturalQueryResponse:
        """Find the answer to a question; see the contract."""
        async with self._served(request, context):
            with renamed({"text": "query"}):
                check_text(request.query)
            search = await find_answer(self._models.answers, request.query, (_document(request.context),))
            return pb.NaturalQueryResponse(results=words.to_answers(search.answer), id=_id(request))

    async def TransformText(  # noqa: N802 - named by the contract
        self, request: pb.TextTransformRequest, context: Context
    ) -> pb.TextTransformResponse:
        """Write texts in figures; see the contract."""
        async with self._served(request, context):
            _check_texts(request.text)
            _check_params(request.model, _FIGURES)
            _check_length(request.text)
            written = []
            for text in request.text:
                async with self._bulk.piece(_FIGURES):
                    written.append(await inverse_normalize(text))
            return pb.TextTransformResponse(text=written, id=_id(request))

    async def PunctuateText(  # noqa: N802 - named by the contract
        self, request: pb.TextTransformRequest, context: Context
    ) -> pb.TextTransformResponse:
        """Write texts with capitals and punctuation; see the contract."""
        async with self._served(request, context):
            _check_texts(request.text)
            _check_params(request.model, PUNCTUATION, *_NVIDIAS)
            written = []
            for piece in pieces(request.text):
                async with self._bulk.piece(PUNCTUATION):
                    written += await self._models.get(PUNCTUATION).punctuate(piece)
            return pb.TextTransformResponse(text=written, id=_id(request))

    async def GetRivaNLPConfig(  # noqa: N802 - named by the contract
        self, request: pb.RivaNLPConfigRequest, context: Context
    ) -> pb.RivaNLPConfigResponse:
        """Tell which models there are; see the contract."""
        async with reported_to(context):
            refuse_malformed(request)
            self._admission.check()
            check_model(request.model_name, (*_TASKS, *_NVIDIAS), "model_name")
            wanted = _NVIDIAS.get(request.model_name, request.model_name)
            configs = [
                pb.RivaNLPConfigResponse.Config(model_name=name, parameters={"language_code": LANGUAGE, "task": task})
                for name, task in _TASKS.items()
                if wanted in {"", name}
            ]
            return pb.RivaNLPConfigResponse(model_config=configs)

    @contextlib.asynccontextmanager
    async def _served(self, request: object, context: Context) -> AsyncIterator[None]:
        """Run a request in a typed turn's place, and answer its errors."""
        async with reported_to(context):
            refuse_malformed(request)
            async with self._admission.typed_turn():
                yield

    async def _understand(self, text: str, field: str) -> Understanding:
        with renamed({"text": field}):
            check_text(text)
        return await understand(self._models.intents, text)

    async def _understand_all(self, request: pb.TextClassRequest | pb.TokenClassRequest) -> list[Understanding]:
        """Understand the texts in pieces, each of which the model serves as one batch."""
        _check_texts(request.text)
        _check_params(request.model, INTENT_SLOT)
        found: list[Understanding] = []
        for piece in pieces(request.text):
            async with self._bulk.piece(INTENT_SLOT):
                found += await asyncio.gather(*(understand(self._models.intents, text) for text in piece))
        return found


def _check_texts(texts: Sequence[str]) -> None:
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise InvalidInputError("text", "TEXT_COUNT_OUT_OF_RANGE", f"{len(texts)} texts: send 1 to {MAX_TEXTS}")
    for text in texts:
        check_text(text)


def _check_length(texts: Sequence[str]) -> None:
    if (length := sum(map(len, texts))) > MAX_CHARACTERS_IN_FIGURES:
        message = f"the texts have {length:,} characters together: send at most {MAX_CHARACTERS_IN_FIGURES:,}"
        raise InvalidInputError("text", "TEXTS_TOO_LONG", message)


def _check_params(params: pb.NLPModelParams, *models: str) -> None:
    check_model(params.model_name, models, "model.model_name")
    check_language(params.language_code, "model.language_code")


def _document(text: str) -> Document:
    if not text.strip():
        raise InvalidInputError("context", "EMPTY_DOCUMENT", "the context is empty: send the text that may answer")
    if len(text) > MAX_DOCUMENT_CHARACTERS:
        message = f"the context has {len(text):,} characters: send at most {MAX_DOCUMENT_CHARACTERS:,}"
        raise InvalidInputError("context", "DOCUMENTS_TOO_LONG", message)
    return Document("context", text)


def _id(
    request: pb.AnalyzeIntentRequest
    | pb.AnalyzeEntitiesRequest
    | pb.TextClassRequest
    | pb.TokenClassRequest
    | pb.NaturalQueryRequest
    | pb.TextTransformRequest,
) -> riva_common_pb2.RequestId | None:
    return request.id if request.HasField("id") else None
