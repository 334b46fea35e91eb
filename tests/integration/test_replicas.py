"""Three services behind a real Envoy with our configuration. They share one Triton, for want of cores."""

from __future__ import annotations

import asyncio
import contextlib
import difflib
import itertools
import json
import logging
import random
import shutil
import ssl
import urllib.error
import urllib.request
from typing import TYPE_CHECKING

import grpc
import numpy as np
import pytest
import websockets

import vivavoce
from demo.manifest import Utterance, utterances
from service.security.tokens import hash_of, new_token
from tests.certificates import Authority
from tests.integration.replicas import Envoy, Replica, envoy, replicas

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

logger = logging.getLogger(__name__)

CHUNK_SECONDS, RATE_HZ = 0.1, 16_000


class Fleet:
    """The replicas, the proxy in front of them, and what its callers need."""

    def __init__(self, proxy: Envoy, members: list[Replica], ca: Path, token: str) -> None:
        self.proxy, self.members, self.ca, self.token = proxy, members, ca, token

    def connect(self) -> vivavoce.Client:
        return vivavoce.connect(self.proxy.address, tls=vivavoce.Tls(ca=self.ca), token=self.token)

    async def ask(self, client: vivavoce.Client) -> vivavoce.Reply:
        """Asks one thing of whichever replica it gets, with time for one that is busy."""
        return await client.ask("turn on the lights", reply_budget_seconds=30)

    @contextlib.asynccontextmanager
    async def replacing(self, member: Replica) -> AsyncIterator[None]:
        """Replaces a replica meanwhile, and waits until the next one is in its place."""
        replaced = asyncio.create_task(member.replace())
        try:
            yield
        finally:
            await replaced
            await asyncio.to_thread(self.proxy.until, {member.host: True})

    @contextlib.asynccontextmanager
    async def holding(self, count: int) -> AsyncIterator[None]:
        """Holds so many conversations in which nothing is said."""
        over = asyncio.Event()

        async def nothing() -> AsyncIterator[vivavoce.TypedTurn]:
            await over.wait()
            return
            yield

        async with contextlib.AsyncExitStack() as stack:
            tasks = []
            for _ in range(count):
                client = await stack.enter_async_context(self.connect())
                conversation = aiter(client.converse(nothing(), audio=None))
                assert isinstance(await anext(conversation), vivavoce.Started)
                tasks.append(conversation)
            yield
            over.set()
            for conversation in tasks:
                assert [event async for event in conversation] == []


def proxy_of(folder: Path, members: list[Replica]) -> contextlib.AbstractContextManager[Envoy]:
    return envoy(folder, [member.host for member in members], (members[0].port, members[0].http_port))


@pytest.fixture(scope="module")
def fleet(triton_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    folder = tmp_path_factory.mktemp("fleet")
    authority = Authority(folder, "authority")
    pair = authority.sign("voice.example.org")
    (folder / "tls").mkdir()
    shutil.copy(pair.cert, folder / "tls" / "tls.crt")
    shutil.copy(pair.key, folder / "tls" / "tls.key")
    tokens, token = folder / "tokens.toml", new_token()
    tokens.write_text(f'[[token]]\nname = "kiosk"\nsha256 = "{hash_of(token)}"\n')
    options = ["--triton", triton_address, "--tokens", str(tokens), "--max-conversations", "64"]
    with replicas(3, folder, options) as members, proxy_of(folder, members) as proxy:
        yield Fleet(proxy, members, authority.path, token)


async def test_conversations_are_spread_by_how_many_each_replica_holds(fleet: Fleet):
    async with fleet.holding(7):
        assert sorted(fleet.proxy.held().values()) == [2, 2, 3]


def test_envoy_has_nothing_against_its_configuration(fleet: Fleet):
    log = (fleet.members[0].folder / "envoy.txt").read_text()
    assert "eprecated" not in log
    assert "no configured limit" not in log


async def test_tokens_pass_through_and_nothing_else_does(fleet: Fleet):
    async with vivavoce.connect(fleet.proxy.address, tls=vivavoce.Tls(ca=fleet.ca), token="wrong") as client:
        with pytest.raises(vivavoce.AccessDenied):
            await client.ask("turn on the lights")
    async with fleet.connect() as client:
        assert (await fleet.ask(client)).status is vivavoce.ReplyStatus.COMPLETE
    credentials = grpc.ssl_channel_credentials(fleet.ca.read_bytes())
    async with grpc.aio.secure_channel(fleet.proxy.address, credentials) as channel:
        for method in ("/vivavoce.v1.ModelService/ListModels", "/grpc.reflection.v1alpha.ServerReflection/Info"):
            with pytest.raises(grpc.aio.AioRpcError) as refused:
                await channel.unary_unary(method)(b"", metadata=(("authorization", f"Bearer {fleet.token}"),))
            assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED


async def test_clients_of_openai_pass_with_their_token(fleet: Fleet):
    context = ssl.create_default_context(cafile=str(fleet.ca))

    def listed(token: str) -> dict:
        request = urllib.request.Request(f"https://{fleet.proxy.address}/v1/models")
        request.add_header("Authorization", f"Bearer {token}")
        with urllib.request.urlopen(request, context=context, timeout=10) as response:
            return json.load(response)

    assert "vivavoce" in [model["id"] for model in (await asyncio.to_thread(listed, fleet.token))["data"]]
    with pytest.raises(urllib.error.HTTPError) as refused:
        await asyncio.to_thread(listed, "wrong")
    with refused.value as answer:
        assert answer.code == 401
    uri, headers = f"wss://{fleet.proxy.address}/v1/realtime", {"Authorization": f"Bearer {fleet.token}"}
    async with asyncio.timeout(10), websockets.connect(uri, ssl=context, additional_headers=headers) as socket:
        assert json.loads(await socket.recv())["type"] == "session.created"


async def test_a_replica_that_is_not_ready_takes_none(fleet: Fleet):
    absent = fleet.members[0]
    shared = list(absent.options)
    try:
        # It listens and waits for a Triton that is not there.
        absent.options = [*shared, "--triton", f"unix:{absent.folder}/none"]
        await absent.replace(waits=False)
        await asyncio.to_thread(fleet.proxy.until, {absent.host: False})
        async with fleet.holding(4):
            held = fleet.proxy.held()
            assert held.pop(absent.host) == 0
            assert sorted(held.values()) == [2, 2]
    finally:
        absent.options = shared
        await absent.replace()
        await asyncio.to_thread(fleet.proxy.until, {absent.host: True})


async def test_callers_whom_a_stopping_replica_refuses_are_answered_by_another(fleet: Fleet):
    """Before its health is asked again, Envoy sends it callers still."""
    stopping, drained = fleet.members[1], asyncio.Event()
    recording = vivavoce.read_audio(utterances()[0].path)

    async def unfinished() -> AsyncIterator[vivavoce.Utterable]:
        for chunk in recording.chunks():
            yield chunk
        await drained.wait()
        yield vivavoce.EndOfUtterance()

    async with vivavoce.connect(stopping.address, token=fleet.token) as direct, fleet.connect() as client:
        silent = vivavoce.Endpointing(disabled=True)
        under_way = aiter(
            direct.converse(unfinished(), audio=recording.format, endpointing=silent, reply_budget_seconds=30)
        )
        while not isinstance(await anext(under_way), vivavoce.SpeechBegan):
            pass
        before = fleet.proxy.stat("upstream_rq_retry_success")
        async with fleet.replacing(stopping):
            try:
                for asked in itertools.count():
                    # A busy machine takes a while to tell the replica that it shall stop.
                    if asked >= 20 and fleet.proxy.stat("upstream_rq_retry_success") > before:
                        break
                    assert asked < 500, "no call was tried again"
                    assert (await fleet.ask(client)).status is vivavoce.ReplyStatus.COMPLETE
                    conversation = client.converse(
                        [vivavoce.TypedTurn("turn off the lights")], audio=None, reply_budget_seconds=30
                    )
                    assert len([event async for event in conversation if isinstance(event, vivavoce.Reply)]) == 1
            finally:
                drained.set()
            assert len([event async for event in under_way if isinstance(event, vivavoce.Reply)]) == 1


async def test_a_dead_replica_is_ejected(fleet: Fleet):
    dead = fleet.members[2]
    dead.kill()
    try:
        async with fleet.connect() as client:
            for _ in range(30):
                assert (await fleet.ask(client)).status is vivavoce.ReplyStatus.COMPLETE
        await asyncio.to_thread(fleet.proxy.until, {dead.host: False}, 10)
    finally:
        await dead.start()
        await asyncio.to_thread(fleet.proxy.until, {dead.host: True})


class Caller:
    """Says utterances at the pace of speech, with pauses between, and remembers what came."""

    def __init__(self, said: list[Utterance], chance: random.Random, over: asyncio.Event) -> None:
        self._next, self._chance, self._over = said, chance, over
        self.said: list[Utterance] = []
        self.events: list[vivavoce.Event] = []

    async def speech(self) -> AsyncIterator[np.ndarray]:
        loop = asyncio.get_running_loop()
        at = loop.time()
        for chunk in self._samples():
            yield chunk
            at += CHUNK_SECONDS
            await asyncio.sleep(at - loop.time())

    def _samples(self) -> Iterator[np.ndarray]:
        silence = np.zeros(round(RATE_HZ * CHUNK_SECONDS), np.float32)
        for number in range(100):
            for _ in range(round(self._chance.uniform(20, 70))):
                yield silence
                if self._over.is_set():
                    return
            utterance = self._next[number % len(self._next)]
            self.said.append(utterance)
            yield from vivavoce.read_audio(utterance.path).chunks(CHUNK_SECONDS)

    async def converse(self, client: vivavoce.Client) -> None:
        audio = vivavoce.AudioFormat(sample_rate_hz=RATE_HZ)
        conversation = client.converse(self.speech(), audio=audio, reply_budget_seconds=10, reconnect_seconds=30)
        async for event in conversation:
            self.events.append(event)

    def check(self) -> None:
        """Every utterance was answered once, in its order, and the reply is to all of it."""
        replies = [event for event in self.events if isinstance(event, vivavoce.Reply)]
        heard = [reply.transcript for reply in replies]
        assert len(heard) == len(self.said), (heard, [each.text for each in self.said])
        for utterance, transcript in zip(self.said, heard, strict=True):
            assert likeness(utterance.text, transcript) > 0.7, (utterance.text, transcript)


def likeness(one: str, other: str) -> float:
    def words(text: str) -> list[str]:
        return "".join(letter for letter in text.lower() if letter.isalnum() or letter == " ").split()

    return difflib.SequenceMatcher(None, words(one), words(other)).ratio()


async def test_a_rolling_restart_costs_live_conversations_nothing(fleet: Fleet):
    commands = [each for each in utterances() if each.kind == "command"]
    over = asyncio.Event()
    callers = [Caller(commands[number:] + commands[:number], random.Random(number), over) for number in range(6)]
    async with contextlib.AsyncExitStack() as stack, asyncio.timeout(300), asyncio.TaskGroup() as talking:
        for caller in callers:
            talking.create_task(caller.converse(await stack.enter_async_context(fleet.connect())))
        await asyncio.sleep(2)
        for member in fleet.members:
            await member.replace()
            await asyncio.to_thread(fleet.proxy.until, {member.host: True})
        await asyncio.sleep(2)
        over.set()
    for caller in callers:
        caller.check()
    moves = sum(isinstance(event, vivavoce.Reconnected) for caller in callers for event in caller.events)
    said = sum(len(caller.said) for caller in callers)
    logger.info("%d utterances were answered once, with %d moves from replica to replica", said, moves)
    assert moves >= len(callers), "each replica held a third of them"
