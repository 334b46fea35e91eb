from __future__ import annotations

import asyncio
import csv
import random
from dataclasses import replace
from itertools import islice
from types import SimpleNamespace

import numpy as np
import pytest
from tritonclient.grpc import model_config_pb2
from tritonclient.utils import np_to_triton_dtype

import vivavoce
from benchmarks.sla.material import DEMONSTRATION, read_items
from benchmarks.triton import load as load_module
from benchmarks.triton import sweep
from benchmarks.triton.inputs import InputSpec, in_batches, made_up, read_inputs
from benchmarks.triton.load import Concurrency, RequestRate, sequence_steps
from benchmarks.triton.report import make_row, plot, write_csv
from benchmarks.triton.requests import Step, Timed
from benchmarks.triton.shared_memory import pack, unpack
from benchmarks.triton.statistics import PARTS
from benchmarks.triton.sweep import make_items
from benchmarks.triton.windows import Measured, Window, is_steady
from tests import virtual_time

TEXT = InputSpec("TEXT", "BYTES", (1,), batched=True)
AUDIO = InputSpec("AUDIO", "FP32", (-1,), batched=True)


def window(count: int, latency: float, compute: float = 0.0) -> Window:
    return Window(1.0, tuple(Timed(0.0, latency, 0.001, 0.001, 2, compute) for _ in range(count)))


def test_three_windows_that_agree_are_steady():
    assert is_steady([window(1, 9.0), window(10, 0.1), window(10, 0.1), window(11, 0.1)], 0.1)


@pytest.mark.parametrize(
    "windows",
    [
        [window(10, 0.1)] * 2,
        [window(10, 0.1), window(10, 0.1), window(20, 0.1)],
        [window(10, 0.1), window(10, 0.1), window(10, 0.2)],
        [window(10, 0.1), window(0, 0.1), window(10, 0.1)],
    ],
    ids=["too few", "throughput differs", "latency differs", "one is empty"],
)
def test_others_are_not(windows):
    assert not is_steady(windows, 0.1)


def test_made_up_inputs_have_the_declared_type_and_the_named_shape():
    values = made_up([TEXT, AUDIO], {"AUDIO": (160,)}, np.random.default_rng(1))
    assert values["AUDIO"].shape == (160,)
    assert values["AUDIO"].dtype == np.float32
    assert isinstance(values["TEXT"][0], bytes)


def test_made_up_inputs_of_a_bert_are_valid():
    specs = [
        InputSpec(name, "INT64", (-1,), batched=True) for name in ("INPUT_IDS", "ATTENTION_MASK", "TOKEN_TYPE_IDS")
    ]
    values = made_up(specs, {}, np.random.default_rng(1))
    assert values["INPUT_IDS"].max() > 1
    assert (values["ATTENTION_MASK"] == 1).all()
    assert (values["TOKEN_TYPE_IDS"] == 0).all()


def test_a_recognizer_hears_recorded_speech_and_no_flag_is_set():
    decode = InputSpec("DECODE", "BOOL", (1,), batched=True)
    items, told = make_items([AUDIO, decode], {"AUDIO": (3200,)}, 10)
    assert {item["AUDIO"].shape for item in items} == {(3200,)}
    assert not any(item["DECODE"].any() for item in items)
    recording = vivavoce.read_audio(DEMONSTRATION.parent / read_items(DEMONSTRATION)[0].path)
    assert recording.sample_rate_hz == 16_000
    heard = np.concatenate(list(recording.chunks()))[:3200]
    np.testing.assert_allclose(items[0]["AUDIO"], heard.reshape(-1)[:3200], atol=1e-3)
    assert told.startswith("AUDIO: 0.2 s of recorded speech a request, 10 requests a sequence (2 s)")
    assert told.endswith("sends 5 requests a second")


def test_what_other_models_get_is_told():
    items, told = make_items([TEXT], {}, 0)
    assert len(items) > 1
    assert told == "TEXT [1]: made-up values; --input names a file of real ones"


class ModelWith:
    """Stands for a connection to a Triton whose one model has a configuration, and answers nothing else."""

    def __init__(self, config: model_config_pb2.ModelConfig) -> None:
        self._config = config

    async def config(self, name: str) -> model_config_pb2.ModelConfig:
        return self._config

    async def close(self) -> None: ...


@pytest.mark.parametrize(
    ("has_state", "loads", "told"),
    [
        (True, {"request_rates": (4.0,)}, "use --concurrency"),
        (False, {"sequence_length": 3}, "leave --sequence-length"),
    ],
)
async def test_sequences_are_for_models_with_state(monkeypatch, has_state: bool, loads, told: str):
    config = model_config_pb2.ModelConfig()
    if has_state:
        config.sequence_batching.max_sequence_idle_microseconds = 1
    config.input.add(name="TEXT", data_type="TYPE_STRING", dims=[1])
    monkeypatch.setattr(sweep, "connect", lambda *_: ModelWith(config))
    with pytest.raises(sweep.SweepError, match=told):
        await sweep.run_sweep("localhost:1", sweep.Sweep("some", **loads), lambda _: None)


def test_a_shape_for_an_input_that_there_is_not_is_told():
    with pytest.raises(ValueError, match="there is no input AUDO: name one of TEXT, AUDIO"):
        made_up([TEXT, AUDIO], {"AUDO": (160,)}, np.random.default_rng(1))


def test_inputs_are_read_from_a_file(tmp_path):
    (tmp_path / "in.jsonl").write_text('{"TEXT": "wake me", "AUDIO": [0.5, 1]}\n')
    (item,) = read_inputs(tmp_path / "in.jsonl", [TEXT, AUDIO])
    assert item["TEXT"].tolist() == [b"wake me"]
    np.testing.assert_array_equal(item["AUDIO"], np.array([0.5, 1], np.float32))


@pytest.mark.parametrize("line", ['{"TEXT": "a"}', "[", '{"TEXT": "a", "AUDIO": [[1]]}', '{"TEXT": "a", "AUDIO": "x"}'])
def test_a_line_that_is_no_input_is_named(tmp_path, line):
    (tmp_path / "in.jsonl").write_text(f'{{"TEXT": "a", "AUDIO": [1]}}\n{line}\n')
    with pytest.raises(ValueError, match="line 2"):
        read_inputs(tmp_path / "in.jsonl", [TEXT, AUDIO])


def test_batches_go_round_where_items_run_out():
    items = [{"TEXT": np.array([text], np.object_)} for text in (b"a", b"b", b"c")]
    batches = in_batches(items, [TEXT], 2)
    assert [batch["TEXT"].reshape(-1).tolist() for batch in batches] == [[b"a", b"b"], [b"c", b"a"]]


def test_a_model_without_batches_takes_none():
    alone = InputSpec("TEXT", "BYTES", (1,), batched=False)
    with pytest.raises(ValueError, match="batch size 1"):
        in_batches([{"TEXT": np.array([b"a"], np.object_)}], [alone], 2)


def test_sequences_begin_and_end_and_are_told_apart():
    steps = list(islice(sequence_steps(3, random.Random(1)), 6))
    assert [(step.start, step.end) for step in steps] == [(True, False), (False, False), (False, True)] * 2
    assert len({step.sequence for step in steps}) == 2
    assert all(step.sequence for step in steps)


async def test_a_load_that_is_stopped_ends_its_sequences_and_cancels_no_request():
    open_sequences: set[int] = set()
    answered = asyncio.Semaphore(0)
    cancelled = False

    async def send(_, step: Step) -> Timed:
        nonlocal cancelled
        if step.start:
            open_sequences.add(step.sequence)
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            cancelled = True
            raise
        if step.end:
            open_sequences.discard(step.sequence)
        answered.release()
        return Timed(0.0, 0.1, 0.0, 0.0, 1)

    batches = [{"X": np.zeros((1, 1))}]
    running = asyncio.create_task(Concurrency(batches, 3, sequence_length=1000).run(send, lambda _: None))
    for _ in range(20):
        await answered.acquire()
    assert len(open_sequences) == 3
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not open_sequences
    assert not cancelled


@pytest.fixture
def _virtual_clock(monkeypatch):
    monkeypatch.setattr(load_module, "time", SimpleNamespace(monotonic=lambda: asyncio.get_running_loop().time()))


async def stopped_after(seconds: float, load: RequestRate, send) -> list[Timed]:
    """Runs a load for so long; returns what it noted meanwhile."""
    answers: list[Timed] = []
    running = asyncio.create_task(load.run(send, answers.append))
    await asyncio.sleep(seconds)
    noted = list(answers)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    return noted


@pytest.mark.usefixtures("_virtual_clock")
def test_with_a_rate_the_wait_for_a_late_generator_counts():
    async def send(*_) -> Timed:
        loop = asyncio.get_running_loop()
        began = loop.time()
        loop.pass_seconds(0.002)
        packed = loop.time()
        await asyncio.sleep(0.001)
        return Timed(began, loop.time(), packed - began, 0.0, 1)

    answers = virtual_time.run(stopped_after(4, RequestRate([{}], 1000, poisson=False), send))
    assert answers[10].total < 0.1
    assert answers[-1].total > 1
    assert answers[-1].total - answers[-1].send == pytest.approx(answers[0].total - answers[0].send, abs=0.01)


@pytest.mark.usefixtures("_virtual_clock")
def test_with_a_rate_no_request_under_way_is_cancelled():
    begun = ended = 0

    async def send(*_) -> Timed:
        nonlocal begun, ended
        begun += 1
        await asyncio.sleep(0.5)
        ended += 1
        return Timed(0.0, 0.5, 0.0, 0.0, 1)

    virtual_time.run(stopped_after(0.1, RequestRate([{}], 100), send))
    assert begun == ended > 0


def measured() -> Measured:
    before = dict.fromkeys(
        (
            "queue",
            "compute_input",
            "compute_infer",
            "compute_output",
            "success",
            "requests",
            "inferences",
            "executions",
        ),
        0,
    )
    after = before | {
        "queue": 10**7,
        "compute_infer": 4 * 10**7,
        "success": 5 * 10**7,
        "requests": 10,
        "inferences": 20,
        "executions": 5,
    }
    half = {name: count // 2 for name, count in after.items()} | {"requests": 10}
    return Measured(window(10, 0.01), True, {"m": before, "step": before}, {"m": after, "step": half})


def test_the_parts_of_the_latency_add_up_to_it():
    row = make_row("1 callers", 1, 2, measured())
    assert sum(row.parts_ms.values()) == pytest.approx(row.latency_ms["mean"])
    assert row.parts_ms == {
        "client_send": 1.0,
        "network": 3.0,
        "queue": 1.0,
        "compute_input": 0.0,
        "compute_infer": 4.0,
        "compute_output": 0.0,
        "client_receive": 1.0,
    }
    assert tuple(row.parts_ms) == PARTS
    assert (row.throughput, row.server_batch) == (20.0, 4.0)
    assert row.steps_ms == {"step": {"queue": 0.5, "compute_input": 0.0, "compute_infer": 2.0, "compute_output": 0.0}}


def test_a_model_that_answers_later_is_believed_what_it_computed():
    row = make_row("1 callers", 1, 2, replace(measured(), window=window(10, 0.01, compute=0.006)))
    assert (row.parts_ms["compute_infer"], row.parts_ms["network"]) == (6.0, 1.0)
    assert sum(row.parts_ms.values()) == pytest.approx(row.latency_ms["mean"])


def test_a_table_has_the_columns_of_perf_client(tmp_path):
    write_csv([make_row("1 callers", 1, 2, measured()), make_row("4 callers", 4, 2, measured())], tmp_path / "m.csv")
    with (tmp_path / "m.csv").open() as file:
        header, one, four = csv.reader(file)
    assert header[:13] == [
        "Concurrency",
        "Inferences/Second",
        "Client Send",
        "Network+Server Send/Recv",
        "Server Queue",
        "Server Compute Input",
        "Server Compute Infer",
        "Server Compute Output",
        "Client Recv",
        "p50 latency",
        "p90 latency",
        "p95 latency",
        "p99 latency",
    ]
    assert one[:9] == ["1", "20.0", "1000", "3000", "1000", "0", "4000", "0", "1000"]
    assert four[0] == "4"
    with pytest.raises(ValueError, match="one of them"):
        write_csv([make_row("1 callers", 1, 2, measured()), make_row("4/s", 4, 2, measured())], tmp_path / "m.csv")


@pytest.mark.parametrize(
    "values",
    [np.arange(6, dtype=np.int64).reshape(2, 3), np.array([["à".encode(), b""]], np.object_), np.zeros((0, 4))],
)
def test_tensors_come_back_from_memory_as_they_were(values):
    datatype = np_to_triton_dtype(values.dtype)
    packed = np.append(pack(values, datatype), np.uint8(7))
    np.testing.assert_array_equal(unpack(packed, datatype, values.shape), values)


def test_the_pictures_are_drawn(tmp_path):
    plot([make_row("1 callers", 1, 2, measured()), make_row("4 callers", 4, 2, measured())], "m", tmp_path / "m.png")
    assert (tmp_path / "m.png").read_bytes().startswith(b"\x89PNG")
