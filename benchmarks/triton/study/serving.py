"""All variants side by side in one Triton, so that they can be measured in turn, minute by minute."""

from __future__ import annotations

import asyncio
import tempfile
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from benchmarks.triton.study.plan import ASR, ASR_VARIANTS, NETWORKS, VARIANTS, served_name
from pipelines.models.triton import adjusted, renamed
from service.served_models import DEFAULT_MODEL_REPOSITORY
from service.triton.engine_code import CONFIG
from service.triton.process import TritonProcess
from service.triton.repository import link_with_config

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from pipelines.models.triton import ModelSettings

_START_SECONDS = 120.0
_PROBE_PAUSE_SECONDS = 0.2


@asynccontextmanager
async def serving_variants() -> AsyncIterator[triton.InferenceServerClient]:
    """Runs a Triton with every variant while the body runs; yields a connection to it.

    Raises:
        RuntimeError: it does not come up; the message holds why.
    """
    with tempfile.TemporaryDirectory(prefix="vivavoce-study-") as directory:
        names = lay_out(Path(directory))
        process = await TritonProcess.start(Path(directory))
        try:
            async with triton.InferenceServerClient(process.address) as client:
                await _until_ready(client, names, process)
                yield client
        finally:
            await process.stop()


def lay_out(repository: Path) -> list[str]:
    """Makes ``repository`` one of all variants of all models; returns their names."""
    names = []
    for model, variants in (*((network, VARIANTS) for network in NETWORKS), (ASR, ASR_VARIANTS)):
        for variant, settings in variants.items():
            names.append(served_name(model, variant))
            link_with_config(
                DEFAULT_MODEL_REPOSITORY / model, repository / names[-1], _config(model, variant, settings)
            )
    return names


def _config(model: str, variant: str, settings: ModelSettings) -> str:
    shipped = (DEFAULT_MODEL_REPOSITORY / model / CONFIG).read_text(encoding="utf-8")
    config = adjusted({model: shipped}, {model: settings}).get(model, shipped)
    return renamed(config, lambda name: served_name(name, variant))


async def _until_ready(client: triton.InferenceServerClient, names: list[str], process: TritonProcess) -> None:
    try:
        async with asyncio.timeout(_START_SECONDS):
            while True:
                if await _ready(client, names):
                    return
                await asyncio.sleep(_PROBE_PAUSE_SECONDS)
    except TimeoutError:
        raise RuntimeError(f"Triton did not come up with the variants: {process.reason}") from None


async def _ready(client: triton.InferenceServerClient, names: list[str]) -> bool:
    with suppress(InferenceServerException):
        return all([await client.is_model_ready(name) for name in names])
    return False
