"""Random sequences of requests, most of them malformed: ``python -m tests.robustness.hostile.malformed``.

Every method of the callers' port gets random bytes, messages cut short, valid messages in the wrong order, values out
of range and calls that are given up in the middle. The service must answer each sequence with a status of its own
(never UNKNOWN or INTERNAL), stay up, keep its log small, and hold nothing afterwards.
"""

from __future__ import annotations

import asyncio
import collections
import json
import multiprocessing
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import click
import grpc
import psutil

import vivavoce
from service.api.riva.proto import riva_asr_pb2, riva_nlp_pb2
from service.processes.child_process import SERVE, listening
from tests.robustness.hostile.random_requests import random_request, random_requests
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TypeAlias

    from google.protobuf.message import Message

    Methods: TypeAlias = Mapping[str, type[Message] | None]

_AT_A_TIME = 8
_CALL_SECONDS = 20.0
_PROCESSES = 2
_STREAMS: Methods = {
    "/vivavoce.v1.ConversationService/Converse": pb.ConverseRequest,
    "/nvidia.riva.asr.RivaSpeechRecognition/StreamingRecognize": riva_asr_pb2.StreamingRecognizeRequest,
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo": None,
}
_UNARY: Methods = {
    "/vivavoce.v1.ConversationService/Ask": pb.AskRequest,
    "/nvidia.riva.asr.RivaSpeechRecognition/Recognize": riva_asr_pb2.RecognizeRequest,
    "/nvidia.riva.nlp.RivaLanguageUnderstanding/AnalyzeIntent": riva_nlp_pb2.AnalyzeIntentRequest,
    "/nvidia.riva.nlp.RivaLanguageUnderstanding/ClassifyText": riva_nlp_pb2.TextClassRequest,
    "/nvidia.riva.nlp.RivaLanguageUnderstanding/NaturalQuery": riva_nlp_pb2.NaturalQueryRequest,
    "/nvidia.riva.nlp.RivaLanguageUnderstanding/TransformText": riva_nlp_pb2.TextTransformRequest,
    "/vivavoce.v1.ModelService/LoadModel": None,
    "/grpc.health.v1.Health/Check": None,
    "/nobody.knows/This": None,
}
_FAULTS = {"UNKNOWN", "INTERNAL"}


@click.command()
@click.option("--sequences", type=click.IntRange(1), default=50_000, show_default=True)
@click.option("--seed", type=int, default=1, show_default=True)
def main(*, sequences: int, seed: int) -> None:
    """Send malformed sequences to a service of its own, and tell what came of it; exit 1 where it failed."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with listening((*SERVE, "--max-conversations", "64"), log) as (process, address):
            service = psutil.Process(process.pid)
            # What a first round of each method leaves for good, such as buffers and caches, is no leak.
            _send(address, sequences // 10, seed + 1)
            before = _memory_mib(service)
            statuses = _send(address, sequences, seed)
            asyncio.run(_until_nothing_is_held(address))
            found = {
                "sequences": sum(statuses.values()),
                "statuses": dict(statuses.most_common()),
                "faults": sum(statuses[code] for code in _FAULTS),
                "memory_mib": {"before": before, "after": _memory_mib(service)},
                "log_bytes": log.stat().st_size,
                "processes_alive": process.poll() is None,
            }
    click.echo(json.dumps(found, indent=2))
    if found["faults"] or not found["processes_alive"]:
        raise SystemExit(1)


def _memory_mib(process: psutil.Process) -> int:
    return round(process.memory_info().rss / (1 << 20))


def _send(address: str, sequences: int, seed: int) -> collections.Counter[str]:
    shares = [(address, sequences // _PROCESSES, 1_000 * seed + number) for number in range(_PROCESSES)]
    with ProcessPoolExecutor(_PROCESSES, mp_context=multiprocessing.get_context("spawn")) as pool:
        return sum(pool.map(_send_share, *zip(*shares, strict=True)), collections.Counter())


def _send_share(address: str, sequences: int, seed: int) -> collections.Counter[str]:
    """Send sequences, some at a time; return how many ended with which status."""
    # Threads, where all else here is asynchronous: the other client takes a failed write for the end of the call, and
    # may tell a status of its own then in place of the server's (grpc/grpc, issue 36066).
    options = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_http_proxy", 0))
    with grpc.insecure_channel(address, options) as channel, ThreadPoolExecutor(_AT_A_TIME) as pool:
        numbers = (random.Random(f"{seed}-{number}") for number in range(sequences))
        return collections.Counter(pool.map(lambda rng: _send_one(channel, rng), numbers))


def _send_one(channel: grpc.Channel, rng: random.Random) -> str:
    """Send one sequence; return the name of the status that it ended with."""
    try:
        if rng.random() < 0.5:
            method, message = rng.choice(list(_STREAMS.items()))
            streamed: grpc.StreamStreamMultiCallable[bytes, bytes] = channel.stream_stream(method)
            call = streamed(random_requests(message, rng), timeout=_CALL_SECONDS)
            if rng.random() < 0.3:
                time.sleep(rng.choice((0, 0.002, 0.02)))
                call.cancel()
            collections.deque(call, maxlen=0)
        else:
            method, message = rng.choice(list(_UNARY.items()))
            single: grpc.UnaryUnaryMultiCallable[bytes, bytes] = channel.unary_unary(method)
            single(random_request(message, rng), timeout=_CALL_SECONDS)
    except grpc.RpcError as error:
        return str(error.code().name)
    return "OK"


async def _until_nothing_is_held(address: str) -> None:
    """Wait until a caller is answered; one that was left out by what is still held would be refused."""
    async with asyncio.timeout(60), vivavoce.connect(address) as client:
        while True:
            try:
                await client.ask("turn on the light")
            except vivavoce.VivavoceError as error:
                if not error.retryable:
                    raise
                await asyncio.sleep(0.5)
            else:
                return


if __name__ == "__main__":
    main()
