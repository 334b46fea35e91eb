from __future__ import annotations

import json

import pytest

import vivavoce
from demo.manifest import FOLDER, utterances
from lab.tests.unit.modelkit.evaluation.fakes import write_tone
from modelkit.errors import DataError
from modelkit.evaluation.recordings import read_clip, read_spoken


@pytest.fixture
def folder(tmp_path):
    write_tone(tmp_path / "a.wav")
    write_tone(tmp_path / "b.FLAC".lower())
    return tmp_path


def test_a_manifest_as_nemo_writes_it(folder):
    lines = [
        {"audio_filepath": "a.wav", "duration": 0.2, "text": "one"},
        {"audio_filepath": str(folder / "b.flac"), "text": ""},
    ]
    (folder / "m.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n\n")
    assert [(s.path, s.text) for s in read_spoken(folder / "m.jsonl")] == [
        (folder / "a.wav", "one"),
        (folder / "b.flac", ""),
    ]


def test_the_manifest_of_the_demonstration():
    read = read_spoken(FOLDER / "manifest.json")
    assert [(s.path, s.text) for s in read] == [(u.path, u.text) for u in utterances()]


def test_a_folder_with_words_beside_the_recordings(folder):
    (folder / "a.txt").write_text("one\n two \n")
    (folder / "b.txt").write_text("three")
    assert [(s.path.name, s.text) for s in read_spoken(folder)] == [("a.wav", "one two"), ("b.flac", "three")]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: .*audio_filepath"),
        ("[1]", "line 2: .*audio_filepath"),
        ('{"text": "one"}', "line 2: .*audio_filepath"),
        ('{"audio_filepath": "a.wav"}', "line 2: .*text"),
        ('{"audio_filepath": "a.wav", "text": 3}', "line 2: .*text"),
        ('{"audio_filepath": "a.wav", "text": "one", "offset": 1.5}', "line 2: .*offset"),
    ],
)
def test_a_bad_line_is_named(folder, line, message):
    (folder / "m.jsonl").write_text('{"audio_filepath": "a.wav", "text": "one"}\n' + line)
    with pytest.raises(DataError, match=f"m.jsonl, {message}"):
        read_spoken(folder / "m.jsonl")


@pytest.mark.parametrize(("content", "message"), [("", "is empty"), ("[]", "no recordings"), ("[", "Expecting value")])
def test_a_manifest_of_nothing_is_refused(tmp_path, content, message):
    (tmp_path / "m.json").write_text(content)
    with pytest.raises(DataError, match=message):
        read_spoken(tmp_path / "m.json")


def test_a_bad_line_of_an_array_is_named(tmp_path):
    (tmp_path / "m.json").write_text('[{"audio_filepath": "a.wav", "text": "one"},\n {"audio_filepath": }]')
    with pytest.raises(DataError, match=r"m\.json, line 2: Expecting value"):
        read_spoken(tmp_path / "m.json")


def test_a_recording_that_is_missing_or_no_audio_is_named(folder):
    (folder / "m.jsonl").write_text('{"audio_filepath": "c.wav", "text": "one"}')
    with pytest.raises(FileNotFoundError, match=r"c\.wav"):
        read_spoken(folder / "m.jsonl")
    (folder / "c.wav").write_text("no audio")
    with pytest.raises(vivavoce.NotAudio, match=r"c\.wav"):
        read_spoken(folder / "m.jsonl")


def test_a_folder_must_have_words_for_each_recording_and_a_recording_for_all_words(folder):
    (folder / "a.txt").write_text("one")
    with pytest.raises(DataError, match=r"b\.flac has no b\.txt"):
        read_spoken(folder)
    (folder / "b.txt").write_text("two")
    (folder / "c.txt").write_text("three")
    with pytest.raises(DataError, match=r"c\.txt has no recording"):
        read_spoken(folder)


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="no recordings"):
        read_spoken(tmp_path)


def test_a_clip_is_cut_into_tenths_of_a_second(tmp_path):
    write_tone(tmp_path / "a.wav", 0.25, rate=8_000)
    clip = read_clip(tmp_path / "a.wav")
    assert clip.sample_rate_hz == 8_000
    assert [len(chunk) for chunk in clip.chunks()] == [800, 800, 400]
