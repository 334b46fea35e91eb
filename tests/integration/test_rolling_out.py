"""Models that are replaced while people talk: one service with its own Triton, real models, real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import grpc
import psutil
import pytest

import vivavoce
from demo.manifest import utterances
from service.api.riva.proto import riva_nlp_pb2, riva_nlp_pb2_grpc
from service.grpc_server.admin_socket import default_path
from service.grpc_server.probe import serves
from service.processes.child_process import listening
from tests.integration.engine_folders import engine, intents
from tests.integration.reflection_client import ReflectionClient
from vivavoce import ModelState

if TYPE_CHECKING:
    import subprocess
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

SERVE = ["-m", "vivavoce", "serve", "--port", "0", "--max-conversations", "64"]
PATIENT_SECONDS = 30.0
PUSH_TO_TALK = vivavoce.Endpointing(disabled=True)
LIGHTS = next(utterance for utterance in utterances() if utterance.path.stem == "lights")
DOCUMENT = "The night ferry to Tromsø leaves at a quarter past nine from pier four. Dogs travel free."


@dataclass(frozen=True)
class Running:
    """A service with a Triton of its own."""

    process: subprocess.Popen[str]
    address: str
    temporary: Path

    def stored(self) -> set[str]:
        """The models whose files stand in the service's own repository."""
        (repository,) = self.temporary.glob("vivavoce-run-*/vivavoce-models-*")
        return {path.name for path in repository.iterdir()}

    def tritonserver(self) -> psutil.Process:
        family = psutil.Process(self.process.pid).children(recursive=True)
        return next(child for child in family if child.name() == "tritonserver")

    async def active(self) -> dict[str, int]:
        async with vivavoce.ModelAdmin(self.address) as models:
            return {one.name: one.version for one in await models.list() if one.state is ModelState.ACTIVE}

    async def ask(self, text: str = "turn off the lights in the bedroom") -> vivavoce.Reply:
        async with vivavoce.connect(self.address) as client:
            return await client.ask(text, reply_budget_seconds=PATIENT_SECONDS)

    async def ask_when_ready(self) -> vivavoce.Reply:
        """Asks until the service takes callers."""
        async with asyncio.timeout(60):
            while True:
                with contextlib.suppress(vivavoce.ServerUnavailable):
                    return await self.ask()
                await asyncio.sleep(0.1)

    async def settled(self) -> set[tuple[str, int, str]]:
        """Waits until nothing is loading or draining; returns name, number and state of every version."""
        async with asyncio.timeout(30), vivavoce.ModelAdmin(self.address) as models:
            while True:
                known = {(one.name, one.version, one.state.value) for one in await models.list()}
                if not {"LOADING", "DRAINING"} & {state for _, _, state in known}:
                    return known
                await asyncio.sleep(0.05)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """One service for all tests of this file; each begins with the versions that the one before it left."""
    folder = tmp_path_factory.mktemp("service")
    temporary = folder / "tmp"
    temporary.mkdir()
    with contextlib.ExitStack() as started:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("TMPDIR", str(temporary))
            for name in ("http_proxy", "https_proxy", "grpc_proxy"):
                # Triton is on this machine: never looked for behind a proxy.
                patch.setenv(name, "http://127.0.0.1:9")
            # Two tests break, or change, the code of an engine.
            process, address = started.enter_context(listening([*SERVE, "--engine-code"], folder / "log"))
        yield Running(process, address, temporary)


@dataclass
class Talk:
    """A conversation whose caller waits for each reply before the next turn.

    Attributes:
        audio: what is said in each turn; None to type it.
        replies: what came back.
        others: what should not come.
    """

    audio: vivavoce.Recording | None
    replies: list[vivavoce.Reply] = field(default_factory=list)
    others: list[vivavoce.Event] = field(default_factory=list)
    over: bool = False
    _answered: asyncio.Event = field(default_factory=asyncio.Event)

    async def hold(self, address: str) -> None:
        """Talks until it is over."""
        form = self.audio.format if self.audio else None
        documents = [] if self.audio else [DOCUMENT]
        options = {"endpointing": PUSH_TO_TALK, "documents": documents, "reply_budget_seconds": PATIENT_SECONDS}
        async with vivavoce.connect(address) as client:
            async for event in client.converse(self._turns(), audio=form, **options):
                if isinstance(event, vivavoce.Reply):
                    self.replies.append(event)
                    self._answered.set()
                elif isinstance(event, vivavoce.Notice | vivavoce.GoingAway):
                    self.others.append(event)

    async def served_by(self, version: vivavoce.ModelVersion) -> None:
        """Waits for a reply that this version had a part in, after those that have come."""
        seen = len(self.replies)
        while all(reply.model_versions.get(version.name) != version.version for reply in self.replies[seen:]):
            await asyncio.sleep(0.05)

    async def _turns(self) -> AsyncIterator[vivavoce.Utterable]:
        while not self.over:
            if self.audio:
                async for chunk in vivavoce.pace(self.audio.chunks(), self.audio.sample_rate_hz):
                    yield chunk
                yield vivavoce.EndOfUtterance()
            else:
                # As fast as somebody types: callers without a pause would fight the loading version for the cores.
                await asyncio.sleep(1)
                yield vivavoce.TypedTurn("turn off the lights in the bedroom")
            await self._answered.wait()
            self._answered.clear()


async def test_models_are_managed_over_the_users_own_socket_and_not_by_callers(running: Running):
    async with grpc.aio.insecure_channel(running.address) as channel:
        with pytest.raises(grpc.aio.AioRpcError) as refused:
            await channel.unary_unary("/vivavoce.v1.ModelService/ListModels")(b"")
        assert refused.value.code() is grpc.StatusCode.UNIMPLEMENTED
    path = default_path(running.address.rpartition(":")[2])
    assert stat.S_IMODE(os.stat(path).st_mode) == 0o600  # noqa: PTH116 - as a blocking call pathlib's is refused here
    with grpc.insecure_channel(running.address) as callers, grpc.insecure_channel(f"unix:{path}") as admin:
        listed = [await asyncio.to_thread(ReflectionClient(channel).services) for channel in (callers, admin)]
    assert ["vivavoce.v1.ModelService" in services for services in listed] == [False, True]


async def test_conversations_go_on_while_versions_roll_forward_and_back(running: Running, tmp_path: Path):
    engines = [intents(tmp_path / "b", "b"), engine(tmp_path / "asr", "asr"), intents(tmp_path / "d", "d")]
    first = await running.active()
    speech = vivavoce.read_audio(LIGHTS.path)
    talks = [Talk(speech if number % 2 else None) for number in range(4)]
    loaded = []
    async with asyncio.TaskGroup() as tasks, vivavoce.ModelAdmin(running.address) as models:
        for talk in talks:
            tasks.create_task(talk.hold(running.address))
        for path in engines:
            loaded.append(await models.load(path))
            await asyncio.gather(*(talk.served_by(loaded[-1]) for talk in talks if talk.audio))
        back = await models.roll_back("intent_slot")
        await asyncio.gather(*(talk.served_by(back) for talk in talks))
        for talk in talks:
            talk.over = True
    assert [event for talk in talks for event in talk.others] == []
    assert back.version == loaded[0].version
    replies = [reply for talk in talks for reply in talk.replies]
    assert {reply.status for reply in replies} == {vivavoce.ReplyStatus.COMPLETE}
    called = {first["intent_slot"]: "", loaded[0].version: "b.", loaded[2].version: "d."}
    for reply in replies:
        assert reply.intent.name == f"{called[reply.model_versions['intent_slot']]}iot_hue_lightoff"
    assert {reply.model_versions["intent_slot"] for reply in replies} == set(called)
    spoken = {reply.model_versions["asr"] for reply in replies if "asr" in reply.model_versions}
    assert spoken == {first["asr"], loaded[1].version}
    known = await running.settled()
    assert ("intent_slot", loaded[0].version, "ACTIVE") in known
    assert {state for _, _, state in known} == {"ACTIVE", "READY"}


async def test_an_utterance_ends_on_the_versions_that_it_began_with(running: Running, tmp_path: Path):
    before = await running.active()
    halfway, loaded = asyncio.Event(), asyncio.Event()
    recording = vivavoce.read_audio(LIGHTS.path)

    async def speech() -> AsyncIterator[vivavoce.Utterable]:
        chunks = list(recording.chunks())
        for index, chunk in enumerate(chunks):
            if index == len(chunks) // 2:
                halfway.set()
                await loaded.wait()
            yield chunk
        yield vivavoce.EndOfUtterance()
        yield vivavoce.TypedTurn("turn off the lights in the bedroom")

    async def talk() -> list[vivavoce.Reply]:
        options = {"endpointing": PUSH_TO_TALK, "reply_budget_seconds": PATIENT_SECONDS}
        async with vivavoce.connect(running.address) as client:
            events = [event async for event in client.converse(speech(), audio=recording.format, **options)]
        assert not any(isinstance(event, vivavoce.Notice) for event in events)
        return sorted((event for event in events if isinstance(event, vivavoce.Reply)), key=lambda reply: reply.turn)

    async with asyncio.TaskGroup() as tasks, vivavoce.ModelAdmin(running.address) as models:
        talking = tasks.create_task(talk())
        await halfway.wait()
        for name in ("x", "y"):
            after = await models.load(intents(tmp_path / name, name))
        draining = {one.version: one.state for one in await models.list() if one.name == "intent_slot"}
        assert draining[before["intent_slot"]] is ModelState.DRAINING
        loaded.set()
    spoken, typed = talking.result()
    assert spoken.model_versions == {"asr": before["asr"], "intent_slot": before["intent_slot"]}
    assert not spoken.intent.name.startswith(("x.", "y."))
    assert typed.model_versions == {"intent_slot": after.version}
    assert typed.intent.name == "y.iot_hue_lightoff"
    assert before["intent_slot"] not in {number for name, number, _ in await running.settled() if name == "intent_slot"}


def without_weights(folder: Path) -> None:
    (folder / "triton" / "intent_slot_bert" / "1" / "model.int8.onnx").unlink()


def without_answers(folder: Path) -> None:
    """Loads, but fails at every request."""
    code = folder / "triton" / "intent_slot_decode" / "1" / "model.py"
    code.unlink()
    code.write_text(
        "class TritonPythonModel:\n    def execute(self, requests):\n        raise RuntimeError('broken')\n"
    )


def with_wrong_answers(folder: Path) -> None:
    """Its smoke evaluation knows the intents by other names."""
    example = {"text": "turn off the lights in the bedroom", "intent": "iot_hue_lightoff"}
    (folder / "smoke.jsonl").write_text(json.dumps(example) + "\n")


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (without_weights, "LOAD_FAILED"),
        (without_answers, "WARM_UP_FAILED"),
        (with_wrong_answers, "SMOKE_EVALUATION_FAILED"),
    ],
)
async def test_a_broken_version_never_takes_traffic(running: Running, tmp_path: Path, spoil, reason: str):
    await running.settled()
    before, stored = await running.active(), running.stored()
    triton = running.tritonserver().pid
    spoil(intents(tmp_path / "broken", "broken"))
    async with vivavoce.ModelAdmin(running.address) as models:
        with pytest.raises(vivavoce.InvalidRequest) as refused:
            await models.load(tmp_path / "broken")
        assert (refused.value.code, refused.value.reason) == ("FAILED_PRECONDITION", reason)
        failed = [one for one in await models.list() if one.state is ModelState.FAILED and one.name == "intent_slot"]
    assert [one.reason for one in failed] == [refused.value.message]
    assert await running.active() == before
    assert not (await running.ask()).intent.name.startswith("broken.")
    assert running.stored() == stored
    assert running.tritonserver().pid == triton, "nobody else may notice"


async def test_punctuation_is_replaced_too(running: Running, tmp_path: Path):
    engine(tmp_path / "another", "punctuation")
    example = {"text": "where is the nearest train station", "punctuated": "Where is the nearest train station?"}
    (tmp_path / "another" / "smoke.jsonl").write_text(json.dumps(example))
    spellings = tmp_path / "another" / "triton" / "punctuation" / "1" / "spellings.json"
    content = json.loads(spellings.read_text())
    spellings.unlink()
    spellings.write_text(json.dumps({**content, "dvds": "DvDs"}))

    async def punctuate() -> str:
        async with grpc.aio.insecure_channel(running.address) as channel:
            stub = riva_nlp_pb2_grpc.RivaLanguageUnderstandingStub(channel)
            request = riva_nlp_pb2.TextTransformRequest(text=["my dvds are here"])
            (text,) = (await stub.PunctuateText(request, timeout=30)).text
            return text

    assert await punctuate() == "My DVDs are here."
    async with vivavoce.ModelAdmin(running.address) as models:
        loaded = await models.load(tmp_path / "another")
        assert (loaded.name, loaded.state) == ("punctuation", ModelState.ACTIVE)
        assert await punctuate() == "My DvDs are here."
        await models.roll_back("punctuation")
    assert await punctuate() == "My DVDs are here."
    assert ("punctuation", loaded.version, "ACTIVE") not in await running.settled()


async def test_the_voice_is_replaced_while_it_speaks(running: Running, tmp_path: Path):
    engine(tmp_path / "another", "tts")
    (tmp_path / "another" / "smoke.jsonl").write_text(json.dumps({"text": "The ferry leaves at nine.", "seconds": 1.3}))
    code = tmp_path / "another" / "triton" / "tts" / "1" / "model.py"
    content = code.read_text()
    code.unlink()
    code.write_text(content.replace("speak(self._voice, parts, seed)", "speak(self._voice, parts, seed + 1)"))
    text = "The ferry leaves at nine. " * 40
    async with vivavoce.connect(running.address) as client, vivavoce.ModelAdmin(running.address) as models:

        async def say(text: str = "Good morning.") -> bytes:
            return b"".join([chunk.audio async for chunk in client.say(text)])

        before = await say()
        speaking = asyncio.create_task(say(text))
        loaded = await models.load(tmp_path / "another")
        assert (loaded.name, loaded.state) == ("tts", ModelState.ACTIVE)
        assert len(await speaking) > 40 * 24_000
        assert len(await say()) == len(before)
        assert await say() != before
        await models.roll_back("tts")
        assert await say() == before


async def test_what_cannot_be_done_is_refused(running: Running, tmp_path: Path):
    active = await running.active()
    intents(tmp_path / "one", "one")
    async with vivavoce.ModelAdmin(running.address) as models, vivavoce.ModelAdmin(running.address) as rival:
        loading = asyncio.create_task(models.load(tmp_path / "one"))
        while all(one.state is not ModelState.LOADING for one in await rival.list()):
            assert not loading.done()
        for work, reason in (
            (rival.load(tmp_path / "one"), "LOAD_UNDER_WAY"),
            (rival.unload("qa", active["qa"]), "VERSION_ACTIVE"),
            (rival.roll_back("qa"), "NOTHING_TO_ROLL_BACK_TO"),
            (rival.unload("qa", 99), "UNKNOWN_VERSION"),
        ):
            with pytest.raises(vivavoce.InvalidRequest) as refused:
                await work
            assert refused.value.reason == reason
        assert (await loading).state is ModelState.ACTIVE


async def test_the_same_versions_come_back_when_triton_was_lost(running: Running, tmp_path: Path):
    async with vivavoce.ModelAdmin(running.address) as models:
        loaded = await models.load(intents(tmp_path / "kept", "kept"))
        before = await running.settled()
        running.tritonserver().kill()
        async with asyncio.timeout(30):
            while await asyncio.to_thread(serves, running.address):
                await asyncio.sleep(0.02)
        with pytest.raises(vivavoce.ServerUnavailable) as refused:
            await running.ask()
        assert refused.value.retryable
        reply = await running.ask_when_ready()
        assert reply.intent.name == "kept.iot_hue_lightoff"
        assert reply.model_versions == {"intent_slot": loaded.version}
        assert await running.settled() == before
        await models.roll_back("intent_slot")
    # What was asked when Triton was lost is answered before newcomers are let in.
    assert not (await running.ask_when_ready()).intent.name.startswith("kept.")


async def test_a_service_that_is_stopped_while_a_version_is_loaded_leaves_nothing(running: Running, tmp_path: Path):
    """The last one of this file: it stops the service that the others share."""
    async with vivavoce.ModelAdmin(running.address) as models, vivavoce.ModelAdmin(running.address) as watch:
        loading = asyncio.create_task(models.load(intents(tmp_path / "late", "late")))
        while all(one.state is not ModelState.LOADING for one in await watch.list()):
            assert not loading.done()
        children = psutil.Process(running.process.pid).children(recursive=True)
        # Calls get a second to end in, which is enough for a load where processors are fast.
        tritonserver = running.tritonserver()
        tritonserver.suspend()
        running.process.send_signal(signal.SIGTERM)
        with pytest.raises(vivavoce.VivavoceError):
            await loading
        with contextlib.suppress(psutil.NoSuchProcess):
            # One that hangs may have been found and killed meanwhile.
            tritonserver.resume()
        assert await asyncio.to_thread(running.process.wait, 40) == 0
    assert list(running.temporary.glob("vivavoce-*")) == []
    _, alive = psutil.wait_procs(children, timeout=20)
    assert alive == []
