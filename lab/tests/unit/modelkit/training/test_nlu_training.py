"""Intents and slots, from files to an engine directory, with a BERT of two small layers."""

from __future__ import annotations

import json
import random
import shutil
from typing import TYPE_CHECKING
from unittest.mock import Mock

import numpy as np
import pytest

from engines.bert.closed_slots import ClosedSlots
from engines.bert.decoder_files import load_intent_decoder
from engines.bert.intent_decoding import IntentDecoder, IntentLabels, Understanding
from engines.bert.network_files import network_file
from engines.bert.session import BertSession
from engines.bert.slots import Slot
from engines.bert.tokenizing import UtteranceTokenizer
from lab.tests.unit.modelkit.training.small_data import Recorder, Silent, write_jsonl
from modelkit.errors import DataError, EngineError, TrainingError
from modelkit.nlu import Utterance
from modelkit.sound_alikes import SoundAlikes
from modelkit.substitution import collect_values, substitute_values
from modelkit.training import nlu_engine
from modelkit.training.nlu import NluOptions, train
from modelkit.training.nlu_data import NluData, NluFiles, gather
from modelkit.training.nlu_recipe import NluRecipe
from modelkit.training.nlu_task import Logits
from modelkit.training.options import TrainOptions, adjust

if TYPE_CHECKING:
    from pathlib import Path

VALUES = {
    "size": ["small", "medium", "large"],
    "topping": ["cheese", "a little bit of cheese", "ham", "basil", "olives"],
}


def write_domain(folder: Path) -> Path:
    folder.mkdir()
    sentences = [
        f"{ask} a {size} pizza with {topping}"
        for ask in ("bring me", "i want", "please order")
        for size in VALUES["size"]
        for topping in VALUES["topping"]
    ]
    (folder / "sentences.txt").write_text("\n".join(sentences))
    (folder / "slot_values.json").write_text(json.dumps(VALUES))
    return folder


def options(data: Path, out: Path, base: Path, **more: object) -> NluOptions:
    settings = ("learning_rate=0.003", "head_learning_rate=0.01", "rows=8", "outliers_per_epoch=300", "dropout=0")
    common = TrainOptions((data,), out, (base,), validation=0.15, epochs=4, device="cpu", settings=settings)
    return NluOptions(common, NluFiles(**more))


def understand(engine: Path, text: str):
    triton = engine / "triton"
    tokenizer = UtteranceTokenizer(triton / "intent_slot_tokenize" / "1" / "tokenizer.json")
    session = BertSession(network_file(triton / "intent_slot_bert" / "1"))
    decode = triton / "intent_slot_decode" / "1"
    decoder = IntentDecoder(IntentLabels.load(decode / "labels.json"), ClosedSlots.load(decode / "slot_values.json"))
    batch = tokenizer.encode([text])
    (outputs,) = session.run([{name: getattr(batch, name) for name in session.inputs}])
    return decoder.decode([text], batch.offsets, *outputs.values())[0]


@pytest.fixture(scope="module")
def engine(tiny_base, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("nlu")
    display = Recorder()
    scores = train(options(write_domain(folder / "pizza"), folder / "engine", tiny_base, intents=("order",)), display)
    assert any(" utterances were held out for validation, and with fewer than 100" in line for line in display.said)
    assert scores["validation_forced"]["intent_accuracy"] > 0.9
    return folder / "engine"


def test_a_domain_of_sentences_becomes_an_engine(engine):
    got = understand(engine, "i want a large pizza with a little bit of cheese")
    assert got.intent == "order"
    assert {slot.name: slot.value for slot in got.slots} == {"size": "large", "topping": "a little bit of cheese"}
    talk = ("she lost the map", "where is the river", "who went home late", "how old is the bridge", "stop")
    others = [understand(engine, text) for text in talk]
    assert [other.intent for other in others].count("none") >= 4
    assert not any(other.slots for other in others if other.intent == "none")


def test_an_engine_tells_kinds_and_brings_the_hints_of_its_domain(engine):
    decode = engine / "triton" / "intent_slot_decode" / "1"
    decoder = load_intent_decoder(decode)
    assert decoder._kinds is not None
    assert json.loads((decode / "intent_kinds.json").read_text())["kinds"]["order"][0] == "command"
    values, sentences = json.loads((decode / "phrase_hints.json").read_text())
    assert "a little bit of cheese" in values["phrases"]
    assert values["boost"] is None
    assert "i want a large pizza" in " ".join(sentences["phrases"])
    assert sentences["boost"] > 0
    assert "phrase_hints" in (engine / "triton" / "intent_slot" / "config.pbtxt").read_text()


def test_the_card_says_what_the_engine_was_made_of(engine):
    card = json.loads((engine / "card.json").read_text())
    assert set(card["data"]) == {"pizza/sentences.txt", "pizza/slot_values.json"}
    assert all(len(entry["sha256"]) == 64 for entry in card["data"].values())
    assert card["recipe"]["schedule"]["seed"] == 7
    assert card["date"]
    assert {"validation", "validation_accepted", "outliers_rejected"} <= set(card["scores"])
    assert card == json.loads((engine / "triton" / "intent_slot_bert" / "1" / "card.json").read_text())


def test_nothing_but_the_weights_is_left_of_the_run(engine):
    names = {path.name for path in (engine / "training").iterdir()}
    assert names == {"network.pt", "labels.json", "tokenizer.json", "config.json", "run.json", "history.json"}


def test_a_finished_engine_is_not_overwritten(engine, tiny_base, tmp_path):
    data = write_domain(tmp_path / "pizza")
    with pytest.raises(EngineError, match="already holds an engine: choose another --out"):
        train(options(data, engine, tiny_base), Silent())


def test_an_engine_can_be_gone_on_from_with_more_intents_and_be_a_teacher(engine, tiny_base, tmp_path):
    music = write_jsonl(tmp_path / "music.jsonl", *((f"play {w} now", "music") for w in ("jazz", "rock", "some song")))
    pizza = write_domain(tmp_path / "pizza")
    one = options(pizza, tmp_path / "more", engine, intents=("order",))
    common = TrainOptions(**{**fields(one.common), "data": (pizza, music), "epochs": 0.2})
    scores = train(NluOptions(common, NluFiles(("order",))), Silent())
    assert scores["validation_forced"]["slot_f1"] > 0.8  # After a fifth of an epoch: it was known before.
    assert json.loads((tmp_path / "more" / "card.json").read_text())["base"].startswith("engine engine")

    taught = TrainOptions(**{**fields(one.common), "out": tmp_path / "taught", "epochs": 0.1, "teachers": (engine,)})
    talk = tmp_path / "talk.txt"
    talk.write_text("play the song\nbring the map\n")
    train(NluOptions(taught, NluFiles(("order",), unlabelled=(str(talk),))), Silent())
    card = json.loads((tmp_path / "taught" / "card.json").read_text())
    assert list(card["unlabelled"]) == [f"{tmp_path.name}/talk.txt"]
    assert card["recipe"]["unlabelled_per_epoch"] > 0
    other = TrainOptions(**{**fields(common), "out": tmp_path / "other", "teachers": (engine,)})
    with pytest.raises(TrainingError, match=r"the teacher .*engine has other intents or slots"):
        train(NluOptions(other, NluFiles(("order",))), Silent())


def test_a_domain_may_have_open_slots_beside_it(tiny_base, tmp_path):
    rows = [
        {"text": f"play {song}", "intent": "music", "slots": [{"start": 5, "end": 5 + len(song), "name": "song"}]}
        for song in (f"song {number}" for number in range(20))
    ]
    (tmp_path / "music.jsonl").write_text("\n".join(map(json.dumps, rows)))
    given = options(write_domain(tmp_path / "pizza"), tmp_path / "engine", tiny_base)
    data = (*given.common.data, tmp_path / "music.jsonl")
    scores = train(NluOptions(TrainOptions(**{**fields(given.common), "data": data})), Silent())
    assert scores["validation_accepted"] > 0.9


@pytest.mark.parametrize(("end", "share"), [(14, 1.0), (9, 0.0)])
def test_an_open_slot_is_accepted_with_the_words_that_are_labelled(monkeypatch, end, share):
    utterance = Utterance("play blue moon", "music", (Slot("song", 5, 14),))
    data = NluData((), (utterance,), (), {}, (), (), {"size": ("small",)}, {}, of_sentences=True)
    monkeypatch.setattr(nlu_engine, "predict", lambda *_: Logits(*(np.zeros(0),) * 3))
    decoder = Mock(decode=Mock(return_value=[Understanding("music", 0.9, (Slot("song", 5, end),))]))
    assert nlu_engine.accepted(Mock(), data, decoder, Mock()) == share


def test_an_engine_can_be_written_again_from_its_weights(engine, tiny_base, tmp_path):
    given = options(write_domain(tmp_path / "pizza"), engine, tiny_base, intents=("order",))
    before = network_file(engine / "triton" / "intent_slot_bert" / "1").read_bytes()
    train(NluOptions(TrainOptions(**{**fields(given.common), "export_only": True}), NluFiles(("order",))), Silent())
    assert network_file(engine / "triton" / "intent_slot_bert" / "1").read_bytes() == before


def test_the_weights_keep_their_base_and_their_labels_when_written_again(engine, other_base, tmp_path, monkeypatch):
    finish = Mock()
    monkeypatch.setattr(nlu_engine, "finish", finish)
    training = shutil.copytree(engine / "training", tmp_path / "engine" / "training")
    before = {path.name: path.read_bytes() for path in training.iterdir()}

    def export(data: Path, *intents: str) -> None:
        given = options(data, tmp_path / "engine", other_base, intents=intents)
        train(NluOptions(TrainOptions(**{**fields(given.common), "export_only": True}), NluFiles(intents)), Silent())

    both = ((f"{verb} {n}", verb) for n in range(8) for verb in ("play", "order"))
    music = write_jsonl(tmp_path / "music.jsonl", *both)
    with pytest.raises(TrainingError, match=r"labels\.json lacks play: give the data that the network was trained on"):
        export(music)
    export(write_domain(tmp_path / "pizza"), "order")
    assert {path.name: path.read_bytes() for path in training.iterdir()} == before
    saved, _, _, _, card, _ = finish.call_args.args
    assert saved.labels.slot_names == ("size", "topping")
    assert card["base"] == json.loads(before["run.json"])["base"]


def fields(common: TrainOptions) -> dict[str, object]:
    return {name: getattr(common, name) for name in TrainOptions.__slots__}


def gathered(*data: Path, **more: object):
    return gather(data, NluFiles(**more), validation=0.3, seed=1)


def test_one_class_alone_needs_outliers(tmp_path):
    path = write_jsonl(tmp_path / "one.jsonl", *((f"play {n}", "music") for n in range(9)))
    with pytest.raises(DataError, match=r"all utterances have the intent music: .* with --outliers FILE"):
        gathered(path)
    (tmp_path / "talk.txt").write_text("hello\nbye\n")
    assert set(gathered(path, outliers=(str(tmp_path / "talk.txt"),)).outliers) == {"hello", "bye"}


def test_outliers_of_files_of_one_name_are_put_together(tmp_path):
    path = write_jsonl(tmp_path / "one.jsonl", *((f"play {n}", "music") for n in range(9)))
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "talk.txt").write_text(f"hello {folder}\n")
    outliers = tuple(str(tmp_path / folder / "talk.txt") for folder in ("a", "b"))
    assert set(gathered(path, outliers=outliers).outliers) == {"hello a", "hello b"}


def test_what_is_tested_with_must_not_be_trained_on(tmp_path):
    data = write_jsonl(tmp_path / "train.jsonl", ("play jazz", "a"), ("stop", "b"), ("go", "b"), ("wait", "a"))
    test = write_jsonl(tmp_path / "test.jsonl", ("Play  JAZZ", "a"), ("other", "b"))
    with pytest.raises(DataError, match=r"1 of the 2 utterances of .*test\.jsonl are among the training data too"):
        gathered(data, test=test)
    kept = gathered(data, test=test, drop_duplicates=True)
    assert {u.text for u in (*kept.training, *kept.validation)} == {"stop", "go", "wait"}
    assert len(kept.test) == 2


def test_one_text_with_two_intents_is_refused(tmp_path):
    with pytest.raises(DataError, match="'stop' has the intent a and again b"):
        gathered(write_jsonl(tmp_path / "x.jsonl", ("stop", "a"), ("stop", "b")))


def test_both_places_of_a_text_with_two_intents_are_named(tmp_path):
    one = write_jsonl(tmp_path / "one.jsonl", ("go", "a"), ("stop", "a"))
    (tmp_path / "two.yml").write_text("nlu:\n- intent: b\n  examples: |\n    - Stop\n")
    with pytest.raises(DataError, match=r"keep the right one of .*one\.jsonl, line 2 and .*two\.yml, line 4"):
        gathered(one, tmp_path / "two.yml")
    folder = write_domain(tmp_path / "pizza")
    (folder / "sentences.txt").write_text("a small pizza\nstop\n")
    with pytest.raises(DataError, match=r"one\.jsonl, line 2 and .*sentences\.txt, sentence 2"):
        gathered(one, folder)


def test_what_is_said_twice_is_not_on_both_sides(tmp_path):
    path = write_jsonl(
        tmp_path / "x.jsonl", *((text, i) for i in "ab" for text in [f"{i} one", f"{i} ONE", f"{i} two"])
    )
    data = gathered(path)
    assert len(data.training) + len(data.validation) == 4


def test_intents_are_named_for_each_folder(tmp_path):
    folder = write_domain(tmp_path / "pizza")
    assert {u.intent for u in gathered(folder).training} == {"pizza"}
    with pytest.raises(DataError, match="2 names of intents for 1 folders"):
        gathered(folder, intents=("a", "b"))
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds neither sentences\.txt nor slot_values\.json"):
        gathered(tmp_path / "empty")


def test_data_of_which_nothing_can_be_held_out_are_refused(tmp_path):
    toy = write_jsonl(tmp_path / "toy.jsonl", ("turn on", "on"), ("turn off", "off"))
    with pytest.raises(
        DataError, match=r"2 utterances of 2 intents leave none to validate with.*: give several of each"
    ):
        gathered(toy)
    with pytest.raises(DataError, match=r"all utterances are in .*toy\.jsonl too: give others to train on"):
        gathered(toy, test=toy, drop_duplicates=True)


def test_slots_get_other_values_and_move_along():
    utterance = Utterance("a small pizza with ham", "order", (Slot("size", 2, 7), Slot("topping", 19, 22)))
    values = collect_values([utterance], VALUES)
    assert values["size"] == ("small", "medium", "large")
    rng = random.Random(0)
    seen = set()
    for _ in range(60):
        varied = substitute_values(utterance, values, 0.7, rng)
        size, topping = (varied.text[slot.start : slot.end] for slot in varied.slots)
        assert varied.text == f"a {size} pizza with {topping}"
        seen.add((size, topping))
    assert len(seen) > 8
    assert substitute_values(utterance, values, 0.0, rng) == utterance


def test_words_are_taken_for_those_that_sound_alike():
    alikes = SoundAlikes(["ham", "hem", "hum", "small", "smell", "pizza", "cheese", "cheesy", "##s", "Zoe"])
    rng = random.Random(0)
    assert {alikes.another("ham", rng) for _ in range(40)} >= {"hem", "hum"}
    assert alikes.another("xylophone", rng) == "xylophone"
    utterance = Utterance("a small pizza with ham", "order", (Slot("size", 2, 7), Slot("topping", 19, 22)))
    for _ in range(40):
        heard = alikes.mishear(utterance, 0.5, rng)
        size, topping = (heard.text[slot.start : slot.end] for slot in heard.slots)
        assert size in {"small", "smell"}
        assert topping in {"ham", "hem", "hum"}


def test_a_recipe_takes_settings_by_name():
    options = TrainOptions((), None, epochs=3, seed=5, settings=("layer_decay=0.9", "rows=8"))
    recipe = adjust(NluRecipe(), options)
    assert (recipe.rows, recipe.schedule.layer_decay, recipe.schedule.epochs, recipe.schedule.seed) == (8, 0.9, 3, 5)
    for setting, message in [("pace=1", "the recipe has no pace: it has average, "), ("rows", "sets nothing"),
                             ("rows=few", "rows=few: give a whole number")]:  # fmt: skip
        with pytest.raises(TrainingError, match=message):
            adjust(NluRecipe(), TrainOptions((), None, settings=(setting,)))
