"""`python -m benchmarks.pipeline WHOLE PIPELINE`: a network beside its pipeline of stages."""

from __future__ import annotations

import asyncio
import json
import re
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click
import numpy as np
import tritonclient.grpc.aio as triton

from benchmarks.gpu.server import StartError, serving
from benchmarks.provenance import keep, provenance

if TYPE_CHECKING:
    from collections.abc import Iterator

_QUESTION = "Who was the tower, which is 330 metres tall, named after?"
_SENTENCE = "The tower is 330 metres tall and is named after the engineer whose company built it. "
_PSS = re.compile(r"^Pss:\s+(\d+) kB", re.MULTILINE)


@click.command()
@click.argument("whole", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("pipeline", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--sentences", type=int, default=5, show_default=True, help="Length of the document of a question.")
@click.option("--requests", type=int, default=24, show_default=True, help="Requests of each measurement.")
@click.option("--in-flight", type=int, default=8, show_default=True, help="Requests at a time.")
@click.option("--memory-mib", type=int, help="Also try whether each starts where a process may have no more than this.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write the results to this JSON file too.")
def main(
    whole: Path, pipeline: Path, sentences: int, requests: int, in_flight: int, memory_mib: int | None, out: Path | None
) -> None:
    """Measure memory, time and throughput of an engine for answers, WHOLE and as the PIPELINE made of it."""
    document = _SENTENCE * sentences
    found = [asyncio.run(_measure(engine, document, requests, in_flight)) for engine in (whole, pipeline)]
    answers = [each.pop("answer") for each in found]
    sizes = {"sentences": sentences, "requests": requests, "in_flight": in_flight}
    if memory_mib:
        sizes["memory_mib"] = memory_mib
        for each, engine in zip(found, (whole, pipeline), strict=True):
            each["starts_in_memory"] = asyncio.run(_starts(engine, memory_mib))
    result = {**sizes, "equal": answers[0] == answers[1], "whole": found[0], "pipeline": found[1]}
    command = "python -m benchmarks.pipeline WHOLE PIPELINE"
    click.echo(keep(out, command, result) if out else json.dumps(provenance(command) | result, indent=1))


async def _measure(engine: Path, document: str, requests: int, in_flight: int) -> dict[str, object]:
    with _repository(engine) as folder:
        async with serving(folder, "qa") as address, triton.InferenceServerClient(address) as client:
            answer = await _ask(client, document)
            one = await _seconds(client, document, requests, 1)
            many = await _seconds(client, document, requests, in_flight)
            return {
                "answer": answer,
                "memory_mb": _memory(folder),
                "one_at_a_time_ms": round(1000 * one / requests, 1),
                "in_flight_ms": round(1000 * many / requests, 1),
                "ratio": round(one / many, 2),
            }


async def _starts(engine: Path, memory_mib: int) -> bool:
    with _repository(engine) as folder:
        try:
            async with serving(folder, "qa", confined=True, memory_mib=memory_mib):
                return True
        except StartError:
            return False


@contextmanager
def _repository(engine: Path) -> Iterator[Path]:
    """Yield a model repository of an engine's models alone."""
    with TemporaryDirectory(prefix="vivavoce-pipeline-") as folder:
        for model in sorted((engine / "triton").iterdir()):
            Path(folder, model.name).symlink_to(model.resolve(), target_is_directory=True)
        yield Path(folder)


async def _seconds(client: triton.InferenceServerClient, document: str, requests: int, in_flight: int) -> float:
    """Time so many requests, a number of them at a time."""
    left = iter(range(requests))

    async def call() -> None:
        for _ in left:
            await _ask(client, document)

    began = time.perf_counter()
    await asyncio.gather(*(call() for _ in range(in_flight)))
    return time.perf_counter() - began


async def _ask(client: triton.InferenceServerClient, document: str) -> list[object]:
    inputs = []
    for name, text in (("QUESTION", _QUESTION), ("DOCUMENT", document)):
        tensor = triton.InferInput(name, [1], "BYTES")
        tensor.set_data_from_numpy(np.array([text.encode()], np.object_))
        inputs.append(tensor)
    result = await client.infer("qa", inputs)
    return [result.as_numpy(name).tolist() for name in ("ANSWER_SPAN", "SCORE")]


def _memory(repository: Path) -> dict[str, float]:
    """Megabytes of the processes of a repository's networks, by their model."""
    found = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes().decode(errors="replace")
            name = re.search(re.escape(str(repository)) + r"/(\w+_bert\w*)/", command)
            if name and "stub" in command.split("\0")[0]:
                pss = _PSS.search((process / "smaps_rollup").read_text())
                found[name[1]] = round(int(pss[1]) / 1000, 1) if pss else 0.0
        except OSError:
            continue
    return dict(sorted(found.items()))


if __name__ == "__main__":
    main()
