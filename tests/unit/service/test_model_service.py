"""Managing models through the public API: SDK, command and servicer on a real socket, before a pretended Triton."""

from __future__ import annotations

import asyncio
import contextlib
import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import grpc
import pytest

import vivavoce
from pipelines.models.versions.probes import IntentProbe
from service.api.vivavoce.handlers import model_handler
from service.api.vivavoce.models import ModelServicer
from service.grpc_server.admin_socket import listen_for_admin
from tests.unit.pipelines.rollout_fakes import ENGINE, FakeStore, Files, Stage
from vivavoce import ModelState
from vivavoce.cli import run

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

Capture = pytest.CaptureFixture[str]


class Served(Stage):
    """A roll-out behind a socket."""

    address: str = ""

    @classmethod
    @contextlib.asynccontextmanager
    async def running(cls, store: FakeStore | None = None) -> AsyncIterator[Served]:
        served = cls(store=store, understanding_seconds=0.0)
        served.control.load_seconds = 0.01
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((model_handler(ModelServicer(served.rollout)),))
        with tempfile.TemporaryDirectory() as folder:
            served.address = f"unix:{folder}/admin.sock"
            listen_for_admin(server, Path(folder) / "admin.sock", makes_folder=False)
            await server.start()
            try:
                yield served
            finally:
                await served.rollout.close()
                await server.stop(grace=None)

    async def command(self, *arguments: str) -> int:
        return await asyncio.to_thread(run, ["models", *arguments, "--server", self.address])


async def test_versions_are_loaded_listed_rolled_back_and_unloaded():
    async with Served.running() as served, vivavoce.ModelAdmin(served.address) as models:
        loaded = await models.load(ENGINE)
        assert (loaded.name, loaded.version, loaded.state) == ("intent_slot", 2, ModelState.ACTIVE)
        assert loaded.since.timestamp() == 1000.0
        await served.turn()
        listed = {(one.name, one.version): one for one in await models.list()}
        assert {key: one.state for key, one in listed.items()} == {
            ("asr", 1): ModelState.ACTIVE,
            ("intent_slot", 1): ModelState.READY,
            ("intent_slot", 2): ModelState.ACTIVE,
            ("qa", 1): ModelState.ACTIVE,
        }
        assert listed["intent_slot", 2].turns == 1
        assert listed["intent_slot", 2].source == str(ENGINE)
        assert (await models.roll_back("intent_slot")).version == 1
        await models.load(ENGINE)
        await models.unload("intent_slot", 1)
        await asyncio.sleep(0.1)
        assert [one.version for one in await models.list() if one.name == "intent_slot"] == [3]


async def test_punctuation_is_rolled_back_where_it_is_there(capsys: Capture):
    async with Served.running(FakeStore(Files("punctuation"), optional={"punctuation"})) as served:
        served.control.loaded.add("punctuation")
        assert await served.command("load", str(ENGINE)) == 0
        assert await served.command("rollback", "punctuation") == 0
        assert capsys.readouterr().out.splitlines() == [
            "version 2 of punctuation serves now",
            "version 1 of punctuation serves again",
        ]


async def test_what_is_refused_says_why():
    async with Served.running() as served, vivavoce.ModelAdmin(served.address) as models:
        with pytest.raises(vivavoce.InvalidRequest) as refused:
            await models.roll_back("intent_slot")
        assert (refused.value.code, refused.value.reason) == ("FAILED_PRECONDITION", "NOTHING_TO_ROLL_BACK_TO")
        served.store.checks = False
        with pytest.raises(vivavoce.InvalidRequest) as refused:
            await models.load(ENGINE)
        assert (refused.value.code, refused.value.reason, refused.value.field) == (
            "INVALID_ARGUMENT",
            "NO_ENGINE",
            "path",
        )
        served.store.checks, served.control.lost = True, True
        with pytest.raises(vivavoce.ServerUnavailable):
            await models.load(ENGINE)


async def test_a_command_that_is_interrupted_takes_the_load_back():
    async with Served.running() as served, vivavoce.ModelAdmin(served.address) as models:
        served.control.load_seconds = 0.2
        loading = asyncio.create_task(models.load(ENGINE))
        async with asyncio.timeout(5):
            while served.phases != {1: "ACTIVE", 2: "LOADING"}:
                await asyncio.sleep(0.01)
            loading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await loading
            while served.phases != {1: "ACTIVE", 2: "FAILED"}:
                await asyncio.sleep(0.01)
        assert served.control.loaded == {"asr", "intent_slot", "qa"}


async def test_the_commands_print_what_they_did(capsys: Capture):
    async with Served.running() as served:
        assert await served.command("load", str(ENGINE)) == 0
        assert await served.command("list") == 0
        printed = capsys.readouterr().out.splitlines()
        assert printed[0] == "version 2 of intent_slot serves now"
        assert [line.split()[:3] for line in printed[2:]] == [
            ["asr", "1", "active"],
            ["intent_slot", "1", "ready"],
            ["intent_slot", "2", "active"],
            ["qa", "1", "active"],
        ]
        assert await served.command("unload", "intent_slot", "1") == 0
        await served.command("list", "--json")
        rows = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
        assert rows[-2]["state"] == "ACTIVE"
        assert set(rows[0]) == {"name", "version", "state", "since", "turns", "in_use", "source", "reason"}


async def test_a_command_that_is_refused_says_so_in_one_sentence_and_exits_with_1(capsys: Capture):
    async with Served.running() as served:
        served.store.files = Files(examples=[IntentProbe("a", "something else")])
        assert await served.command("load", str(ENGINE)) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert "0 of 1 examples" in captured.err
        assert await served.command("rollback", "intent_slot") == 1
        capsys.readouterr()
        assert await served.command("rollback", "tts") == 1
        assert "there is no model 'tts': name one of asr, intent_slot, qa." in capsys.readouterr().err


async def test_what_cannot_be_sent_is_refused_with_its_field():
    async with Served.running() as served, vivavoce.ModelAdmin(served.address) as models:
        with pytest.raises(vivavoce.InvalidRequest, match="out of range") as refused:
            await models.unload("qa", 2**31)
        assert refused.value.field == "version"
        with pytest.raises(vivavoce.InvalidRequest, match="UTF-8") as refused:
            await models.load("/engines/\udcff")
        assert refused.value.field == "path"
        for call in (models.unload("q\udcff", 1), models.roll_back("q\udcff")):
            with pytest.raises(vivavoce.InvalidRequest) as refused:
                await call
            assert refused.value.field == "name"


async def test_commands_take_no_value_that_cannot_be_sent(capsys: Capture):
    async with Served.running() as served:
        assert await served.command("unload", "qa", "99999999999") == 2
        assert await served.command("load", "/engines/\udcff") == 1
        assert "UTF-8" in capsys.readouterr().err


async def test_a_service_without_this_api_is_told_apart(tmp_path: Path):
    server = grpc.aio.server()
    server.add_insecure_port(f"unix:{tmp_path}/callers.sock")
    await server.start()
    async with vivavoce.ModelAdmin(f"unix:{tmp_path}/callers.sock") as models:
        with pytest.raises(vivavoce.Incompatible, match="names in its log"):
            await models.list()
    await server.stop(grace=None)
