from __future__ import annotations

import csv
import itertools
import json
from dataclasses import replace

import numpy as np
import pytest
import soundfile

from benchmarks.cli.bench_sla import _write_csv
from benchmarks.sla import caller as caller_module
from benchmarks.sla import load as load_module
from benchmarks.sla import pace as pace_module
from benchmarks.sla import scripts as scripts_module
from benchmarks.sla.caller import Caller, Record, overhead_of
from benchmarks.sla.capacity import find_capacity
from benchmarks.sla.load import LoadResult, processes_for
from benchmarks.sla.material import DEMONSTRATION, RATE_HZ, Item, read_items, samples
from benchmarks.sla.pace import CHUNK
from benchmarks.sla.plot import plot
from benchmarks.sla.report import make_report, percentiles, within_budget
from benchmarks.sla.scripts import Line, Mix, Script, write_scripts
from tests.virtual_time import Clock
from vivavoce import (
    Answer,
    EndReason,
    Interrupted,
    InterruptionReason,
    Latency,
    Overloaded,
    Reply,
    ReplyAudio,
    ReplyStatus,
    SpeechBegan,
    SpeechEnded,
    Stage,
    StageLatency,
    Transcript,
)

ITEMS = read_items(DEMONSTRATION)


def test_scripts_are_the_same_for_the_same_seed_and_others_for_another():
    first, again, other = (write_scripts(ITEMS, 8, 20, Mix(), seed) for seed in (1, 1, 2))
    assert first == again != other


def test_shares_of_callers_are_exact():
    scripts = write_scripts(ITEMS, 20, 20, Mix(listeners=0.25, questions=0.4), 1)
    assert sum(not script.lines for script in scripts) == 5
    assert sum(script.document is not None for script in scripts) == 6


def test_somebody_always_speaks():
    assert write_scripts(ITEMS, 1, 10, Mix(listeners=1.0), 1)[0].lines


def test_recordings_do_not_overlap_and_end_inside_the_stream():
    for script in write_scripts(ITEMS, 12, 30, Mix(listeners=0), 3):
        ends = [line.first_sample + len(samples(line.item.path)) for line in script.lines]
        starts = [line.first_sample for line in script.lines]
        assert all(end <= start for end, start in zip(ends, starts[1:], strict=False))
        assert ends[-1] <= script.samples


def test_recordings_without_silence_at_their_ends_are_kept_apart(tmp_path):
    soundfile.write(tmp_path / "cut.wav", np.full(RATE_HZ, 0.5), RATE_HZ)
    for script in write_scripts([Item(tmp_path / "cut.wav", "cut")], 8, 30, Mix(listeners=0), 3):
        starts = [line.first_sample for line in script.lines]
        gaps = [later - start - RATE_HZ for start, later in zip(starts, [*starts[1:], script.samples], strict=True)]
        assert min(gaps) > 0.65 * RATE_HZ


def test_recordings_with_silence_of_their_own_get_no_more():
    scripts = write_scripts(ITEMS, 16, 30, Mix(), 1)
    assert sum(line.first_sample for script in scripts for line in script.lines) == 13_513_477
    assert sum(script.samples for script in scripts) == 7680000


def test_questions_are_about_the_document_of_their_caller():
    for script in write_scripts(ITEMS, 12, 30, Mix(listeners=0, questions=1.0), 3):
        assert {line.item.document for line in script.lines} == {script.document}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"text": "a"}', "entry 1"),
        ("", "names no recordings"),
        ("{", "entry 1"),
        ('["a.wav", "b.wav"]', 'entry 1: TypeError.*"a.wav" is no object'),
    ],
)
def test_a_manifest_that_is_none_is_refused(tmp_path, text, said):
    (tmp_path / "m.jsonl").write_text(text)
    with pytest.raises(ValueError, match=said):
        read_items(tmp_path / "m.jsonl")


def make_reply(turn: int, answer: str | None = None) -> Reply:
    found = Answer(answer, 0.9, 0, len(answer), "") if answer else None
    latency = Latency(0.005, ())
    return Reply(turn, "x", None, (), found, ReplyStatus.COMPLETE, (), latency, True, client_latency_seconds=0.007)


class FakeClient:
    def __init__(self, events) -> None:
        self._events = events

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_) -> None:
        pass

    async def converse(self, said, **_):
        async for _ in said:
            pass
        for event in self._events:
            if isinstance(event, Exception):
                raise event
            yield event


@pytest.fixture
def _instant(monkeypatch):
    async def no_sleep(_: float) -> None:
        pass

    monkeypatch.setattr(pace_module.asyncio, "sleep", no_sleep)


def test_loud_recordings_stay_what_they_are_in_a_room(monkeypatch):
    monkeypatch.setattr(scripts_module, "samples", lambda _: np.full(RATE_HZ, 32_767, np.int16))
    stream = scripts_module.spoken(spoken(0))
    assert stream.dtype == np.int16
    assert stream[:RATE_HZ].min() > 32_000


async def call(monkeypatch, script, events) -> Record:
    monkeypatch.setattr(caller_module.vivavoce, "connect", lambda _: FakeClient(events))
    return await Caller("nowhere", script).call()


def spoken(*firsts: int) -> Script:
    question = next(item for item in ITEMS if item.answer)
    lines = tuple(Line(question, first) for first in firsts)
    return Script(0.0, lines, question.document, firsts[-1] + 10 * RATE_HZ, 1)


@pytest.mark.usefixtures("_instant")
async def test_replies_are_matched_with_what_was_being_said(monkeypatch):
    script = spoken(0, 5 * RATE_HZ)
    wanted = script.lines[0].item.answer
    events = [SpeechBegan(1, 5.4), SpeechEnded(1, 6.0, EndReason.SILENCE), make_reply(1, "the queen")]
    record = await call(monkeypatch, script, events)
    assert record.answers == [(wanted, ""), (wanted, "the queen")]
    assert record.lost == 1
    assert record.utterances == 2


@pytest.mark.usefixtures("_instant")
async def test_an_utterance_cut_in_two_counts_once(monkeypatch):
    events = [SpeechBegan(1, 0.4), make_reply(1), SpeechBegan(2, 1.4), make_reply(2, "the queen")]
    record = await call(monkeypatch, spoken(0), events)
    assert [got for _, got in record.answers] == ["the queen"]
    assert record.lost == 0


@pytest.mark.usefixtures("_instant")
async def test_a_completion_counts_beside_the_replies(monkeypatch):
    partial = replace(make_reply(1), status=ReplyStatus.PARTIAL)
    failed = replace(make_reply(2), status=ReplyStatus.DEGRADED, completes=True)
    whole = replace(make_reply(1, "the queen"), completes=True)
    events = [SpeechBegan(1, 0.4), partial, SpeechBegan(2, 1.4), replace(partial, turn=2), whole, failed]
    record = await call(monkeypatch, spoken(0), events)
    assert record.statuses == {"PARTIAL": 2}
    assert len(record.completed) == 1
    assert [got for _, got in record.answers] == ["the queen"]


@pytest.mark.usefixtures("_instant")
async def test_a_text_that_comes_late_stands_where_it_was_said(monkeypatch):
    said = [(1, "one"), (3, "three"), (2, "two"), (3, "and a half")]
    events = [Transcript(turn, text, is_final=True, start_seconds=0.0, end_seconds=1.0) for turn, text in said]
    record = await call(monkeypatch, spoken(0), events)
    assert record.transcript == "one two three and a half"


@pytest.mark.usefixtures("_instant")
async def test_a_refusal_is_an_error_with_its_time(monkeypatch):
    record = await call(monkeypatch, spoken(0), [Overloaded("full", code="RESOURCE_EXHAUSTED")])
    assert record.error == "RESOURCE_EXHAUSTED"
    assert record.refusal is not None


@pytest.mark.parametrize("end_seconds", [0.15, 0.2], ids=["within a chunk", "where a chunk ends"])
async def test_chunks_are_timed_from_their_sending_and_speech_from_its_own_moment(monkeypatch, end_seconds):
    clock = Clock(100.0)

    async def pass_seconds(seconds: float) -> None:
        clock.seconds += seconds

    monkeypatch.setattr(pace_module.asyncio, "sleep", pass_seconds)
    monkeypatch.setattr(pace_module.time, "monotonic", clock)
    events = [
        Transcript(1, "hello", is_final=False, start_seconds=0.03, end_seconds=end_seconds),
        SpeechEnded(1, 0.01, EndReason.SILENCE),
        make_reply(1),
    ]
    script = spoken(0)
    record = await call(monkeypatch, script, events)
    after_the_first_chunk = (script.samples - CHUNK) / RATE_HZ
    assert record.chunk == pytest.approx([after_the_first_chunk - 0.1])
    assert record.first_partial == pytest.approx([after_the_first_chunk + 0.07])
    last_sound_seconds = script.lines[0].speech_end / RATE_HZ
    assert record.turn == pytest.approx([after_the_first_chunk + 0.1 - last_sound_seconds])
    assert record.cut == 0


async def test_spoken_replies_are_timed_from_the_last_sound_and_interruptions_from_the_first(monkeypatch):
    clock = Clock(100.0)

    async def pass_seconds(seconds: float) -> None:
        clock.seconds += seconds

    monkeypatch.setattr(pace_module.asyncio, "sleep", pass_seconds)
    monkeypatch.setattr(pace_module.time, "monotonic", clock)
    events = [
        SpeechBegan(1, 0.0),
        make_reply(1),
        ReplyAudio(1, b"", 0.0, is_last=False),
        ReplyAudio(1, b"", 0.2, is_last=False),
        Interrupted(1, 0.1, "", InterruptionReason.SPEECH),
    ]
    script = spoken(0)
    record = await call(monkeypatch, script, events)
    arrived = (script.samples - CHUNK) / RATE_HZ + 0.1
    assert record.voice_to_voice == pytest.approx([arrived - script.lines[0].speech_end / RATE_HZ])
    assert record.interruption == pytest.approx([arrived - script.lines[0].onset / RATE_HZ])


@pytest.mark.usefixtures("_instant")
async def test_a_reply_before_the_last_sound_is_a_cut(monkeypatch):
    script = spoken(0)
    monkeypatch.setattr(type(script.lines[0]), "speech_end", property(lambda line: 10_000 * RATE_HZ))
    record = await call(monkeypatch, script, [SpeechBegan(1, 0.0), make_reply(1)])
    assert (record.cut, record.turn, record.lost) == (1, [], 0)


@pytest.mark.usefixtures("_instant")
async def test_an_onset_told_with_the_window_before_belongs_to_its_line(monkeypatch):
    first = 5 * RATE_HZ
    events = [SpeechBegan(1, first / RATE_HZ - 0.02), make_reply(1, "the queen")]
    record = await call(monkeypatch, spoken(0, first), events)
    assert [got for _, got in record.answers] == ["", "the queen"]
    assert (await call(monkeypatch, spoken(first), events)).lost == 0


@pytest.mark.usefixtures("_instant")
async def test_a_reply_to_noise_is_none_to_what_is_said_later(monkeypatch):
    record = await call(monkeypatch, spoken(5 * RATE_HZ), [SpeechBegan(1, 1.0), make_reply(1)])
    assert record.lost == 1


def test_some_who_ask_are_answered_aloud_and_interrupt():
    silent = write_scripts(ITEMS, 8, 60, Mix(listeners=0, questions=1.0), 1)
    aloud = write_scripts(ITEMS, 8, 60, Mix(listeners=0, questions=1.0, spoken=1.0, interruptions=0.5), 1)
    assert [[line.item for line in script.lines] for script in silent] == [
        [line.item for line in script.lines] for script in aloud
    ]
    assert all(script.is_answered_aloud for script in aloud)
    assert not any(script.is_answered_aloud for script in silent)
    pairs = [pair for script in aloud for pair in itertools.pairwise(script.lines)]
    gaps = [(after.onset - before.speech_end) / RATE_HZ for before, after in pairs]
    assert sum(gap == pytest.approx(1.2, abs=0.01) for gap in gaps) > len(gaps) / 4
    assert min(gaps) > 0.6


def result(*records: Record) -> LoadResult[Record]:
    return LoadResult(list(records), 10.0, 0.1)


def test_a_report_says_what_was_late_and_what_was_wrong():
    good = Record(
        reference="a b c d", transcript=" A b, c x.", reply=[0.1, 0.2], utterances=2, statuses={"COMPLETE": 2}
    )
    refused = Record(error="RESOURCE_EXHAUSTED", refusal=0.01, utterances=3, lost=3)
    report = make_report(result(good, refused))
    assert report["wer"] == 0.25
    assert report["errors"] == {"RESOURCE_EXHAUSTED": 1}
    assert (report["utterances"], report["replies"], report["lost"]) == (2, 2, 0)
    assert report["latency_ms"]["reply"]["p50"] == 150.0
    assert report["latency_ms"]["refusal"]["max"] == 10.0
    assert not within_budget(report, 300)


def test_a_report_tells_what_was_completed_late_beside_what_was_in_time():
    late = Record(reply=[0.3, 0.3], utterances=2, statuses={"PARTIAL": 2}, completed=[0.4])
    report = make_report(result(late))
    assert (report["replies"], report["statuses"], report["completed_late"]) == (2, {"PARTIAL": 2}, 1)
    assert report["latency_ms"]["completed"]["max"] == 400.0
    assert not within_budget(report, 300), "what comes late is not in time"


def test_of_a_conversation_that_was_cut_off_as_many_utterances_count_as_were_replied_to():
    cut_off = Record(utterances=5, statuses={"COMPLETE": 2, "PARTIAL": 1}, error="UNAVAILABLE", lost=2)
    report = make_report(result(cut_off, Record(utterances=5, statuses={"COMPLETE": 4}, lost=1)))
    assert (report["utterances"], report["replies"], report["lost"]) == (8, 7, 1)


def test_the_budget_is_kept_only_with_every_reply():
    kept = Record(reply=[0.1] * 20, utterances=20, statuses={"COMPLETE": 20})
    assert within_budget(make_report(result(kept)), 100.1)
    assert not within_budget(make_report(result(kept)), 99)
    assert not within_budget(make_report(result(Record(reply=[0.1], utterances=2, lost=1))), 300)


@pytest.mark.parametrize(("callers", "processes"), [(1, 1), (12, 1), (13, 2), (40, 2)])
def test_callers_run_in_no_more_processes_than_there_are_cores(monkeypatch, callers, processes):
    monkeypatch.setattr(load_module.os, "cpu_count", lambda: 2)
    assert processes_for(callers) == processes


def test_no_values_have_no_percentiles():
    assert percentiles([]) == {"n": 0}


@pytest.mark.parametrize("limit", [0, 1, 3, 4, 9, 23, 200])
def test_the_capacity_found_is_the_limit_to_one_part_in_eight(limit):
    def measure(streams: int):
        late = Record(reply=[0.5 if streams > limit else 0.1], utterances=1, statuses={"COMPLETE": 1})
        return {**make_report(result(late)), "streams": streams}

    found, reports = find_capacity(measure, 300)
    assert limit - max(1, limit // 8) <= found <= limit
    assert max(report["streams"] for report in reports) > limit


def test_a_single_bad_moment_is_not_the_limit():
    moments = iter([False, True, True, False, False, False, False, False, False, False, False])

    def measure(streams: int):
        return make_report(result(Record(reply=[0.1 if next(moments) else 0.5], utterances=1)))

    found, _ = find_capacity(measure, 300, start=4)
    assert found >= 8


def test_files_hold_every_load(tmp_path):
    reports = [
        {**make_report(result(Record(reply=[0.1 * n], utterances=1, statuses={"COMPLETE": 1}))), "streams": n}
        for n in (1, 2)
    ]
    _write_csv(reports, tmp_path / "loads.csv")
    rows = list(csv.DictReader((tmp_path / "loads.csv").read_text().splitlines()))
    assert [row["latency_ms.reply.p95"] for row in rows] == ["100.0", "200.0"]
    plot(reports, 300, tmp_path / "loads.png")
    assert (tmp_path / "loads.png").read_bytes().startswith(b"\x89PNG")
    json.dumps(reports)


def test_a_reply_that_leaves_stages_out_is_no_sign_of_capacity():
    mostly = Record(reply=[0.1] * 20, utterances=20, statuses={"COMPLETE": 19, "PARTIAL": 1})
    hardly = Record(reply=[0.1] * 20, utterances=20, statuses={"COMPLETE": 18, "PARTIAL": 2})
    assert within_budget(make_report(result(mostly)), 300)
    assert not within_budget(make_report(result(hardly)), 300)


@pytest.mark.parametrize(("speculated", "overhead"), [(False, 0.02), (True, 0.25)])
def test_overhead_is_what_models_did_not_compute(speculated, overhead):
    stages = ((Stage.ASR, 0.15), (Stage.NLU, 0.02), (Stage.QA, 0.08))
    latency = Latency(0.25, tuple(StageLatency(stage, 0.005, compute) for stage, compute in stages))
    reply = Reply(1, "x", None, (), None, ReplyStatus.COMPLETE, (), latency, speculated)
    assert overhead_of(reply) == pytest.approx(overhead)


def test_no_overhead_is_negative():
    latency = Latency(0.01, (StageLatency(Stage.ASR, 0.0, 0.02),))
    assert overhead_of(Reply(1, "x", None, (), None, ReplyStatus.PARTIAL, (), latency, speculated=False)) == 0
