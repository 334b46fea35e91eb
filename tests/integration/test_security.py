"""A service that is locked, as its operator starts it and as its callers reach it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import grpc
import pytest

import vivavoce
from demo.manifest import FOLDER, utterances
from service.api.riva.proto import riva_asr_pb2, riva_asr_pb2_grpc, riva_audio_pb2
from service.processes.child_process import SERVE, http_url_of, listening
from tests.certificates import Authority
from vivavoce.cli import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

Capture = pytest.CaptureFixture[str]


class Locked:
    """A service with TLS and tokens."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder, "authority")
        self.ca = authority.path
        self.pair = authority.sign("voice.example.org")
        self.tokens, self.log = folder / "tokens.toml", folder / "log.txt"
        command = [sys.executable, "-m", "vivavoce", "token", "kiosk", "--file", str(self.tokens)]
        self.token = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
        self.address = self.http_url = ""

    @property
    def arguments(self) -> list[str]:
        tls = ["--tls-cert", str(self.pair.cert), "--tls-key", str(self.pair.key)]
        return [*SERVE, "--http-port", "0", *tls, "--tokens", str(self.tokens)]

    def command(self, *arguments: str) -> int:
        return run([*arguments, "--server", self.address, "--ca", str(self.ca), "--json"])


@pytest.fixture(scope="module")
def locked(triton_address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Locked]:
    service = Locked(tmp_path_factory.mktemp("locked"))
    more = ["--triton", triton_address, "--max-conversations", "8"]
    with listening([*service.arguments, *more], service.log) as (process, address):
        service.address, service.http_url = address, http_url_of(process)
        yield service


def test_a_locked_service_is_opened_by_its_token_alone(
    locked: Locked, capsys: Capture, monkeypatch: pytest.MonkeyPatch
):
    assert locked.command("ask", "turn on the light") != 0
    assert "no token came" in capsys.readouterr().err

    monkeypatch.setenv("VIVAVOCE_TOKEN", locked.token)
    assert locked.command("ask", "turn on the light in the kitchen") == 0
    reply = json.loads(capsys.readouterr().out)
    assert reply["intent"]["name"] == "iot_hue_lighton"
    utterance = next(one for one in utterances() if one.path.name == "lights.flac")
    assert locked.command("converse", str(utterance.path)) == 0
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["intent"]["name"] == utterance.intent

    credentials = grpc.ssl_channel_credentials(locked.ca.read_bytes())
    with grpc.secure_channel(locked.address, credentials) as channel:
        request = riva_asr_pb2.RecognizeRequest(
            config=riva_asr_pb2.RecognitionConfig(
                encoding=riva_audio_pb2.AudioEncoding.FLAC, language_code="en-US", max_alternatives=1
            ),
            audio=utterance.path.read_bytes(),
        )
        recognize = riva_asr_pb2_grpc.RivaSpeechRecognitionStub(channel).Recognize
        found = recognize(request, metadata=(("authorization", f"Bearer {locked.token}"),))
        assert "light" in found.results[0].alternatives[0].transcript
        with pytest.raises(grpc.RpcError, match="no token came"):
            recognize(request)

    logged = locked.log.read_text()
    assert locked.token not in logged
    assert "kitchen" not in logged


def test_the_http_port_is_opened_by_tokens_alone(locked: Locked):
    url = locked.http_url
    assert url.startswith("https://")
    curl = ["curl", "-sS", "--cacert", str(locked.ca), "-o", "/dev/null", "-w", "%{http_code}"]
    form = ["-F", f"file=@{FOLDER / 'recordings' / 'lights.flac'}", f"{url}/v1/audio/transcriptions"]
    bearer, foreign = ["-H", f"Authorization: Bearer {locked.token}"], ["-H", "Origin: https://elsewhere.example"]
    for request, status in (
        (form, "401"),
        ([*bearer, *form], "200"),
        ([f"{url}/readyz"], "200"),
        ([*bearer, *foreign, *form], "403"),
    ):
        assert subprocess.run([*curl, *request], capture_output=True, text=True).stdout == status
    said = locked.log.read_text()
    assert locked.token not in said
    assert "bedroom" not in said


def test_whoever_is_taken_out_of_the_file_is_locked_out(locked: Locked):
    """The last one of this file: nobody is let in after it."""
    with vivavoce.sync.connect(locked.address, tls=vivavoce.Tls(ca=locked.ca), token=locked.token) as client:
        assert client.ask("hello").status is vivavoce.ReplyStatus.COMPLETE
        locked.tokens.write_text("")
        deadline = time.monotonic() + 10
        with pytest.raises(vivavoce.AccessDenied, match="was withdrawn"):
            while time.monotonic() < deadline:
                client.ask("hello")
                time.sleep(0.2)
