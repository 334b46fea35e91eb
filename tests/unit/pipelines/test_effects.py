"""What a conversation does at once where the machine asks for it window by window."""

import pytest

from pipelines.turns.effects import CloseSegment, Effect, OpenSegment, SendAudio, joined


@pytest.mark.parametrize(
    ("wanted", "done"),
    [
        ([], []),
        ([SendAudio(1, 0, 512), SendAudio(1, 512, 1024), SendAudio(1, 1024, 1536)], [SendAudio(1, 0, 1536)]),
        (
            [SendAudio(1, 0, 512), SendAudio(1, 512, 1024, decode=True), SendAudio(1, 1024, 1536)],
            [SendAudio(1, 0, 1024, decode=True), SendAudio(1, 1024, 1536)],
        ),
    ],
)
def test_audio_that_follows_on_is_sent_in_one_piece_as_far_as_a_text_is_asked_for(
    wanted: list[Effect], done: list[Effect]
):
    assert joined(wanted) == done


@pytest.mark.parametrize(
    "wanted",
    [
        [SendAudio(1, 0, 512), SendAudio(2, 512, 1024)],
        [SendAudio(1, 0, 512), SendAudio(1, 1024, 1536)],
        [OpenSegment(1, 1), SendAudio(1, 0, 512), CloseSegment(1), OpenSegment(1, 2), SendAudio(2, 512, 1024)],
        [SendAudio(1, 0, 512), CloseSegment(1), SendAudio(1, 512, 1024)],
    ],
)
def test_nothing_else_is_joined(wanted: list[Effect]):
    assert joined(wanted) == wanted
