"""What results tell, without a stream around them."""

import asyncio
import dataclasses

import pytest

from pipelines.data.messages import Transcript
from pipelines.data.recognition import Alternative, TimedWord
from pipelines.models.languages import Languages
from service.admission.admission import Admission
from service.api.riva.asr.results import ResultWriter
from service.api.riva.asr.settings import to_settings
from service.api.riva.asr.voice import ObservedVoice
from service.sessions.host import SessionHost
from tests.unit.pipelines.fakes import FakeModels, ScriptedVoice
from tests.unit.service.harness import FakeVoice
from tests.unit.service.riva.calls import recognition

HOST = SessionHost(FakeModels(), FakeVoice(), Admission(1))


def writer(**fields: object) -> ResultWriter:
    settings = to_settings(recognition(**fields), "config", HOST, interim_results=True)
    return ResultWriter(settings, ObservedVoice(ScriptedVoice((1.0, 0.0))), channel=1)


def partial(text: str, *, end_is_likely: bool = False) -> Transcript:
    return Transcript(1, text, is_final=False, start=0, end=16_000, end_is_likely=end_is_likely)


def final(text: str, *alternatives: Alternative) -> Transcript:
    return Transcript(1, text, is_final=True, start=0, end=16_000, alternatives=alternatives)


async def test_an_interim_result_is_as_stable_as_it_agrees_with_the_one_before():
    told = writer()
    texts = ("turn", "turn on", "turn on the light", "turn of the light", "burn")
    stabilities = [(await told.streaming(partial(text))).stability for text in texts]
    assert stabilities == pytest.approx([0, 1 / 2, 2 / 4, 1 / 4, 0])


async def test_no_interim_result_but_that_of_the_first_pass_is_certain():
    told = writer()
    texts = ("turn on the", "turn on", "turn on")
    _, shorter, same = [(await told.streaming(partial(text))).stability for text in texts]
    assert shorter == pytest.approx(2 / 3)
    assert 0.9 < same < 1


async def test_an_utterance_that_turns_out_to_be_without_words_leaves_nothing_behind():
    told = writer()
    await told.streaming(partial("turn on"))
    assert await told.streaming(final("")) is None
    assert (await told.streaming(partial("turn on the light"))).stability == 0


async def test_the_first_pass_is_stable_and_the_next_utterance_begins_anew():
    told = writer()
    await told.streaming(partial("turn on"))
    assert (await told.streaming(partial("turn on the light", end_is_likely=True))).stability == 1
    assert (await told.streaming(final("turn on the light"))).stability == 0
    assert (await told.streaming(partial("turn on the light"))).stability == 0


async def test_transcripts_that_are_written_alike_are_told_once():
    alternatives = (Alternative("It's twenty-three.", 0.6), Alternative("It's twenty three.", 0.3))
    result = await writer(max_alternatives=2, verbatim_transcripts=False).streaming(
        final("It's twenty-three.", *alternatives)
    )
    assert [(told.transcript, told.confidence) for told in result.alternatives] == [("It's 23. ", pytest.approx(0.6))]


async def test_the_words_of_the_best_transcript_have_their_times():
    said = (TimedWord("Well,", 16_000, 20_000, 0.8), TimedWord("fuck", 21_000, 24_008))
    transcript = dataclasses.replace(final("Well, fuck", Alternative("Well, fuck", 0.6)), words=said)
    told = writer(enable_automatic_punctuation=False, profanity_filter=True)
    for result in (await told.streaming(transcript), await told.offline([transcript])):
        words = [(word.word, word.start_time, word.end_time) for word in result.alternatives[0].words]
        assert words == [("well", 1_000, 1_250), ("f***", 1_312, 1_500)]
        assert result.alternatives[0].words[0].confidence == pytest.approx(0.8)


async def test_an_interim_result_has_no_words():
    said = (TimedWord("Well,", 16_000, 20_000),)
    told = await writer().streaming(dataclasses.replace(partial("Well, then"), words=said))
    assert told.alternatives[0].transcript == "Well, then"
    assert not told.alternatives[0].words


async def test_a_recording_s_transcripts_are_the_most_probable_of_all_its_utterances():
    first = final("one", Alternative("one", 0.6), Alternative("won", 0.4))
    second = final("two", Alternative("two", 0.9), Alternative("too", 0.1))
    result = await writer(max_alternatives=3).offline([first, second])
    assert [told.transcript for told in result.alternatives] == ["one two ", "won two ", "one too "]
    assert [told.confidence for told in result.alternatives] == pytest.approx([0.54, 0.36, 0.06])


async def test_a_recording_is_written_as_a_stream_of_its_utterances_is():
    said = [final("That makes twenty"), final("three people paid thirty dollars.")]
    told = writer(verbatim_transcripts=False, max_alternatives=2)
    streamed = [(await told.streaming(transcript)).alternatives[0].transcript for transcript in said]
    assert streamed == ["That makes 20 ", "three people paid $30. "]
    assert (await told.offline(said)).alternatives[0].transcript == "".join(streamed)


async def test_others_run_while_a_long_recording_is_written():
    told = writer(max_alternatives=2)
    writing = asyncio.create_task(told.offline([final("hello")] * 200))
    turns = 0
    while not writing.done():
        turns += 1
        await asyncio.sleep(0)
    assert (await writing).alternatives[0].transcript == "hello " * 200
    assert turns > 200


@pytest.mark.parametrize(
    ("asked", "spoken", "told"),
    [("de-AT", "de", "de-AT"), ("", "fr", "fr"), ("multi", "de", "de"), ("en-US", "en", "en-US")],
)
async def test_the_language_comes_back_as_it_was_asked_for_or_found_out(asked: str, spoken: str, told: str) -> None:
    models = FakeModels(languages=Languages(("auto", "en", "de", "fr")))
    host = SessionHost(models, FakeVoice(), Admission(1))
    settings = to_settings(recognition(language_code=asked), "config", host, interim_results=False)
    written = ResultWriter(settings, ObservedVoice(ScriptedVoice((1.0, 0.0))), channel=1)
    result = await written.streaming(dataclasses.replace(final("fünfundzwanzig"), language=spoken))
    assert list(result.alternatives[0].language_code) == [told]


async def test_figures_are_written_in_english_alone() -> None:
    told = writer(verbatim_transcripts=False)
    for language, text in (("", "25 "), ("en", "25 "), ("sv", "twenty five ")):
        result = await told.streaming(dataclasses.replace(final("twenty five"), language=language))
        assert result.alternatives[0].transcript == text
