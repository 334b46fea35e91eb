"""NVIDIA's own client, used as its published examples use it: nothing but the address is ours."""

from __future__ import annotations

import itertools
import json
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from tests.integrations.environments import python_for, run_client
from tests.integrations.recordings import LIGHTS, VACUUM, words, write_wav
from tests.riva_contract import describe

SCRIPT = Path(__file__).parent / "client.py"


def run(address: str, action: str, *arguments: object) -> Any:
    return run_client(SCRIPT, action, "--server", address, *map(str, arguments))


def finals(results: list[dict[str, Any]]) -> list[str]:
    return [result["alternatives"][0]["transcript"] for result in results if result.get("isFinal")]


def test_a_file_is_streamed(server_address: str, two_commands: Path):
    results = run(server_address, "stream", "--input-file", two_commands, "--automatic-punctuation")["found"]
    first, second = finals(results)
    assert (words(first), words(second)) == (LIGHTS, VACUUM)
    assert first[0].isupper()
    assert first.rstrip()[-1] in ".!?"
    assert len(results) > 2
    assert 0 < results[-1]["audioProcessed"] <= soundfile.info(two_commands).duration


def test_a_file_is_streamed_in_real_time_with_its_header_and_two_passes(server_address: str, two_commands: Path):
    options = ("--stop-history", 1_100, "--stop-history-eou", 240)
    results = run(server_address, "stream_in_real_time", "--input-file", two_commands, *options)["found"]
    assert [text.split() for text in finals(results)] == [LIGHTS, VACUUM]
    likely = [at for at, result in enumerate(results) if result.get("stability") == 1]
    assert likely
    # What made the end likely was nothing but silence, so the final transcript that follows is the same.
    last = results[likely[-1]]
    following = next(result for result in results[likely[-1] :] if result.get("isFinal"))
    assert last["alternatives"][0]["transcript"].split() == following["alternatives"][0]["transcript"].split()
    assert last["audioProcessed"] < following["audioProcessed"]


def test_words_can_be_boosted_and_several_transcripts_asked_for(server_address: str, command: Path):
    options = ("--boosted-lm-words", "bedroom", "--boosted-lm-score", 20, "--max-alternatives", 3)
    (result,) = run(server_address, "recognize", "--input-file", command, *options)["found"]
    first, *others = result["alternatives"]
    assert first["transcript"].split() == LIGHTS
    assert 1 <= len(others) <= 2
    assert 1 >= first["confidence"] >= max(other["confidence"] for other in others) > 0


def test_a_file_is_recognized_at_once(server_address: str, two_commands: Path):
    (result,) = run(server_address, "recognize", "--input-file", two_commands)["found"]
    assert result["alternatives"][0]["transcript"].split() == LIGHTS + VACUUM


def test_speakers_of_a_file_are_told_apart(server_address: str, tmp_path: Path):
    # A man, a woman and the man again.
    file = write_wav(tmp_path / "three.wav", "lights", "weather", "shopping_list")
    for action in ("stream", "recognize"):
        results = run(server_address, action, "--input-file", file, "--speaker-diarization")["found"]
        said = [word for result in results for word in result["alternatives"][0].get("words", ())]
        tags = [tag for tag, _ in itertools.groupby(word["speakerTag"] for word in said)]
        assert tags == [1, 2, 1]


def test_two_channels_are_two_results(server_address: str, command: Path, tmp_path: Path):
    samples, rate = soundfile.read(command, dtype="int16")
    stereo = tmp_path / "stereo.wav"
    soundfile.write(stereo, np.stack((samples, np.zeros_like(samples)), axis=1), rate)
    (result,) = run(server_address, "recognize", "--input-file", stereo, "--stereo")["found"]
    assert result["channelTag"] == 1
    assert words(result["alternatives"][0]["transcript"]) == LIGHTS
    results = run(server_address, "stream", "--input-file", stereo, "--stereo")["found"]
    assert [words(text) for text in finals(results)] == [LIGHTS]


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (("--language-code", "de-DE"), "language"),
        (("--model-name", "parakeet-ctc-riva-0-6b-zh-cn"), "model"),
        (("--speaker-diarization", "--diarization-max-speakers", "40"), "40 speakers"),
        (("--stop-history", "20000"), "stop_history"),
        (("--custom-configuration", "gpu:0"), "gpu"),
    ],
)
def test_what_cannot_be_served_is_an_invalid_argument(
    server_address: str, command: Path, options: tuple[str, ...], named: str
):
    for action in ("stream", "recognize"):
        refused = run(server_address, action, "--input-file", command, *options)
        assert refused["code"] == "INVALID_ARGUMENT"
        assert named in refused["details"]


def test_the_models_are_listed(server_address: str):
    found = run(server_address, "list_models")["found"]
    assert found["speech"] == [["asr", "online", "en-US"], ["asr", "offline", "en-US"]]
    assert {"intent_slot", "qa"} <= set(found["language"])


def test_a_text_is_understood(server_address: str):
    texts = ("turn off the lights in the bedroom", "wake me at seven thirty a m")
    found = run(server_address, "understand", "--text", *texts)["found"]
    name, score = found["intent"]
    assert name == "iot_hue_lightoff"
    assert 0.5 < score <= 1
    assert found["slots"] == [["bedroom", "house_place"]]
    assert found["entities"] == ["bedroom"]
    assert found["classes"] == ["iot_hue_lightoff", "alarm_set"]
    (first, _), (classes, _) = found["tokens"]
    assert list(zip(first, classes, strict=True))[-2:] == [("the", "O"), ("bedroom", "house_place")]
    assert found["figures"] == [texts[0], "wake me at 07:30 a.m."]


def test_a_question_is_answered(server_address: str):
    context = "The night ferry to Tromsø leaves at a quarter past nine from pier four. Dogs travel free."
    found = run(server_address, "answer", "--text", "When does the night ferry leave?", context)["found"]
    assert "nine" in found["answer"]
    assert 0 < found["score"] <= 1
    nothing = run(server_address, "answer", "--text", "Who painted the ceiling of the chapel?", context)["found"]
    assert nothing == {"answer": "", "score": 0.0}


def test_texts_are_punctuated(server_address: str):
    texts = ("where is the nearest train station", "i live in london and my sister lives in paris")
    found = run(server_address, "punctuate", "--text", *texts)["found"]
    assert found == ["Where is the nearest train station?", "I live in London and my sister lives in Paris."]


def test_a_text_that_cannot_be_punctuated_is_an_invalid_argument(server_address: str):
    refused = run(server_address, "punctuate", "--text", "hello", " ")
    assert refused["code"] == "INVALID_ARGUMENT"
    assert "empty" in refused["details"]


def test_texts_are_spoken_and_heard_again(server_address: str, tmp_path: Path):
    pcm, wav = tmp_path / "speech.pcm", tmp_path / "speech.wav"
    texts = ("turn off the lights in the bedroom please", "and good night")
    found = run(server_address, "say", "--input-file", pcm, "--text", *texts)["found"]
    assert found["voice"] == "English-US.Heart"
    assert found["text"] == texts[0]
    assert 1.5 < found["seconds"] < 4 < found["seconds_online"] + 2
    assert found["pieces"] > 3
    # The client asks for 22,050 Hz unless it is told otherwise.
    assert abs(found["default_bytes"] / 2 / 22_050 - found["seconds"]) < 0.05
    speech = np.concatenate([np.frombuffer(pcm.read_bytes(), "<i2"), np.zeros(16_000, np.int16)])
    soundfile.write(wav, speech, 16_000, subtype="PCM_16")
    (heard,) = finals(run(server_address, "stream", "--input-file", wav)["found"])
    assert words(heard) == LIGHTS


def test_what_is_not_spoken_is_told(server_address: str, tmp_path: Path):
    refused = run(server_address, "say", "--input-file", tmp_path / "none", "--text", "...")
    assert refused["code"] == "INVALID_ARGUMENT"
    assert "nothing to speak" in refused["details"]


def test_what_this_client_knows_of_the_contract_is_ours():
    root = Path(__file__).parents[3]
    command = [str(python_for(SCRIPT.parent)), "-m", "tests.riva_contract"]
    printed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True, timeout=60).stdout
    assert json.loads(printed) == describe("service.api.riva.proto")


def test_the_realtime_client_transcribes(http_url: str, two_commands: Path):
    found = run_client(SCRIPT.with_name("realtime.py"), http_url, str(two_commands))
    assert words(found["text"]) == LIGHTS + VACUUM


def test_the_realtime_client_speaks(http_url: str, tmp_path: Path):
    spoken, padded = tmp_path / "speech.wav", tmp_path / "padded.wav"
    texts = ("Turn off the lights in the bedroom please.", "Start the vacuum cleaner in the living room.")
    found = run_client(SCRIPT.with_name("realtime_speaking.py"), http_url, str(spoken), *texts)
    assert found == {"error": False, "voices": {"en-US": {"voices": ["heart"]}}}
    samples, rate = soundfile.read(spoken, dtype="int16")
    soundfile.write(padded, np.concatenate([samples, np.zeros(rate, np.int16)]), rate)
    heard = run_client(SCRIPT.with_name("realtime.py"), http_url, str(padded))
    assert words(heard["text"]) == LIGHTS + VACUUM
