"""Networks of other makers, imported and served by a real Triton: what the service answers is what they compute."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import pytest
import torch

import vivavoce
from engines.bert.preselection import choose_windows
from engines.bert.session import BertSession
from engines.bert.span_decoding import Calibration, SpanDecoder
from engines.bert.tokenizing import DocumentTokenizer
from lab.tests.unit.modelkit.importing.checkpoints import (
    hugging_face,
    nemo_intent_slot,
    network_in,
    pack,
)
from modelkit.importing.checkpoint import read_checkpoint
from modelkit.importing.engine import write_engine
from service.processes.child_process import listening

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCUMENT = "Turn on the lights in the kitchen. The tower is named after Gustave Eiffel, who built it. " * 40
PATIENT_SECONDS = 30.0


@pytest.fixture(scope="module")
def engines(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A NeMo model of which every word is a place, and a RoBERTa that points at some span of a document."""
    folder = tmp_path_factory.mktemp("imported")
    network, members = nemo_intent_slot(("place", "O"))
    with torch.no_grad():
        for head, bias in (("intent_mlp", [0.0, 9.0, 0.0]), ("slot_mlp", [9.0, 0.0])):
            last = getattr(network.classifier, head).layer2
            last.weight.zero_()
            last.bias.copy_(torch.tensor(bias))
    weights = io.BytesIO()
    torch.save(network.state_dict(), weights)
    source = pack(folder / "model.nemo", members | {"./model_weights.ckpt": weights.getvalue()})
    hugging_face(folder / "qa", "roberta", "ForQuestionAnswering")
    made = []
    for number, path in enumerate((source, folder / "qa")):
        scratch, out = folder / f"scratch{number}", folder / f"engine{number}"
        scratch.mkdir()
        write_engine(read_checkpoint([path], scratch), out)
        made.append(out)
    return made[0], made[1]


@pytest.fixture(scope="module")
def address(engines: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    chosen = [argument for engine in engines for argument in ("--engine", str(engine))]
    log = tmp_path_factory.mktemp("imported_service") / "log.txt"
    with listening(["-m", "vivavoce", "serve", "--port", "0", *chosen], log) as (_, address):
        yield address


async def test_the_service_answers_what_the_networks_compute(address, engines):
    document = vivavoce.Document(DOCUMENT)
    async with vivavoce.connect(address) as client:
        reply = await client.ask("Who is jimmie's friend", documents=[document], reply_budget_seconds=PATIENT_SECONDS)
    assert reply.status is vivavoce.ReplyStatus.COMPLETE
    assert reply.intent.name == "lights"
    assert [(slot.name, slot.text) for slot in reply.slots] == [("place", "Who is jimmie's friend")]
    assert reply.answer is not None
    assert reply.answer.text == DOCUMENT[slice(*best_span(engines[1], "Who is jimmie's friend", DOCUMENT))]


def best_span(engine: Path, question: str, document: str) -> tuple[int, int]:
    """Answers as the engine's own files do, without Triton and service."""
    folder = engine / "triton"
    batch = choose_windows(DocumentTokenizer(folder / "qa_tokenize/1/tokenizer.json").encode(question, document), 4)
    session = BertSession(network_in(engine, "qa"))
    (outputs,) = session.run([{name: getattr(batch, name) for name in session.inputs}])
    decoder = SpanDecoder(Calibration.load(folder / "qa_decode/1/calibration.json"))
    answer = decoder.decode(batch.offsets, outputs["start_logits"], outputs["end_logits"])
    return answer.start, answer.end
