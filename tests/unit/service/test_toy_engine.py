"""An engine that only this file knows: registered, it is part of readiness, heartbeats and roll-out."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from grpc_health.v1 import health, health_pb2

from pipelines.errors import InvalidInputError, RolloutRefusedError
from pipelines.models.contracts import EngineContract
from pipelines.models.shipped import SHIPPED
from pipelines.models.triton import TritonClient
from pipelines.models.versions.probes import MalformedAnswerError
from service.admission.admission import Admission
from service.sessions.readiness import Readiness
from service.triton.engine_store import EngineStore
from service.triton.remote import RemoteModels, WrongTritonError
from service.triton.repository import composed
from service.triton.watchdog import INTERVAL_SECONDS, Watchdog
from tests import virtual_time
from tests.fake_triton import FakeTriton, serving
from tests.unit.pipelines.rollout_fakes import ENGINE, Files, Stage

if TYPE_CHECKING:
    from collections.abc import Mapping


ROOT = Path(__file__).parents[3]
MOOD = "toy_mood"
CONFIG = """
name: "toy_mood"
backend: "python"
input [ { name: "TEXT" data_type: TYPE_STRING dims: [ 1 ] } ]
output [ { name: "MOOD" data_type: TYPE_STRING dims: [ 1 ] } ]
"""


@dataclass
class Mood:
    """The client of the toy's model, without a model behind."""

    name: str
    mood: str = "happy"
    asked: list[str] = field(default_factory=list)

    async def tell(self, text: str) -> str:
        self.asked.append(text)
        return self.mood


@dataclass(frozen=True)
class MoodProbe:
    text: str
    mood: str | None = None

    async def ask(self, model: Mood) -> bool:
        mood = await model.tell(self.text)
        if not mood:
            raise MalformedAnswerError("there is no mood")
        return self.mood in {None, mood}


def read_mood(fields: Mapping[str, Any], _: Path) -> MoodProbe:
    return MoodProbe(fields["text"], fields["mood"])


TOY = EngineContract(
    role=MOOD,
    tensors=frozenset(("TEXT", "MOOD")),
    client=lambda _, model: Mood(model),
    probes=(MoodProbe("what a day"),),
    heartbeat=MoodProbe("hm"),
    read_example=read_mood,
)
REGISTRY = SHIPPED.including(TOY)


class ToyStage(Stage):
    """A roll-out of the shipped engines and the toy, whose versions answer that they are happy."""

    def __init__(self, mood: str = "happy") -> None:
        self.mood = mood
        self.clients: dict[str, Mood] = {}
        super().__init__(REGISTRY)
        self.store.files = Files(MOOD)

    def _connect(self, engine: str, name: str) -> object:
        if engine != MOOD:
            return super()._connect(engine, name)
        self.clients[name] = Mood(name, self.mood)
        return self.clients[name]


@dataclass
class Quiet:
    """A connection to Triton over which nobody has been answered."""

    open_sequences: tuple[int, ...] = ()

    def answered_at(self, _: str) -> float | None:
        return None

    async def unloaded(self, _: object) -> list[str]:
        return []


def engine(folder: Path, smoke: str = "") -> Path:
    (folder / "triton" / MOOD / "1").mkdir(parents=True)
    (folder / "triton" / MOOD / "config.pbtxt").write_text(CONFIG)
    (folder / "triton" / MOOD / "1" / "model.py").write_text("# a toy")
    (folder / "smoke.jsonl").write_text(smoke)
    return folder


def shipped_files() -> list[Path]:
    files = [path for folder in ("service", "pipelines") for path in (ROOT / folder).rglob("*.py")]
    assert len(files) > 100
    return files


def test_no_file_that_is_shipped_knows_the_toy():
    assert [path for path in shipped_files() if MOOD in path.read_text()] == []


def test_roles_are_spelled_out_where_they_are_defined():
    literals = {f'"{contract.role}"' for contract in SHIPPED}
    sources = {path.relative_to(ROOT).as_posix(): path.read_text() for path in shipped_files()}
    spelling = {path for path, source in sources.items() if any(literal in source for literal in literals)}
    assert "pipelines/models/contracts.py" in spelling
    # Stages of a turn have names of their own, two of which are the same.
    assert len(spelling) <= 3, spelling


def test_nobody_is_served_before_the_toy_is_ready():
    async def main() -> None:
        stage = ToyStage()
        health_servicer = health.aio.HealthServicer()
        readiness = Readiness(stage.rollout, health_servicer, Admission(1), ())
        watching = asyncio.create_task(readiness.watch())
        await asyncio.sleep(5)
        assert list(await stage.rollout.missing()) == [MOOD]
        assert not readiness.is_ready()
        stage.control.loaded.add(MOOD)
        await asyncio.sleep(5)
        assert readiness.is_ready()
        status = await health_servicer.Check(health_pb2.HealthCheckRequest(), None)
        assert status.status == health_pb2.HealthCheckResponse.SERVING
        assert stage.clients[MOOD].asked == ["what a day"] * 2, "it was not warmed up"
        watching.cancel()
        await asyncio.wait((watching,))

    virtual_time.run(main())


def test_a_toy_that_nobody_asks_is_asked_every_few_seconds():
    async def main() -> None:
        stage = ToyStage()
        watchdog = Watchdog(stage.rollout, stage.rollout, Quiet(), lambda _: False, loads=False, registry=REGISTRY)
        watching = asyncio.create_task(watchdog.watch(lambda: True))
        await asyncio.sleep(10 * INTERVAL_SECONDS)
        assert stage.clients[MOOD].asked.count("hm") > 5
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)

    virtual_time.run(main())


def test_a_version_of_the_toy_takes_over_and_is_rolled_back():
    async def main() -> None:
        stage = ToyStage()
        stage.control.loaded.add(MOOD)
        before = stage.rollout.active.begin_turn()
        loaded = await stage.rollout.load(ENGINE)
        assert (loaded.version.engine, loaded.version.number) == (MOOD, 2)
        assert stage.rollout.active_models()[MOOD] == f"{MOOD}.2"
        after = stage.rollout.active.begin_turn()
        for turn in (before, after):
            assert await turn.get(MOOD).tell("hello") == "happy"
        assert (before.versions, after.versions) == ({MOOD: 1}, {MOOD: 2})
        assert stage.clients[MOOD].asked == ["hello"]
        assert stage.clients[f"{MOOD}.2"].asked == ["what a day"] * 3 + ["hello"]
        for turn in (before, after):
            turn.release()
        await stage.rollout.roll_back(MOOD)
        assert stage.rollout.active_models()[MOOD] == MOOD
        await stage.rollout.close()

    virtual_time.run(main())


@pytest.mark.parametrize(
    ("mood", "examples", "reason"),
    [("", (), "WARM_UP_FAILED"), ("sad", (MoodProbe("hello", "happy"),), "SMOKE_EVALUATION_FAILED")],
)
def test_a_version_of_the_toy_that_answers_wrong_does_not_take_over(mood: str, examples: tuple, reason: str):
    async def main() -> None:
        stage = ToyStage(mood)
        stage.store.files = Files(MOOD, examples)
        with pytest.raises(RolloutRefusedError, match=MOOD if examples else "mood") as refused:
            await stage.rollout.load(ENGINE)
        assert refused.value.reason == reason
        assert stage.rollout.active_models()[MOOD] == MOOD

    virtual_time.run(main())


def test_a_repository_without_the_toy_is_refused(tmp_path: Path):
    refused = pytest.raises(FileNotFoundError, match=f"no model {MOOD}")
    with refused, composed(ROOT / "model_repository", (), registry=REGISTRY):
        pass
    with composed(ROOT / "model_repository", (engine(tmp_path),), registry=REGISTRY) as repository:
        assert (repository / MOOD / "config.pbtxt").is_file()


async def test_an_engine_directory_of_the_toy_becomes_a_version(tmp_path: Path):
    folder = engine(tmp_path / "new", '{"text": "hello", "mood": "happy"}\n')
    with composed(ROOT / "model_repository", (engine(tmp_path / "old"),), registry=REGISTRY) as repository:
        store = EngineStore(repository, registry=REGISTRY)
        assert store.models(MOOD, 1) == (MOOD,)
        files = await store.check(folder)
        assert (files.engine, files.examples) == (MOOD, [MoodProbe("hello", "happy")])
        await store.add(files, 2)
        assert 'name: "toy_mood.2"' in (repository / f"{MOOD}.2" / "config.pbtxt").read_text()
        shutil.rmtree(folder / "triton")
        with pytest.raises(
            InvalidInputError, match=f"one of asr, intent_slot, qa, punctuation, tts, end_of_turn, {MOOD}"
        ):
            await store.check(folder)


async def test_a_triton_of_somebody_else_must_have_the_toys_contract():
    fake = FakeTriton()
    fake.tensors[MOOD] = frozenset(("TEXT",))
    fake.ready.add(MOOD)
    async with serving(fake) as address:
        stage = ToyStage()
        stage.control.loaded.add(MOOD)
        client = TritonClient(address)
        with pytest.raises(WrongTritonError, match=f"its model {MOOD} has no MOOD"):
            await RemoteModels(stage.rollout, client, address, REGISTRY).missing()
        await client.close()


def test_two_engines_with_one_role_are_refused():
    with pytest.raises(ValueError, match="the same role"):
        REGISTRY.including(TOY)
