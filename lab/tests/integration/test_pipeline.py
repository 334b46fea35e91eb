"""Networks as pipelines of stages, served by a real Triton: answers, stages that die, and versions beside them."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import vivavoce
from lab.tests.unit.modelkit.importing.asr_checkpoints import NEMO
from lab.tests.unit.modelkit.test_splitting import shipped, stage_folders
from modelkit.evaluation.asr_engine import run_engine
from modelkit.evaluation.local import LocalEngines
from modelkit.importing.asr.engine import AsrOptions, import_asr
from modelkit.splitting.engine import split_engine
from modelkit.triton_models import NLU_MODELS
from service.processes.child_process import listening
from tests.integration.triton_processes import family, stub

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    import psutil

TEXTS = ("Turn on the lights in the kitchen.", "What is the weather like in Paris this weekend?", "Stop.")
PATIENT_SECONDS = 60.0
RECORDING = NEMO.parents[3] / "demo" / "recordings" / "weather.flac"

Service = tuple[subprocess.Popen[str], str]


@pytest.fixture(scope="module")
def pipeline(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pipeline")
    split_engine(shipped(folder / "whole", NLU_MODELS), 3, folder / "engine")
    return folder / "engine"


@pytest.fixture(scope="module")
def recognizers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped recognizer and an imported streaming one, whole and in stages."""
    folder = tmp_path_factory.mktemp("recognizers")
    shipped(folder / "shipped", ("asr",))
    import_asr(NEMO / "hybrid_streaming.nemo", folder / "stream", AsrOptions(160))
    for name in ("shipped", "stream"):
        split_engine(folder / name, 2, folder / f"{name}_stages")
    return folder


@pytest.fixture(scope="module")
def service(pipeline: Path, recognizers: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    log = tmp_path_factory.mktemp("pipeline_service") / "log.txt"
    engines = ["--engine", pipeline, "--engine", recognizers / "shipped_stages"]
    variant = ["--variant", f"stream={recognizers / 'stream_stages'}"]
    arguments = ["-m", "vivavoce", "serve", "--port", "0", *map(str, engines), *variant]
    with listening(arguments, log) as (process, address):
        yield process, address


async def check_answers(address: str) -> None:
    """Compare every reply with what the whole network computes in this process."""
    whole = LocalEngines()
    async with vivavoce.connect(address) as client:
        for text in TEXTS:
            reply = await client.ask(text, reply_budget_seconds=PATIENT_SECONDS)
            expected = await whole.understand(text)
            assert reply.status is vivavoce.ReplyStatus.COMPLETE
            assert reply.intent is not None
            assert reply.intent.name == expected.intent
            assert reply.intent.confidence == pytest.approx(expected.confidence, abs=1e-6)
            assert [(slot.name, slot.text) for slot in reply.slots] == [
                (slot.name, text[slot.start : slot.end]) for slot in expected.slots
            ]


def load(service: Service, engine: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "vivavoce", "models", "load", str(engine), "--server", service[1]]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENT_SECONDS, check=False)


async def test_a_pipeline_answers_as_the_whole_and_takes_its_place(service: Service):
    await check_answers(service[1])
    models = {argument for process in family(service[0]) for argument in process.cmdline() if "_0_0" in argument}
    assert {f"intent_slot_bert_stage_{number}_0_0" for number in (1, 2, 3)} <= models
    assert "intent_slot_bert_0_0" not in models, "the shipped network would take memory for nothing"


@pytest.mark.parametrize("stage", [1, 3])
async def test_a_stage_that_dies_is_started_again_and_no_request_is_lost(service: Service, stage: int):
    others = {process.pid for process in family(service[0])}
    victim = stub(service[0], f"intent_slot_bert_stage_{stage}")
    victim.kill()
    await check_answers(service[1])
    assert stub(service[0], f"intent_slot_bert_stage_{stage}").pid != victim.pid
    assert others - {victim.pid} <= {process.pid for process in family(service[0])}, "the others went on"


async def test_a_truncated_stage_is_refused_and_the_pipeline_goes_on(service: Service, pipeline: Path, tmp_path: Path):
    damaged = shutil.copytree(pipeline, tmp_path / "damaged")
    network = stage_folders(damaged)[1] / "stage.onnx"
    network.write_bytes(network.read_bytes()[:-1000])
    refused = load(service, damaged)
    assert refused.returncode == 1
    assert "intent_slot_bert_stage_2" in refused.stderr
    await check_answers(service[1])


async def test_another_number_of_stages_takes_over_while_the_service_runs(service: Service, tmp_path: Path):
    split_engine(shipped(tmp_path / "whole", NLU_MODELS), 2, tmp_path / "engine")
    loaded = load(service, tmp_path / "engine")
    assert loaded.returncode == 0, loaded.stderr
    # Version 2 was the damaged one.
    assert stub(service[0], "intent_slot_bert_stage_2.3").is_running()
    await check_answers(service[1])


async def heard(address: str, variant: str, kill: psutil.Process | None = None) -> str:
    """Say a recording, and return its final transcript; end a process in the middle of it."""
    recording = vivavoce.read_audio(RECORDING)

    async def pieces() -> AsyncIterator[object]:
        for index, piece in enumerate(recording.chunks()):
            await asyncio.sleep(0.02)
            if kill is not None and index == 15:
                kill.kill()
            yield piece
        yield vivavoce.EndOfUtterance()

    async with vivavoce.connect(address) as client:
        events = client.converse(
            pieces(),
            audio=vivavoce.AudioFormat(sample_rate_hz=recording.sample_rate_hz),
            variants={"asr": variant} if variant else {},
            endpointing=vivavoce.Endpointing(disabled=True),
            reply_budget_seconds=PATIENT_SECONDS,
        )
        (text,) = [event.text async for event in events if isinstance(event, vivavoce.Transcript) and event.is_final]
    return text


@pytest.mark.parametrize(("variant", "whole"), [("", "shipped"), ("stream", "stream")])
async def test_an_encoder_in_stages_hears_what_the_whole_does_and_loses_no_word(
    service: Service, recognizers: Path, variant: str, whole: str
):
    (expected,) = run_engine(recognizers / whole, [RECORDING], str)
    assert await heard(service[1], variant) == expected.text
    for stage in (1, 2):
        model = f"asr_stage_{stage}{variant and '-' + variant}"
        victim = stub(service[0], model)
        assert await heard(service[1], variant, victim) == expected.text
        assert stub(service[0], model).pid != victim.pid
