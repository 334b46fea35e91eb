"""Callers and their proofs, through real sockets: TLS, tokens and certificates, and what each principal may have."""

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_health.v1.health import aio as health_aio

import vivavoce
from service.api.riva.proto import riva_asr_pb2, riva_asr_pb2_grpc, riva_audio_pb2
from service.security.authentication import Authenticator
from service.security.principal import Principal, PrincipalLimits
from service.security.tls import server_credentials
from service.security.tls_files import TlsFiles
from service.security.watched_file import CHECK_SECONDS, UnusableFileError
from tests.certificates import Authority, Pair
from tests.unit.service.harness import Harness

SECRET = "vv_secret"


class OneToken:
    def __init__(self, limits: PrincipalLimits | None = None) -> None:
        self._principals = {
            SECRET: Principal("kiosk", "token", limits or PrincipalLimits()),
            "another": Principal("car", "token", limits or PrincipalLimits()),
        }

    def find(self, token: str) -> tuple[Principal | None, str]:
        return self._principals.get(token), "the token is unknown, or was withdrawn"


@contextlib.asynccontextmanager
async def guarded(limits: PrincipalLimits | None = None, max_conversations: int = 8) -> AsyncIterator[Harness]:
    async with Harness.running(max_conversations, authenticator=Authenticator(OneToken(limits))) as harness:
        yield harness


@pytest.mark.parametrize(
    ("metadata", "why"),
    [
        ((), "no token came: send the header `authorization: Bearer TOKEN`"),
        ((("authorization", "Bearer wrong"),), "the token is unknown, or was withdrawn"),
        ((("authorization", "Basic abc"),), "is not of the form `Bearer TOKEN`"),
        ((("authorization", "Bearer "),), "is not of the form|the token has no characters"),
        ((("authorization", "Bearer " + "a" * 5000),), "over 4,096"),
    ],
)
async def test_without_proof_a_call_is_refused_before_anything_is_decoded(
    metadata: tuple[tuple[str, str], ...], why: str
):
    # Not asynchronous: the other client takes a failed write for the end of the call, and may tell a status of its own
    # in place of the server's (grpc/grpc, issue 36066).
    def call(target: str, method: str) -> None:
        with grpc.insecure_channel(target) as channel:
            # What is sent is no protobuf: it is not looked at.
            requests = iter([b"\xff" * 100])
            path = f"/vivavoce.v1.ConversationService/{method}"
            list(channel.stream_stream(path)(requests, metadata=metadata, timeout=30))

    async with guarded() as harness:
        for method in ("Ask", "Converse", "Say"):
            began = time.monotonic()
            with pytest.raises(grpc.RpcError, match=why) as caught:
                await asyncio.to_thread(call, harness.address, method)
            assert caught.value.code() is grpc.StatusCode.UNAUTHENTICATED
            assert time.monotonic() - began < 5


async def test_health_needs_no_proof():
    async with guarded() as harness:
        with pytest.raises(grpc.aio.AioRpcError) as caught:
            await health_pb2_grpc.HealthStub(harness.channel).Check(health_pb2.HealthCheckRequest())
        # This harness has no health service: the call was not refused for want of a token.
        assert caught.value.code() is grpc.StatusCode.UNIMPLEMENTED
    assert health_aio is not None


async def test_a_token_opens_every_method():
    async with guarded() as harness, vivavoce.connect(harness.address, token=SECRET) as client:
        reply = await client.ask("turn on the light")
        assert reply.status is vivavoce.ReplyStatus.COMPLETE
        events = [event async for event in client.converse([vivavoce.TypedTurn("hello")], audio=None)]
        assert any(isinstance(event, vivavoce.Reply) for event in events)
        assert [chunk async for chunk in client.say("Good morning.")]


async def test_the_sdk_tells_that_access_is_denied():
    async with guarded() as harness, vivavoce.connect(harness.address, token=lambda: "wrong") as client:
        with pytest.raises(vivavoce.AccessDenied, match="the token is unknown") as caught:
            await client.ask("hello")
        assert caught.value.reason == "UNAUTHENTICATED"
        assert not caught.value.retryable


async def test_a_principal_has_so_many_conversations():
    async with (
        guarded(PrincipalLimits(conversations=1)) as harness,
        vivavoce.connect(harness.address, token=SECRET) as client,
        vivavoce.connect(harness.address, token="another") as other,
    ):
        first = aiter(client.converse(quiet()))
        assert isinstance(await anext(first), vivavoce.Started)
        with pytest.raises(vivavoce.Overloaded, match="all 1 conversations that you may hold are open") as caught:
            await anext(aiter(client.converse(quiet())))
        assert caught.value.reason == "QUOTA_EXCEEDED"
        assert caught.value.retry_after_seconds
        second = aiter(other.converse(quiet()))
        assert isinstance(await anext(second), vivavoce.Started)
        await first.aclose()
        await second.aclose()
        async with asyncio.timeout(10):
            while harness.admission.quotas.present:
                await asyncio.sleep(0.01)


async def test_a_principal_sends_so_much_audio_a_minute():
    limits = PrincipalLimits(audio_seconds_per_minute=3)
    async with guarded(limits) as harness, vivavoce.connect(harness.address, token=SECRET) as client:
        with pytest.raises(vivavoce.Overloaded, match="you may send 3 s of audio a minute"):
            async for _ in client.converse([bytes(32_000)] * 8):
                pass
        with pytest.raises(vivavoce.Overloaded, match="you may send 3 s of audio a minute"):
            async for _ in client.converse([bytes(320)]):
                pass


async def test_a_principal_sends_so_many_texts_a_second():
    limits = PrincipalLimits(typed_turns_per_second=2)
    async with guarded(limits) as harness, vivavoce.connect(harness.address, token=SECRET) as client:
        asked = [asyncio.create_task(client.ask("hello")) for _ in range(36)]
        done, waiting = await asyncio.wait(asked, return_when=asyncio.FIRST_EXCEPTION)
        for task in waiting:
            task.cancel()
        assert len(waiting) > 16
        (refused, *_) = [error for error in (task.exception() for task in done) if error is not None]
        assert isinstance(refused, vivavoce.Overloaded)
        assert "you may send 2 texts a second" in str(refused)


async def test_a_principal_sends_recordings_of_so_many_bytes():
    limits = PrincipalLimits(recording_bytes=1000)
    async with guarded(limits) as harness:
        stub = riva_asr_pb2_grpc.RivaSpeechRecognitionStub(harness.channel)
        config = riva_asr_pb2.RecognitionConfig(
            encoding=riva_audio_pb2.AudioEncoding.LINEAR_PCM, sample_rate_hertz=16_000, language_code="en-US"
        )
        request = riva_asr_pb2.RecognizeRequest(config=config, audio=bytes(2000))
        with pytest.raises(grpc.aio.AioRpcError, match="the recording has 2,000 bytes: you may send 1,000") as caught:
            await stub.Recognize(request, metadata=(("authorization", f"Bearer {SECRET}"),))
        assert caught.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED


async def test_where_room_is_short_nobody_has_more_than_an_equal_share():
    async with (
        guarded(max_conversations=8) as harness,
        vivavoce.connect(harness.address, token=SECRET) as client,
        vivavoce.connect(harness.address, token="another") as other,
    ):
        held = [aiter(client.converse(quiet())) for _ in range(5)] + [aiter(other.converse(quiet()))]
        for conversation in held:
            assert isinstance(await anext(conversation), vivavoce.Started)
        with pytest.raises(vivavoce.Overloaded, match="more than your share") as caught:
            await anext(aiter(client.converse(quiet())))
        assert caught.value.reason == "FAIR_SHARE"
        last = aiter(other.converse(quiet()))
        assert isinstance(await anext(last), vivavoce.Started)
        for conversation in (*held, last):
            await conversation.aclose()


async def quiet() -> AsyncIterator[bytes]:
    while True:
        yield bytes(320)
        await asyncio.sleep(0.05)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path, "authority")


def files(pair: Pair, client_ca: Path | None = None) -> TlsFiles:
    return TlsFiles(pair.cert, pair.key, client_ca)


async def ask(address: str, tls: vivavoce.Tls | bool, token: str = "") -> vivavoce.Reply:
    async with vivavoce.connect(address, tls=tls, token=token, connect_timeout_seconds=3) as client:
        return await client.ask("hello")


async def test_a_connection_is_encrypted_and_the_server_known(authority: Authority, tmp_path: Path):
    pair = authority.sign("server")
    async with Harness.running(
        credentials=partial(server_credentials, files(pair)), authenticator=Authenticator(OneToken())
    ) as harness:
        reply = await ask(harness.address, vivavoce.Tls(ca=authority.path), SECRET)
        assert reply.status is vivavoce.ReplyStatus.COMPLETE
        named = vivavoce.Tls(ca=authority.path, server_name="server")
        assert (await ask(harness.address, named, SECRET)).status is vivavoce.ReplyStatus.COMPLETE
        for tls in (False, True, vivavoce.Tls(ca=Authority(tmp_path, "stranger").path)):
            with pytest.raises(vivavoce.ServerUnavailable):
                await ask(harness.address, tls)


async def test_callers_show_a_certificate_where_it_is_wanted(authority: Authority, tmp_path: Path):
    server, kiosk = authority.sign("server"), authority.sign("kiosk")
    stranger = Authority(tmp_path, "stranger").sign("thief")
    authenticator = Authenticator(certificates=True)
    seen: list[Principal] = []
    authenticate = authenticator.authenticate
    authenticator.authenticate = lambda *given: (seen.append(authenticate(*given)), seen[-1])[1]  # type: ignore[method-assign]
    credentials = partial(server_credentials, files(server, authority.path))
    async with Harness.running(credentials=credentials, authenticator=authenticator) as harness:
        await ask(harness.address, vivavoce.Tls(ca=authority.path, cert=kiosk.cert, key=kiosk.key))
        assert seen == [Principal("kiosk", "certificate")]
        for tls in (
            vivavoce.Tls(ca=authority.path),
            vivavoce.Tls(ca=authority.path, cert=stranger.cert, key=stranger.key),
        ):
            with pytest.raises(vivavoce.ServerUnavailable):
                await ask(harness.address, tls)


async def test_a_certificate_is_exchanged_while_the_server_runs(authority: Authority, tmp_path: Path):
    pair = authority.sign("server")
    async with Harness.running(credentials=partial(server_credentials, files(pair))) as harness:
        await ask(harness.address, vivavoce.Tls(ca=authority.path))
        following = Authority(tmp_path, "following")
        following.sign("server", files="server")
        os.utime(pair.cert, ns=(1, 1))
        await asyncio.sleep(CHECK_SECONDS + 0.1)
        await ask(harness.address, vivavoce.Tls(ca=following.path))
        with pytest.raises(vivavoce.ServerUnavailable):
            await ask(harness.address, vivavoce.Tls(ca=authority.path))
        # What is no certificate changes nothing.
        pair.cert.write_text("none")
        await asyncio.sleep(CHECK_SECONDS + 0.1)
        await ask(harness.address, vivavoce.Tls(ca=following.path))


def test_files_that_do_not_go_together_are_refused(authority: Authority, tmp_path: Path):
    one, other = authority.sign("one"), authority.sign("other")
    nothing = tmp_path / "nothing.pem"
    nothing.write_text("nothing")
    for wrong in (files(Pair(one.cert, other.key)), files(Pair(nothing, one.key)), files(one, nothing)):
        with pytest.raises(UnusableFileError, match="no certificate"):
            server_credentials(wrong)
    with pytest.raises(FileNotFoundError):
        server_credentials(files(Pair(tmp_path / "missing.pem", one.key)))
