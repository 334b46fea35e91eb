"""Serves the naive baseline behind the contract of the service.

``python -m benchmarks.alternatives.naive_service`` prints its address when it is ready, as ``vivavoce serve`` does.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import click
import grpc

from benchmarks.alternatives.naive import NaiveModels
from modelkit.recover import recover
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS, QA_MODELS
from pipelines.models.contracts import ASR, INTENT_SLOT, QA
from pipelines.models.shipped import SHIPPED
from pipelines.models.versions.trial import warm_up
from pipelines.vad.voice_activity import SileroModel
from service.admission.admission import Admission
from service.api.vivavoce.conversation import ConversationServicer
from service.api.vivavoce.handlers import conversation_handler
from service.sessions.host import SessionHost

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_MAX_CONVERSATIONS = 512
"""As many as the others are started with (``benchmarks.sla.load.UNGUARDED``)."""


@click.command()
@click.option("--port", type=click.IntRange(0, 65_535), default=0, show_default=True, help="0 lets the system choose.")
@click.option(
    "--nlu-engine",
    type=_FOLDER,
    help="Engine directory with the float32 network for intents.  [default: recovered from the shipped INT8 one]",
)
@click.option("--qa-engine", type=_FOLDER, help="Likewise for answers.")
def main(port: int, nlu_engine: Path | None, qa_engine: Path | None) -> None:
    """Serve the naive baseline until interrupted."""
    with _engine(nlu_engine, NLU_MODELS) as intents, _engine(qa_engine, QA_MODELS) as answers:
        models = NaiveModels(intents, answers)
    asyncio.run(_serve(models, port))


@contextlib.contextmanager
def _engine(given: Path | None, names: Sequence[str]) -> Iterator[Path]:
    """Gives an engine directory with float32 weights while the body runs: ``given``, or a recovered one."""
    if given is not None:
        yield given
        return
    with tempfile.TemporaryDirectory(prefix="vivavoce-naive-") as directory:
        recover(MODEL_REPOSITORY, names, Path(directory, "engine"))
        yield Path(directory, "engine")


async def _serve(models: NaiveModels, port: int) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    for role, model in ((ASR, models.recognizer), (INTENT_SLOT, models.intents), (QA, models.answers)):
        await warm_up(SHIPPED[role], model)
    admission = Admission(_MAX_CONVERSATIONS)
    servicer = ConversationServicer(SessionHost(models, SileroModel(), admission, speculates=False))
    server = grpc.aio.server()
    server.add_generic_rpc_handlers((conversation_handler(servicer),))
    bound = server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    admission.open()
    print(f"listening on 127.0.0.1:{bound}", flush=True)
    await stop.wait()
    await server.stop(grace=1.0)


if __name__ == "__main__":
    main()
