"""The model ``embed`` inside a real Triton, and its client."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import numpy as np
import pytest
import tritonclient.grpc as grpc_client
from tritonclient.utils import InferenceServerException

from engines.build.sentence_embedding import TARGET
from engines.embed.embedder import Embedder
from pipelines.models.shipped import EMBEDDING
from pipelines.models.triton.client import TritonClient
from pipelines.models.triton.embedding import TritonEmbeddings
from tests.integration.bert_models import strings

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

TEXTS = ["When does the ferry leave?", "", "The boat goes at nine. " * 80, "ünïcödé 字"]


@pytest.fixture
async def model(triton_address: str) -> AsyncIterator[TritonEmbeddings]:
    client = TritonClient(triton_address)
    yield TritonEmbeddings(client)
    await client.close()


async def test_vectors_are_those_of_the_builder(model: TritonEmbeddings):
    found = await model.embed(TEXTS)
    assert np.abs(found.vectors - Embedder(TARGET, 1).embed(TEXTS)).max() < 1e-4
    assert found.timing.compute_seconds > 0


async def test_requests_at_once_are_answered_as_alone(model: TritonEmbeddings):
    alone = [(await model.embed([text])).vectors[0] for text in TEXTS]
    together = await asyncio.gather(*(model.embed([text]) for text in TEXTS * 8))
    for number, found in enumerate(together):
        assert np.abs(found.vectors[0] - alone[number % len(TEXTS)]).max() < 1e-4


async def test_the_probes_pass(model: TritonEmbeddings):
    assert all([await probe.ask(model) for probe in (*EMBEDDING.probes, EMBEDDING.heartbeat)])


def test_what_is_not_utf8_is_refused(triton_address: str):
    with grpc_client.InferenceServerClient(triton_address) as client:
        with pytest.raises(InferenceServerException, match="TEXT is not UTF-8"):
            client.infer("embed", [strings("TEXT", [b"\xff"], [1, 1])], client_timeout=30)
        assert client.infer("embed", [strings("TEXT", ["x"], [1, 1])], client_timeout=30).as_numpy("EMBEDDING").any()
