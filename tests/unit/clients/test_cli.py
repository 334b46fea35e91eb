"""The `vivavoce` command against a service on a real socket."""

from __future__ import annotations

import io
import json
import os
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest
import soundfile

import vivavoce
from tests.unit.clients.fake_service import FakeService, make_answer, make_reply, seconds
from vivavoce import DEFAULT_STOP_WINDOW_SECONDS
from vivavoce.cli import main, run
from vivavoce.cli._json_view import JsonView
from vivavoce.cli._plain_view import PlainView
from vivavoce.v1 import conversation_pb2 as pb
from vivavoce.v1 import reply_pb2

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import grpc

Capture = pytest.CaptureFixture[str]

REPLY = {
    "event": "reply",
    "transcript": "turn on the light",
    "intent": {"name": "iot_hue_lighton", "confidence": 0.75},
    "slots": [{"name": "device_type", "value": "light", "text": "light"}],
    "answer": None,
    "status": "COMPLETE",
    "latency_ms": {"asr": 62.5, "nlu": 15.0, "qa": None, "total": 41.0},
    "turn": 1,
    "speculated": True,
    "overran": [],
    "completes": False,
    "kind": None,
    "negated": False,
    "readings": [],
    "values": [],
}


def _run_json(arguments: list[str], capsys: Capture) -> list[dict[str, object]]:
    assert run([*arguments, "--json"]) == 0
    captured = capsys.readouterr()
    assert captured.err == ""
    return [json.loads(line) for line in captured.out.splitlines()]


def test_converse_prints_one_object_a_line(service: FakeService, recording: Path, capsys: Capture) -> None:
    printed = _run_json(["converse", str(recording), "--server", service.address], capsys)

    assert [event["event"] for event in printed] == [
        "started", "speech_began", "transcript", "transcript", "speech_ended", "transcript", "reply",
    ]  # fmt: skip
    assert printed[2] == {
        "event": "transcript", "text": "turn on", "is_final": False, "start_s": 0.25, "end_s": 1.5, "turn": 1,
        "file": str(recording),
    }  # fmt: skip
    reply = printed[-1]
    assert 0 <= reply.pop("client_ms") < 5_000  # type: ignore[operator]
    assert reply.pop("turn_ms") is None, "the fake ends the turn by no silence of its own"
    assert reply == REPLY | {"file": str(recording)}


def test_a_file_whose_name_is_not_utf_8(service: FakeService, recording: Path, capsys: Capture) -> None:
    path = recording.rename(recording.with_name(os.fsdecode(b"caf\xe9.wav")))
    arguments = ["converse", str(path), "--server", service.address, "--no-realtime"]

    printed = _run_json(arguments, capsys)
    assert {event["file"] for event in printed} == {str(path.with_name("caf?.wav"))}

    assert run(arguments) == 0
    assert capsys.readouterr().out.splitlines()[0] == f"== {path.with_name('caf .wav')}"


def test_a_context_file_whose_name_is_not_utf_8(service: FakeService, tmp_path: Path, capsys: Capture) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9.txt")
    path.write_text("Nine.")

    _run_json(["ask", "hello", "--server", service.address, "--context-file", str(path)], capsys)

    assert list(service.asked[0].documents) == [reply_pb2.Document(id="caf?.txt", text="Nine.")]


def test_json_for_an_output_that_is_not_utf_8() -> None:
    stream = io.TextIOWrapper(io.BytesIO(), "latin-1")

    JsonView(stream).show(vivavoce.Transcript(1, "nine → ten", is_final=True, start_seconds=0, end_seconds=1))

    stream.seek(0)
    assert json.loads(stream.read())["text"] == "nine → ten"


def test_lines_for_an_output_that_is_not_utf_8(service: FakeService, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = make_answer()
    answer.text = "nine → ten"
    service.answer = lambda *_: make_reply(answer=answer)
    stream = io.TextIOWrapper(io.BytesIO(), "latin-1")
    monkeypatch.setattr(sys, "stdout", stream)

    with pytest.raises(SystemExit) as ended:
        main(["ask", "hello", "--server", service.address])

    assert ended.value.code == 0
    stream.seek(0)
    assert '"nine ? ten"' in stream.read()


def test_the_keys_of_a_reply_begin_as_agreed(service: FakeService, recording: Path, capsys: Capture) -> None:
    reply = _run_json(["converse", str(recording), "--server", service.address], capsys)[-1]

    agreed = ["event", "transcript", "intent", "slots", "answer", "status", "latency_ms"]
    assert list(reply)[: len(agreed)] == agreed


def test_converse_sends_the_file_and_the_options(
    service: FakeService, recording: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "museum.txt").write_bytes("Die Öffnungszeiten:\r\nNine.".encode())
    arguments = ["--server", service.address, "--context-file", str(tmp_path / "museum.txt"), "--budget-ms", "250"]

    _run_json(["converse", str(recording), *arguments, "--one-utterance", "--no-realtime"], capsys)

    assert service.config() == pb.ConversationConfig(
        audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=22_050, channel_count=1),
        interim_results=True,
        prompts=True,
        endpointing=pb.EndpointingConfig(disabled=True),
        documents=[reply_pb2.Document(id="museum.txt", text="Die Öffnungszeiten:\r\nNine.")],
        reply_budget=seconds(0.25),
    )
    assert service.audio() == np.full(11_025, 8_192, "<i2").tobytes()


def test_several_files_are_several_conversations(service: FakeService, recording: Path, capsys: Capture) -> None:
    printed = _run_json(["converse", str(recording), str(recording), "--server", service.address], capsys)

    assert service.conversations == 2
    assert [event["event"] for event in printed].count("reply") == 2


def test_latency_after_silence_counts_from_the_completing_chunk(
    service: FakeService, tmp_path: Path, capsys: Capture
) -> None:
    """Speech ends at 0.1 s; the window is complete at 0.708 s, in the chunk that is sent at 0.8 s."""
    soundfile.write(tmp_path / "a.wav", np.full(16_000, 0.1, np.float32), 16_000)

    def script(requests: Iterator[pb.ConverseRequest], _context: grpc.ServicerContext) -> Iterator[pb.ConverseResponse]:
        heard = 0
        for request in requests:
            before, heard = heard, heard + len(request.audio) / 32_000
            if before < 0.1 + DEFAULT_STOP_WINDOW_SECONDS <= heard:
                ended = pb.SpeechEnded(turn=1, end=seconds(0.1), reason=pb.END_REASON_SILENCE)
                yield pb.ConverseResponse(speech_ended=ended)
                yield pb.ConverseResponse(reply=make_reply())

    service.script = script
    reply = _run_json(["converse", str(tmp_path / "a.wav"), "--server", service.address], capsys)[-1]

    assert 0 < reply["client_ms"] < 100, "counted from an earlier chunk"  # type: ignore[operator]


def test_plain_output_is_readable_and_has_no_control_codes(
    service: FakeService, recording: Path, capsys: Capture
) -> None:
    answer = make_answer()
    answer.text = "at \x1b[31mnine"
    service.script = lambda requests, _: (
        pb.ConverseResponse(reply=make_reply(answer=answer)) for request in requests if request.HasField("config")
    )

    assert run(["converse", str(recording), "--server", service.address]) == 0

    out = capsys.readouterr().out
    assert out.splitlines() == [
        f"== {recording}",
        "  intent  iot_hue_lighton (75%)",
        "  slots   device_type = light",
        '  answer  "at  [31mnine" (50%; museum.txt, characters 17 to 24)',
        "  time    41 ms of 300 ms, worked out during the silence",
        "    asr     62 ms: waited 2, computed 60",
        "    nlu     15 ms: waited 3, computed 12",
    ]


def test_plain_output_shows_the_words_firm_up(service: FakeService, recording: Path, capsys: Capture) -> None:
    assert run(["converse", str(recording), "--server", service.address]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[1:4] == ["  turn on ...", "  turn on the ...", "> turn on the light"]


def test_a_recording_of_silence_is_no_failure(service: FakeService, recording: Path, capsys: Capture) -> None:
    service.script = lambda requests, _: (pb.ConverseResponse() for _ in requests)

    assert run(["converse", str(recording), "--server", service.address]) == 0
    assert capsys.readouterr().out.splitlines() == [f"== {recording}", "Nothing was said."]


def test_ask_answers_in_order(service: FakeService, capsys: Capture) -> None:
    printed = _run_json(["ask", "one", "two", "--server", service.address, "--context", "Nine."], capsys)

    assert [reply["transcript"] for reply in printed] == ["one", "two"]
    assert [request.text for request in service.asked] == ["one", "two"]
    assert list(service.asked[0].documents) == [reply_pb2.Document(text="Nine.")]
    assert "file" not in printed[0]


def test_ask_for_people_says_what_is_missing(service: FakeService, capsys: Capture) -> None:
    def answer(_request: pb.AskRequest, _context: grpc.ServicerContext) -> reply_pb2.Reply:
        reply = make_reply(status=reply_pb2.REPLY_STATUS_PARTIAL, overran=[reply_pb2.STAGE_NLU])
        reply.ClearField("intent")
        reply.ClearField("slots")
        return reply

    service.answer = answer

    assert run(["ask", "hello", "--server", service.address]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "== hello",
        "  intent  not known yet",
        "  status  partial: nlu did not finish inside the budget and follows",
    ]


def test_ask_for_people_says_what_came_late(service: FakeService, capsys: Capture) -> None:
    service.answer = lambda *_: make_reply(overran=[reply_pb2.STAGE_NLU])

    assert run(["ask", "hello", "--server", service.address]) == 0
    assert "  status  completed late: nlu did not finish inside the budget" in capsys.readouterr().out.splitlines()


def test_hints_and_alternatives_are_asked_for(
    service: FakeService, recording: Path, tmp_path: Path, capsys: Capture
) -> None:
    file = tmp_path / "hints.txt"
    file.write_text("Old Harbour\n\n when does the ferry leave for the island today \n")
    arguments = ["converse", str(recording), "--server", service.address, "--hint", "pier", "--hints", str(file)]
    _run_json([*arguments, "--boost", "12", "--alternatives", "3"], capsys)
    [hints] = service.config().phrase_hints
    assert list(hints.phrases) == ["pier", "Old Harbour", "when does the ferry leave for the island today"]
    assert hints.boost == 12
    assert service.config().max_alternatives == 3


def test_a_boost_that_is_left_out_is_left_to_the_server(service: FakeService, recording: Path, capsys: Capture) -> None:
    _run_json(["converse", str(recording), "--server", service.address, "--hint", "pier"], capsys)
    assert not service.config().phrase_hints[0].HasField("boost")


def test_alternatives_are_printed_where_there_are_some(capsys: Capture) -> None:
    found = (vivavoce.Alternative("turn on", 0.81234), vivavoce.Alternative("turn in", 0.1))
    view = JsonView(sys.stdout)
    view.show(vivavoce.Transcript(1, "turn on", is_final=True, start_seconds=0, end_seconds=1, alternatives=found))
    view.show(vivavoce.Transcript(1, "turn on", is_final=True, start_seconds=0, end_seconds=1))
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["alternatives"] == [
        {"text": "turn on", "confidence": 0.8123}, {"text": "turn in", "confidence": 0.1},
    ]  # fmt: skip
    assert "alternatives" not in second


def test_a_connection_that_was_made_anew_is_told(capsys: Capture) -> None:
    reconnected = vivavoce.Reconnected(lost_seconds=1.25, replayed_seconds=30.0)

    JsonView(sys.stdout).show(reconnected)
    PlainView(sys.stdout, budget_seconds=0.3).show(reconnected)

    as_json, plain = capsys.readouterr().out.splitlines()
    assert json.loads(as_json) == {"event": "reconnected", "lost_s": 1.25, "replayed_s": 30.0}
    assert plain == "! Connected again; 30.0 s of audio are sent once more, 1.2 s are lost."
