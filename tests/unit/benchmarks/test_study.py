"""The study of the BERT models' settings: its variants, its requests, and its tables."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING
from unittest.mock import AsyncMock, Mock

import numpy as np
import pytest
from google.protobuf import text_format
from tritonclient.grpc import model_config_pb2

from benchmarks.triton.study import serving
from benchmarks.triton.study.material import speech, utterances, windows
from benchmarks.triton.study.plan import BASE, INTENT, LOADS, MIXES, NETWORKS, QA, VARIANTS, served_name
from benchmarks.triton.study.points import Point, beats, summarize, tables
from benchmarks.triton.study.serving import lay_out
from service.triton.process import TritonProcess

if TYPE_CHECKING:
    from pathlib import Path


def test_all_variants_stand_side_by_side(tmp_path: Path):
    names = lay_out(tmp_path)
    assert len(set(names)) == len(names) == 2 * len(VARIANTS) + 2
    configs = {
        name: text_format.Parse((tmp_path / name / "config.pbtxt").read_text(), model_config_pb2.ModelConfig())
        for name in names
    }
    assert all(config.name == name for name, config in configs.items())
    assert len({config.SerializeToString(deterministic=True) for config in configs.values()}) == len(names)
    assert not configs[served_name(QA, "no_batching")].HasField("dynamic_batching")
    delay = configs[served_name(INTENT, "delay_5ms")].dynamic_batching.max_queue_delay_microseconds
    assert delay == 5000
    assert (tmp_path / names[0] / "1" / "model.py").is_file()


async def test_why_triton_does_not_come_up_is_told(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(serving, "_START_SECONDS", 0.0)
    client = Mock(is_model_ready=AsyncMock(return_value=False))
    process = Mock(spec=TritonProcess, reason="no such model")
    with pytest.raises(RuntimeError, match=r"with the variants: no such model$"):
        await serving._until_ready(client, ["qa_bert"], process)


def test_every_mix_names_variants_that_are_there():
    assert {mix.bert for mix in MIXES} <= set(VARIANTS)
    assert len({str(mix) for mix in MIXES}) == len(MIXES)


def test_requests_have_the_rows_that_the_load_names():
    questions = windows(8)
    for batch in (*utterances(8), *questions):
        assert {len(rows) for rows in batch.values()} == {8}
    assert all((batch["ATTENTION_MASK"].sum(axis=1) > 200).all() for batch in questions)
    assert all(batch["AUDIO"].dtype == np.float32 and abs(batch["AUDIO"]).max() <= 1 for batch in speech())


def point(number: int, throughput: float, p95: float, variant: str = BASE) -> Point:
    return Point(number, INTENT, "8 callers, batch 1", variant, "", throughput, p95 / 2, p95, 2.0)


def test_a_variant_is_compared_with_the_base_of_the_same_round():
    bases = [point(1, 100, 10), point(2, 10, 100), point(3, 100, 10)]
    mine = [point(1, 120, 8, "thread"), point(2, 12, 80, "thread"), point(3, 100, 11, "thread")]
    found = summarize(mine, bases)
    assert (found.faster, found.sooner, found.won, found.rounds) == (1.2, 1.25, 2, 3)
    assert found.throughput == 100


def test_at_a_fixed_rate_latency_tells():
    base = replace(point(1, 10, 20), mix="all")
    assert beats(replace(base, p95_ms=15), base)
    assert not beats(replace(base, throughput=11), base)
    assert beats(replace(base, model="asr", throughput=11, p95_ms=30), replace(base, model="asr"))


def test_tables_have_a_row_for_every_variant():
    alone = [
        Point(number, network, str(load), variant, "", 100.0, 5.0, 10.0, 1.0)
        for number in (1, 2)
        for network in NETWORKS
        for load in LOADS
        for variant in VARIANTS
    ]
    mixed = [
        replace(alone[0], round=number, model=model, variant=mix.bert, mix=str(mix))
        for number in (1, 2)
        for model in (*NETWORKS, "asr")
        for mix in MIXES
    ]
    text = tables([*alone, *mixed])
    assert text.count("| queue delay of 5 ms | 100.0 | 5.0 | 10.0 | 1.0 | 1.00 | 1.00 | 0 of 2 |") == len(
        NETWORKS
    ) * len(LOADS)
    assert text.count("**`asr`, all models at once**") == 1
