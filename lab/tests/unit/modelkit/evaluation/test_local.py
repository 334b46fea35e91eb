from __future__ import annotations

import re

import pytest

from modelkit.evaluation.local import MAX_WINDOWS, LocalEngines
from modelkit.triton_models import MODEL_REPOSITORY, NLU_MODELS

DOCUMENT = "The bridge was opened in 1932. It is 1149 metres long and made of steel."


@pytest.fixture(scope="module")
def engines() -> LocalEngines:
    return LocalEngines()


def test_as_many_windows_as_the_served_model():
    config = (MODEL_REPOSITORY / "qa_tokenize" / "config.pbtxt").read_text()
    assert re.search(r'"max_windows".*"(\d+)"', config)[1] == str(MAX_WINDOWS)


async def test_the_engines_understand_answer_and_abstain(engines):
    understood = await engines.understand("turn off the lights in the bedroom")
    assert (understood.intent, [slot.name for slot in understood.slots]) == ("iot_hue_lightoff", ["house_place"])
    assert "1149 metres" in await engines.answer("How long is the bridge?", DOCUMENT)
    assert await engines.answer("Who painted the Mona Lisa?", DOCUMENT) == ""


async def test_forced_engines_never_abstain():
    forced = LocalEngines(forced=True)
    assert await forced.answer("Who painted the Mona Lisa?", DOCUMENT) != ""
    assert (await forced.understand("The bridge was opened long ago.")).intent != "none"


async def test_an_engine_directory_takes_the_place_of_the_shipped_engine(tmp_path, engines):
    for name in NLU_MODELS[1:]:
        (tmp_path / "triton" / name).mkdir(parents=True)
        (tmp_path / "triton" / name / "1").symlink_to(MODEL_REPOSITORY / name / "1")
    labels = MODEL_REPOSITORY / "intent_slot_decode" / "1" / "labels.json"
    decode = tmp_path / "triton" / "intent_slot_decode" / "1"
    decode.unlink()
    decode.mkdir()
    (decode / "labels.json").write_text(labels.read_text().replace('"iot_hue_lightoff"', '"darken"'))
    own = LocalEngines([tmp_path])
    assert (await own.understand("turn off the lights in the bedroom")).intent == "darken"
    assert "1149 metres" in await own.answer("How long is the bridge?", DOCUMENT)
