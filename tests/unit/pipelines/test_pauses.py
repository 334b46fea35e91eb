"""The pure machine: pauses of which a model judges whether the turn is over."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.messages import EndReason, Reply, SpeechEnded, SpeechPaused, SpeechResumed, Status, Transcript
from pipelines.turns import effects, events, listening, pausing
from pipelines.turns.listening import HARD_LIMIT
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode, Patience
from tests.examples import examples
from tests.unit.pipelines.driver import Driver, emitted

MODEL = EndpointingConfig(mode=EndpointingMode.MODEL)
WINDOW = 512


class Talk(Driver):
    """A conversation in which a model judges pauses."""

    def __init__(self, **chosen: object) -> None:
        super().__init__(**{"endpointing": MODEL} | chosen)

    def said_then_paused(self, text: str = "turn on the lights", silence: float = 0.2) -> effects.JudgePause:
        """Somebody speaks for a second and pauses; returns what the model is asked."""
        self.speak(1)
        self.pause(silence)
        fresh = self.recognize(text, settled=True)
        (judge,) = [effect for effect in fresh if isinstance(effect, effects.JudgePause)]
        return judge

    def judge(self, asked: effects.JudgePause, probability: float | None) -> list[effects.Effect]:
        return self(events.PauseJudged(asked.turn, asked.pause, probability, self.now))


def test_a_turn_that_is_surely_over_ends_at_once():
    talk = Talk()
    asked = talk.said_then_paused()
    talk.understand()
    fresh = talk.judge(asked, 0.99)
    (paused,) = emitted(fresh, SpeechPaused)
    assert (paused.turn, paused.text, paused.probability) == (1, "turn on the lights", 0.99)
    assert paused.silence == 6 * WINDOW
    (ended,) = emitted(fresh, SpeechEnded)
    assert (ended.reason, ended.end, ended.silence) == (EndReason.SILENCE, paused.end, 6 * WINDOW)
    (reply,) = emitted(fresh, Reply)
    assert (reply.status, reply.speculated) == (Status.COMPLETE, True)


def test_the_model_hears_the_turn_up_to_now_but_no_more_than_8_seconds():
    talk = Talk()
    asked = talk.said_then_paused("what")
    assert asked.start == talk.sent(talk.segment)[0].start
    assert (asked.stop, asked.text) == (talk.state.heard_to, "what")
    talk.speak(9)
    talk.pause(0.2)
    talk.recognize("what a long question", settled=True)
    asked = talk.of(effects.JudgePause)[-1]
    assert (asked.stop - asked.start, asked.text) == (8 * 16_000, "what a long question")
    assert listening.keep_from(talk.state) <= asked.start


def test_a_speaker_who_thinks_is_waited_for():
    talk = Talk()
    talk.judge(talk.said_then_paused("what is the"), 0.02)
    assert not emitted(talk.pause(0.9), SpeechEnded), "the silence rule would have ended it"
    fresh = talk.speak(0.1)
    (resumed,) = emitted(fresh, SpeechResumed)
    assert resumed.turn == 1
    assert not [effect for effect in talk.done if isinstance(effect, effects.CloseSegment)]


def test_a_speaker_is_not_waited_for_for_ever():
    talk = Talk(endpointing=EndpointingConfig(mode=EndpointingMode.MODEL, longest_silence_seconds=0.96))
    talk.judge(talk.said_then_paused("what is the"), 0.0)
    assert not emitted(talk.pause(0.7), SpeechEnded)
    (ended,) = emitted(talk.pause(0.1), SpeechEnded)
    assert ended.silence == 30 * WINDOW


def test_the_model_is_asked_again_while_a_pause_lasts_and_its_last_word_counts():
    talk = Talk()
    first = talk.said_then_paused()
    talk.judge(first, 0.3)
    talk.pause(0.2)
    again = talk.of(effects.JudgePause)[-1]
    assert (again.pause, again.start) == (first.pause, first.start)
    assert again.stop - first.stop == 6 * WINDOW
    assert emitted(talk.judge(again, 0.95), SpeechEnded)
    assert [paused.probability for paused in talk.said(SpeechPaused)] == [0.3, 0.95]


def test_the_model_is_asked_three_times_at_most():
    talk = Talk(endpointing=EndpointingConfig(mode=EndpointingMode.MODEL, patience=Patience.PATIENT))
    talk.judge(talk.said_then_paused(), 0.0)
    for _ in range(60):
        talk.pause(0.032)
        if talk.state.speaking and talk.state.speaking.pause.awaited:
            talk.judge(talk.of(effects.JudgePause)[-1], 0.0)
    silences = [judge.stop - talk.state.speaking.speech_end for judge in talk.of(effects.JudgePause)]
    assert [samples // WINDOW for samples in silences] == [6, 12, 22]


def test_without_an_answer_the_silence_rule_holds():
    for answer in (None, "late"):
        talk = Talk()
        asked = talk.said_then_paused()
        if answer is None:
            assert talk.judge(asked, None) == []
        assert not emitted(talk.pause(0.38), SpeechEnded)
        (ended,) = emitted(talk.pause(0.032), SpeechEnded)
        assert ended.silence == 19 * WINDOW
        assert talk.said(SpeechPaused) == []


def test_an_answer_that_comes_when_speech_goes_on_is_for_nothing():
    talk = Talk()
    asked = talk.said_then_paused()
    fresh = talk.speak(0.032)
    assert [effect for effect in fresh if isinstance(effect, effects.CancelJudgement)]
    assert emitted(fresh, SpeechResumed) == [], "nothing was told of the pause"
    assert talk.judge(asked, 1.0) == []


def test_an_answer_to_an_earlier_pause_ends_no_later_one():
    talk = Talk()
    asked = talk.said_then_paused("turn on")
    talk.speak(0.3)
    talk.pause(0.2)
    talk.recognize("turn on the", settled=True)
    assert talk.judge(asked, 1.0) == []


def test_who_ends_the_utterance_waits_for_no_judgement():
    talk = Talk()
    asked = talk.said_then_paused()
    fresh = talk(events.EndRequested(talk.state.heard_to, talk.now, "mine"))
    assert [effect for effect in fresh if isinstance(effect, effects.CancelJudgement)]
    (ended,) = emitted(fresh, SpeechEnded)
    assert (ended.reason, ended.silence) == (EndReason.REQUESTED, 0)
    assert talk.judge(asked, 0.0) == []


def test_noise_without_words_is_not_judged():
    talk = Talk()
    talk.speak(1)
    talk.pause(0.2)
    assert not [effect for effect in talk.recognize("", settled=True) if isinstance(effect, effects.JudgePause)]
    assert not talk.state.awaits_judgement
    assert emitted(talk.pause(0.5), SpeechEnded)


def test_where_silence_decides_no_pause_is_judged():
    for chosen in ({"endpointing": EndpointingConfig()}, {"speculates": False}):
        talk = Talk(**chosen)
        talk.speak(1)
        talk.pause(0.3)
        talk.recognize("turn on the lights", settled=True)
        assert emitted(talk.pause(0.4), SpeechEnded)
        assert talk.of(effects.JudgePause) == []


def test_a_judgement_is_awaited_from_the_pause_on_and_no_longer_than_it_takes():
    talk = Talk()
    talk.speak(1)
    talk.pause(0.128)
    assert not talk.state.awaits_judgement
    talk.pause(0.032)
    assert talk.state.awaits_judgement, "its text is awaited"
    talk.recognize("turn on", settled=True)
    assert talk.state.awaits_judgement
    talk.judge(talk.of(effects.JudgePause)[-1], 0.4)
    assert not talk.state.awaits_judgement
    talk(events.RecognitionFailed(talk.segment, "gone"))
    assert not talk.state.awaits_judgement


def test_of_a_recognizer_that_failed_no_judgement_is_awaited():
    talk = Talk()
    talk.speak(1)
    talk.pause(0.2)
    talk(events.RecognitionFailed(talk.segment, "gone"))
    assert not talk.state.awaits_judgement
    assert emitted(talk.pause(0.5), SpeechEnded)


def test_a_pause_is_not_cut_where_its_segment_becomes_too_long():
    talk = Talk()
    talk.speak(HARD_LIMIT / 16_000 - 0.25)
    talk.pause(0.2)
    talk.recognize("a long story", settled=True)
    talk.judge(talk.of(effects.JudgePause)[-1], 0.1)
    talk.pause(0.2)
    assert not talk.of(effects.AbandonSegment)
    (closed,) = talk.of(effects.CloseSegment)
    assert closed.segment == talk.segment


def test_a_pause_of_which_the_text_changes_is_told_again():
    talk = Talk()
    talk.judge(talk.said_then_paused("turn on the light"), 0.3)
    fresh = talk.recognize("turn on the lights", settled=True)
    assert [(paused.text, paused.probability) for paused in emitted(fresh, SpeechPaused)] == [
        ("turn on the lights", 0.3)
    ]


def test_what_the_caller_changes_holds_at_once():
    talk = Talk()
    talk.judge(talk.said_then_paused(), 0.0)
    talk.pause(0.4)
    talk(events.Updated(EndpointingConfig(mode=EndpointingMode.MODEL, longest_silence_seconds=0.5)))
    assert emitted(talk.pause(0.032), SpeechEnded)


def test_a_conversation_may_go_over_to_the_silence_and_back():
    talk = Talk()
    talk(events.Updated(EndpointingConfig()))
    talk.speak(1)
    talk.pause(0.3)
    talk.recognize("turn on", settled=True)
    assert talk.of(effects.JudgePause) == []
    talk(events.Updated(MODEL))
    talk.pause(0.032)
    assert [judge.text for judge in talk.of(effects.JudgePause)] == ["turn on"]


texts = st.sampled_from(("", "what", "what is", "what is the capital"))
phrases = st.tuples(st.just("phrase"), texts, st.integers(6, 18), st.sampled_from((None, 0.0, 0.1, 0.3, 0.9)))
happenings = st.lists(
    phrases
    | phrases
    | phrases
    | st.tuples(st.just("speak"), st.integers(1, 30))
    | st.tuples(st.just("pause"), st.integers(1, 30))
    | st.tuples(st.just("recognize"), texts, st.booleans())
    | st.tuples(st.just("judge"), st.none() | st.floats(0, 1))
    | st.tuples(st.just("end"))
    | st.tuples(st.just("fail"))
    | st.tuples(st.just("stall"))
    | st.tuples(st.just("update"), st.sampled_from(EndpointingMode), st.sampled_from(Patience)),
    max_size=40,
)


def carry_out(talk: Talk, what: tuple) -> None:
    match what:
        case ("phrase", text, windows, probability):
            for part in (("speak", 12), ("pause", windows), ("recognize", text, True), ("judge", probability)):
                carry_out(talk, part)
        case ("speak", windows):
            talk.speak(windows * 0.032)
        case ("pause", windows):
            talk.pause(windows * 0.032)
        case ("recognize", text, settled) if talk.of(effects.SendAudio):
            talk.recognize(text, settled=settled)
        case ("judge", probability) if talk.of(effects.JudgePause):
            talk.judge(talk.of(effects.JudgePause)[-1], probability)
        case ("end",):
            talk(events.EndRequested(talk.state.heard_to, talk.now))
        case ("fail",) if talk.of(effects.OpenSegment):
            talk(events.RecognitionFailed(talk.segment, "gone"))
        case ("stall",):
            talk(events.Stalled())
        case ("update", mode, patience):
            talk(events.Updated(EndpointingConfig(mode=mode, patience=patience)))


@examples(100)
@given(happenings)
def test_the_final_text_is_that_of_the_last_pause_unless_speech_resumed_came_between(happened: list[tuple]):
    talk = Talk()
    for what in happened:
        carry_out(talk, what)
    talk(events.HalfClosed(talk.state.heard_to, talk.now))
    for segment in {opened.segment for opened in talk.of(effects.OpenSegment)}:
        talk(events.RecognitionFailed(segment, "gone"))
    paused: dict[int, str] = {}
    judged = [effect.pause for effect in talk.of(effects.JudgePause)]
    for effect in talk.of(effects.Emit):
        match effect.message:
            case SpeechPaused(turn, text):
                paused[turn] = text
            case SpeechResumed(turn):
                assert turn in paused, "resumed without a pause"
                del paused[turn]
            case Transcript(turn, text, is_final=True):
                assert paused.get(turn, text) == text
    assert all(judged.count(pause) <= 3 for pause in judged)


def test_who_tells_a_number_is_given_time_between_its_groups():
    talk = Talk()
    asked = talk.said_then_paused("My phone number is five, five, five")
    fresh = talk.judge(asked, 0.97)
    (paused,) = emitted(fresh, SpeechPaused)
    assert paused.probability == pausing.MAX_SPELLING_PROBABILITY
    assert not emitted(fresh, SpeechEnded)
    talk.pause(0.3)
    assert talk.state.speaking is not None
    talk.pause(0.4)
    assert talk.state.speaking is None
