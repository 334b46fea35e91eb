from __future__ import annotations

import numpy as np
import pytest

from engines.asr.gpu.layout import frames_of, lay_out, room_of, sizes_of
from engines.asr.gpu.sizes import Sizes, capacity
from engines.asr.moonshine.decoding import token_limit
from engines.asr.moonshine.features import SAMPLES_PER_ENCODER_FRAME, FeatureCache, encoder_frames


def test_recordings_stand_end_to_end_at_whole_frames():
    recordings = [np.full(size, value, np.float32) for size, value in ((2000, 1), (1600, 2), (895, 3))]
    layout = lay_out(recordings, 20, 4)
    assert len(layout.samples), len(layout.rows) == sizes_of(20)
    starts = [0, 6, 11]
    for start, recording in zip(starts, recordings, strict=True):
        begin = start * SAMPLES_PER_ENCODER_FRAME
        np.testing.assert_array_equal(layout.samples[begin : begin + len(recording)], recording)
    frames = [frames_of(len(recording)) for recording in recordings]
    assert layout.offsets.tolist() == [0, *np.cumsum(frames), sum(frames)]
    assert layout.sources[: sum(frames)].tolist() == [
        start + frame for start, own in zip(starts, frames, strict=True) for frame in range(own)
    ]
    assert layout.positions[: sum(frames)].tolist() == [frame for own in frames for frame in range(own)]
    # As many frames of the first convolution as each has samples for, and none across two recordings.
    assert np.bincount(layout.rows, minlength=5)[:3].tolist() == layout.entries[:3].tolist() == [30, 24, 13]


@pytest.mark.parametrize("samples", [1600, 16_000, 47_999, 160_001])
def test_frames_are_counted_as_the_front_end_makes_them(samples):
    cache = FeatureCache()
    first = (samples - 127) // 64 + 1
    cache.extend(samples, np.zeros((576, 3000), np.float32), np.zeros(first), np.zeros(first))
    assert frames_of(samples) == encoder_frames(cache.frames)
    assert frames_of(samples) <= room_of(samples)


@pytest.mark.parametrize("sizes", [Sizes(), Sizes(8, 2048, 256)])
def test_all_are_decoded_together_with_as_many_as_fit(sizes):
    rng = np.random.default_rng(0)
    frames = rng.integers(5, sizes.longest, 200).tolist()
    drafted = rng.integers(1, 60, 200).tolist()
    groups = list(sizes.together(frames, drafted))
    assert sorted(i for group in groups for i in group) == list(range(200))
    for group in groups:
        rows, longest = sizes.batch_for(len(group), max(frames[i] for i in group))
        assert (rows, longest) in sizes.batches
        assert rows * max(drafted[i] for i in group) <= sizes.most_drafted
        assert sum(frames[i] for i in group) <= sizes.encoder_frames[-1]


def test_beams_are_rows():
    groups = list(Sizes().together([100] * 20, [1] * 20, beams=10))
    assert [len(group) for group in groups] == [6, 6, 6, 2]


@pytest.mark.parametrize("frames", [128, 448, 1296, 2048])
def test_the_longest_text_of_a_row_fits(frames):
    longest = next(n for n in range(frames * SAMPLES_PER_ENCODER_FRAME, 10**7) if frames_of(n + 1) > frames)
    assert capacity(frames) >= token_limit(longest) + 1


def test_the_longest_utterance_of_a_model_fits():
    sizes = Sizes.of({"max_utterance_seconds": "30"})
    assert max(sizes.frames) >= room_of(31 * 16_000)
    assert max(Sizes.of({"max_utterance_seconds": "48"}).frames) >= frames_of(49 * 16_000)


@pytest.mark.parametrize(
    ("parameters", "complaint"),
    [
        ({"gpu_rows": "0"}, "gpu_rows is '0': set it to a whole number from 1 on, or leave it out for 64"),
        ({"gpu_frames": "many"}, "gpu_frames is 'many': set it to a whole number"),
        ({"gpu_frames": "900"}, "an utterance may have 1292 frames, and a batch 900: lower max_utterance_seconds, or"),
    ],
)
def test_what_cannot_be_is_named(parameters, complaint):
    with pytest.raises(ValueError, match=complaint):
        Sizes.of({"max_utterance_seconds": "30"} | parameters)
