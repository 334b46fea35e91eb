"""Which names of models the recognizer answers to."""

from __future__ import annotations

import pytest

from pipelines.errors import InvalidInputError
from service.api.riva.asr.recognizers import check_recognizer


@pytest.mark.parametrize(
    "name",
    [
        "",
        "asr",
        "parakeet-1.1b-en-US-asr-streaming-silero-vad-sortformer",
        "nvidia/parakeet-ctc-1.1b-asr",
        "conformer-en-US-asr-streaming-asr-bls-ensemble",
        "citrinet-1024-en-US-asr-offline",
        "nemotron-asr-streaming",
        "canary-1b",
        "whisper-large-v3-turbo",
    ],
)
def test_an_english_recognizer_of_nvidia_s_is_ours(name: str) -> None:
    check_recognizer(name, "model")


@pytest.mark.parametrize(
    "name",
    [
        "parakeet-ctc-riva-0-6b-zh-cn",
        "conformer-de-DE-asr-streaming",
        "conformer-es-US",
        "fastpitch-en-US",
        "my-parakeeter",
        "qa",
    ],
)
def test_other_models_are_refused(name: str) -> None:
    with pytest.raises(InvalidInputError, match="choose asr, or leave the name out") as refused:
        check_recognizer(name, "config.model")
    assert (refused.value.field, refused.value.reason) == ("config.model", "UNKNOWN_MODEL")
