"""How much of partial transcripts stays."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from lab.tests.unit.modelkit.evaluation.fakes import silent, write_tone
from modelkit.errors import DataError
from modelkit.evaluation.partials import Followed, evaluate_partials, repeats, score_partials
from modelkit.evaluation.recordings import list_recordings

if TYPE_CHECKING:
    from pathlib import Path

    from modelkit.evaluation.recordings import Clip

STEADY = Followed(((0.5, "turn"), (0.9, "Turn on,"), (1.3, "turn on the")), "Turn on the light.")
WAVERING = Followed(((0.4, "it it"), (0.8, "turn of")), "Turn on")


def test_words_count_as_kept_in_their_place_without_case_and_marks():
    scores = score_partials([STEADY])
    assert (scores["kept_by_next"], scores["kept_by_final"]) == (1.0, 1.0)
    assert scores["first_right_word_ms_median"] == 500


def test_words_that_change_are_not_kept():
    scores = score_partials([WAVERING])
    assert (scores["kept_by_next"], scores["kept_by_final"]) == (0.25, 0.25)
    assert scores["first_right_word_ms_mean"] == 800
    assert scores["never_right"] == 0


def test_a_turn_without_a_right_word_is_counted():
    scores = score_partials([Followed(((0.4, "it"),), "turn on"), Followed((), "")])
    assert (scores["never_right"], scores["first_right_word_ms_mean"]) == (1, None)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("It, it, it", True),
        ("the meaning of the meaning of the meaning of", True),
        ("five five", False),
        ("one two three one two three", False),
        ("", False),
    ],
)
def test_a_phrase_three_times_in_a_row_is_a_repetition(text: str, found: bool):
    assert repeats(text) is found


class Engines:
    """Hears the length of recordings."""

    async def follow(self, clip: Clip) -> list[Followed]:
        return [Followed(((0.1, "it it it"),), f"{len(clip.samples)} samples")]

    async def texts(self, clip: Clip) -> list[str]:
        return [f"{len(clip.samples)} samples"]


async def test_beginnings_are_recognized_too(tmp_path: Path):
    write_tone(tmp_path / "a.wav", 0.55)
    recordings = list_recordings(tmp_path)
    found = await evaluate_partials(Engines(), recordings, prefix_seconds=0.25, concurrency=2, on_progress=silent)
    assert found.task == "partials"
    assert (found.scores["finals"], found.scores["repeated_partials"], found.scores["repeated_finals"]) == (3, 1, 0)
    assert found.cases[0].score == 0
    assert found.cases[0].reference == ["8800 samples"]


def test_a_folder_without_recordings_is_refused(tmp_path: Path):
    with pytest.raises(DataError, match="holds no recordings"):
        list_recordings(tmp_path)
