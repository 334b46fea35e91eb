"""Plays tests/scenarios, which the JavaScript client is held to as well."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf.json_format import MessageToDict, ParseDict

import vivavoce
from vivavoce._look_back import LookBack
from vivavoce._responses import event_from_response
from vivavoce.v1 import conversation_pb2 as pb

SCENARIOS = json.loads((Path(__file__).parents[2] / "scenarios/reconnecting.json").read_text(encoding="utf-8"))


class Player:
    def __init__(self, audio: dict[str, Any] | None = None) -> None:
        form = vivavoce.AudioFormat(vivavoce.Encoding[audio["encoding"]], audio["sampleRateHz"]) if audio else None
        self.format = form or vivavoce.AudioFormat()
        self.look_back = LookBack(self.format)

    def sound(self, runs: list[tuple[int, float]]) -> bytes:
        duration = self.format.duration_seconds(1)
        assert duration is not None
        return b"".join(bytes([byte]) * round(seconds / duration) for byte, seconds in runs)

    def play(self, step: dict[str, Any]) -> None:
        match step:
            case {"audio": runs}:
                for run in runs:
                    self.look_back.sent(pb.ConverseRequest(audio=self.sound([run])))
            case {"text": text}:
                self.look_back.sent(pb.ConverseRequest(text=text, request_id=text))
            case {"end": name}:
                self.look_back.sent(pb.ConverseRequest(end_of_utterance=pb.EndOfUtterance(), request_id=name))
            case {"update": update}:
                self.look_back.sent(pb.ConverseRequest(update=ParseDict(update, pb.ConversationUpdate())))
            case {"server": message}:
                event = event_from_response(ParseDict(message, pb.ConverseResponse()))
                assert event is not None
                self.look_back.answered_by(event)
                placed = self.look_back.placed(event)
                for name, value in step.get("told", {}).items():
                    assert getattr(placed, name if name == "turn" else f"{name}_seconds") == value
            case {"again": again}:
                told, requests = self.look_back.begin_anew()
                assert told == vivavoce.Reconnected(step["lost"], step["replayed"])
                assert self.joined(requests) == [self.sound(one) if isinstance(one, list) else one for one in again]

    def joined(self, requests: list[pb.ConverseRequest]) -> list[Any]:
        """Requests in short: audio joined, typed turns as they are, ends of utterance as "/"."""
        sent: list[Any] = []
        for request in requests:
            match request.WhichOneof("request"):
                case "audio" if sent and isinstance(sent[-1], bytes):
                    sent[-1] += request.audio
                case "audio":
                    sent.append(request.audio)
                case "update":
                    sent.append(MessageToDict(request.update))
                case _:
                    sent.append(request.text or "/")
        return sent


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario["name"])
def test_scenario(scenario: dict[str, Any]):
    player = Player(scenario.get("audio"))
    for step in scenario["steps"]:
        player.play(step)
