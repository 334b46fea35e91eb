"""Which names of models the recognizer answers to."""

from __future__ import annotations

import pytest

from pipelines.errors import InvalidInputError
from pipelines.models.shipped import SHIPPED
from service.api.riva.asr.recognizers import recognizer_of


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
    assert recognizer_of(name, SHIPPED, "model") == {}


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
        recognizer_of(name, SHIPPED, "config.model")
    assert (refused.value.field, refused.value.reason) == ("config.model", "UNKNOWN_MODEL")


def test_a_variant_goes_by_its_name() -> None:
    engines = SHIPPED.with_variant("asr", "whisper")
    assert recognizer_of("whisper", engines, "model") == {"asr": "whisper"}
    with pytest.raises(InvalidInputError, match="choose asr or whisper"):
        recognizer_of("qa", engines, "model")
