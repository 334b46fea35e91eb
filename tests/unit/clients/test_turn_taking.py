"""Turn-taking in the SDK and its commands: what is chosen, changed and told."""

from __future__ import annotations

import io
import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import soundfile
from rich.console import Console

import vivavoce
from vivavoce._requests import conversation_config, utterance_requests
from vivavoce._responses import event_from_response
from vivavoce.cli import run
from vivavoce.cli._live_view import LiveView
from vivavoce.cli._plain_view import PlainView
from vivavoce.testing import Turn, serving
from vivavoce.testing._messages import response_of
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from pathlib import Path

PAUSED = vivavoce.SpeechPaused(1, "what is the", 0.25, 0.5, 1.5, 0.25)
HESITATING = Turn("what is the time", pauses=(("what is the", 0.125), ("what is the time", 0.875)), audio_seconds=1.0)


def _config(**chosen: Any) -> pb.EndpointingConfig:
    endpointing = vivavoce.Endpointing(**chosen)
    return conversation_config({"endpointing": endpointing}).endpointing


def test_mode_patience_and_bounds_are_sent() -> None:
    sent = _config(
        mode=vivavoce.EndpointingMode.MODEL,
        patience=vivavoce.Patience.PATIENT,
        shortest_silence_seconds=0.25,
        longest_silence_seconds=2,
    )
    assert sent == pb.EndpointingConfig(
        mode=pb.ENDPOINTING_MODE_MODEL,
        patience=pb.PATIENCE_PATIENT,
        shortest_silence={"nanos": 250_000_000},
        longest_silence={"seconds": 2},
    )


def test_what_is_not_chosen_is_not_sent() -> None:
    assert _config() == pb.EndpointingConfig()


@pytest.mark.parametrize(("field", "value"), [("mode", "model"), ("patience", "eager"), ("patience", 1)])
def test_a_choice_of_another_type_is_refused(field: str, value: object) -> None:
    with pytest.raises(TypeError, match=f"Endpointing.{field} is a `vivavoce."):
        _config(**{field: value})


def test_an_update_sends_what_changes() -> None:
    update = vivavoce.ConversationUpdate(
        vivavoce.Endpointing(patience=vivavoce.Patience.EAGER),
        (),
        (vivavoce.PhraseHints(("porto",), 10.0),),
        second_opinion="",
    )
    assert list(utterance_requests(update, None)) == [
        pb.ConverseRequest(
            update=pb.ConversationUpdate(
                endpointing={"patience": pb.PATIENCE_EAGER},
                documents={},
                phrase_hints={"groups": [{"phrases": ["porto"], "boost": 10.0}]},
                second_opinion="",
            )
        )
    ]
    assert list(utterance_requests(vivavoce.ConversationUpdate(), None)) == [pb.ConverseRequest(update={})]


def test_an_update_that_is_not_put_into_a_list_is_refused() -> None:
    with vivavoce.sync.connect("localhost:1") as client, pytest.raises(TypeError, match=r"\[turn\]"):
        client.converse(vivavoce.ConversationUpdate())  # type: ignore[arg-type]


@pytest.mark.parametrize("event", [PAUSED, vivavoce.SpeechResumed(2, 1.75)])
def test_what_is_told_of_pauses_is_read_as_it_was_written(event: vivavoce.Event) -> None:
    assert event_from_response(response_of(event)) == event


def test_the_fake_tells_pauses_and_takes_updates() -> None:
    with serving(HESITATING) as service, vivavoce.sync.connect(service.address) as client:
        said = [np.zeros(8_000, np.int16), vivavoce.ConversationUpdate(documents=()), np.zeros(8_000, np.int16)]
        events = list(client.converse(said))
    kinds = [type(event) for event in events]
    paused, resumed = vivavoce.SpeechPaused, vivavoce.SpeechResumed
    assert kinds[2:6] == [paused, resumed, paused, vivavoce.SpeechEnded]
    assert [(event.text, event.probability) for event in events if isinstance(event, paused)] == list(HESITATING.pauses)


def test_the_plain_view_tells_how_likely_a_turn_is_over() -> None:
    stream = io.StringIO()
    with PlainView(stream, 0.3) as view:
        view.show(PAUSED)
        view.show(vivavoce.SpeechResumed(1, 2.0))
    assert stream.getvalue() == "  what is the ... over with 25%\n"


def test_the_live_view_tells_it_until_speech_goes_on() -> None:
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    with LiveView(console, 0.3) as view:
        view.show(PAUSED)
        assert view._words.plain == "> what is the ... over with 25%"
        view.show(vivavoce.SpeechResumed(1, 2.0))
        assert view._words.plain == "> what is the  ..."


@pytest.fixture
def recording(tmp_path: Path) -> Path:
    path = tmp_path / "speech.wav"
    soundfile.write(path, np.zeros(16_000, np.int16), 16_000)
    return path


def test_the_command_sends_what_is_chosen_and_prints_pauses(recording: Path, capsys: pytest.CaptureFixture) -> None:
    arguments = ["--patience", "patient", "--longest-silence-ms", "2000", "--shortest-silence-ms", "300", "--json"]
    with serving(HESITATING) as service:
        assert run(["converse", str(recording), "--no-realtime", "--server", service.address, *arguments]) == 0
        config = service.config()
    assert config.endpointing == pb.EndpointingConfig(
        patience=pb.PATIENCE_PATIENT, longest_silence={"seconds": 2}, shortest_silence={"nanos": 300_000_000}
    )
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [event["event"] for event in printed[2:6]] == [
        "speech_paused",
        "speech_resumed",
        "speech_paused",
        "speech_ended",
    ]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--endpointing", "silence", "--patience", "eager"],
        ["--one-utterance", "--patience", "eager"],
        ["--patience", "calm"],
        ["--longest-silence-ms", "100"],
    ],
)
def test_choices_that_do_not_go_together_are_refused(
    recording: Path, arguments: list[str], capsys: pytest.CaptureFixture
) -> None:
    assert run(["converse", str(recording), *arguments]) == 2
    assert "--" in capsys.readouterr().err
