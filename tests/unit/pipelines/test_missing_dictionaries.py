"""A service without its grammars or its dictionary goes on: what they are for is left out, or refused."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from pipelines.errors import ModelError
from pipelines.text import itn, profanity
from pipelines.text.style import TranscriptStyle, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True)
def broken(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Libraries that are not installed whole."""
    for name in ("pipelines.text.grammar", "glin_profanity"):
        monkeypatch.setitem(sys.modules, name, None)
    for module in (itn, profanity):
        module._load.cache_clear()
    yield
    for module in (itn, profanity):
        module._load.cache_clear()


async def test_what_cannot_be_loaded_ahead_is_logged_once_and_done_without(caplog: pytest.LogCaptureFixture):
    await prepare()
    await prepare()
    assert [record.getMessage().partition(":")[0] for record in caplog.records] == [
        "transcripts keep their numbers in words",
        "profanity cannot be masked",
    ]


async def test_numbers_of_transcripts_stay_as_they_were_spoken():
    style = TranscriptStyle(figures=True)
    assert await style.write("I owe you twenty three dollars.", is_final=True) == "I owe you twenty three dollars."


async def test_who_asks_for_figures_alone_is_told():
    with pytest.raises(ModelError, match="numbers cannot be written in figures"):
        await itn.inverse_normalize("twenty three")


async def test_what_was_to_be_masked_is_not_shown():
    style = TranscriptStyle(mask_profanity=True)
    with pytest.raises(ModelError, match="profanity cannot be masked"):
        await style.write("hello", is_final=True)
    with pytest.raises(ModelError, match="profanity cannot be masked"):
        await style.write_words(["hello"])
