"""A domain of one's own: from sentences to a service that understands them."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

import vivavoce
from lab.tests.tiny_bert import write_tiny_bert
from service.processes.child_process import listening

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {"size": ["small", "medium", "large"], "topping": ["cheese", "a little bit of cheese", "ham", "basil"]}


def sentences() -> list[str]:
    asks = ("bring me", "i want", "please order", "can i have", "i want to order")
    return [f"{ask} a {size} pizza with {top}" for ask in asks for size in VALUES["size"] for top in VALUES["topping"]]


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    tmp_path = tmp_path_factory.mktemp("training")
    folder, engine = tmp_path / "pizza", tmp_path / "engine"
    folder.mkdir()
    (folder / "sentences.txt").write_text("\n".join(sentences()))
    (folder / "slot_values.json").write_text(json.dumps(VALUES))
    settings = ("learning_rate=0.003", "head_learning_rate=0.01", "rows=8", "outliers_per_epoch=300", "dropout=0")
    command = [
        "train",
        "nlu",
        folder,
        "--intent",
        "order",
        "--out",
        engine,
        "--epochs",
        "2",
        "--json",
        "--device",
        "cpu",
    ]
    command += ["--base", write_tiny_bert(tmp_path), *(f"--set={setting}" for setting in settings)]
    trained = subprocess.run([sys.executable, "-m", "vivavoce", *map(str, command)], capture_output=True, text=True)
    assert trained.returncode == 0, trained.stderr
    assert json.loads(trained.stdout)["engine"] == str(engine)
    return engine


async def test_a_trained_engine_is_served(engine, tmp_path):
    served = ["-m", "vivavoce", "serve", "--port", "0", "--engine", str(engine)]
    with listening(served, tmp_path / "log.txt") as (_, address):
        async with vivavoce.connect(address) as client:
            reply = await client.ask("I want a LARGE pizza with a little bit of cheese!")
    assert reply.intent.name == "order"
    assert {slot.name: slot.value for slot in reply.slots} == {"size": "large", "topping": "a little bit of cheese"}
