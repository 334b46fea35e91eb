"""The realtime protocol without I/O: tables of single steps, and random sessions in which a few things always hold."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data import messages
from pipelines.data.speech import SpokenText
from pipelines.data.stages import SPEECH
from pipelines.errors import InvalidInputError
from pipelines.session.config import ConversationConfig
from pipelines.speech.reply_voice import ReplyVoice
from service.api.http.nvidia.dialect import NvidiaDialect, chosen
from service.api.http.openai.realtime import client_events as events
from service.api.http.openai.realtime import door
from service.api.http.openai.realtime.dialects import BetaDialect, Dialect
from service.api.http.openai.realtime.session_form import default_session
from service.api.http.openai.realtime.settings import Detection, Settings
from service.api.http.openai.realtime.state import CLEARED, COMMITTED, AwaitSilence, ChangePlayback, Moment, State, Tell
from service.sessions.commands import AddAudio, AddText, CancelReply, EndUtterance, StopReply, Update
from tests.examples import examples

if TYPE_CHECKING:
    from collections.abc import Sequence

FORMAT = AudioFormat(Encoding.LINEAR_PCM, 24_000)
USER = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "how many bees?"}]}
SPOKEN, SILENT = ConversationConfig(reply_voice=ReplyVoice()), ConversationConfig()
WORDS = ("one", "two", "three")


def settings(session: dict[str, Any]) -> Settings:
    """What a session says, as far as these tests go."""
    sound = session["audio"]["input"]
    detection = sound["turn_detection"]
    replies = session["type"] == "realtime"
    speaks = replies and session["output_modalities"] == ["audio"]
    return Settings(
        replies,
        speaks,
        FORMAT,
        Detection("server_vad", detection.get("create_response"), idle_timeout_ms=5_000) if detection else None,
        sound["transcription"] is not None,
        SPOKEN if speaks else SILENT,
    )


@dataclass
class Session:
    """A door, and what came out of it."""

    changes: dict[str, Any] = field(default_factory=dict)
    on_track: bool = False
    told: list[Tell] = field(default_factory=list)
    commands: list[Any] = field(default_factory=list)
    heard: int = 0

    def __post_init__(self) -> None:
        session = default_session("realtime", "sess_1")
        self.state = State("s", session, settings(session), settings(session), on_track=self.on_track)
        self._take(door.started(self.state))
        if self.changes:
            self.send(events.UpdateSession(session=self.changes))
        self._take(door.opened(self.state, "Hello."))

    def _take(self, result: door.Result) -> list[str]:
        self.state, outputs = result
        told = [one for one in outputs if isinstance(one, Tell)]
        self.told += told
        self.commands += [one for one in outputs if not isinstance(one, Tell)]
        return [one.kind for one in told]

    @property
    def moment(self) -> Moment:
        return Moment(1.0, self.heard)

    def send(self, *sent: events.Meant) -> list[str]:
        kinds: list[str] = []
        for event in sent:
            result = door.read(self.state, event, self.moment, settings)
            assert door.read(self.state, event, self.moment, settings) == result
            if isinstance(event, events.AppendAudio):
                self.heard += len(event.audio)
            kinds += self._take(result)
        return kinds

    def hear(self, *said: messages.Message) -> list[str]:
        kinds: list[str] = []
        for message in said:
            result = door.write(self.state, message, self.moment)
            assert door.write(self.state, message, self.moment) == result
            kinds += self._take(result)
        return kinds

    def close(self) -> list[str]:
        return self._take(door.closed(self.state, self.moment))


def reply(turn: int, words: str = "Seven.", request_id: str = "", **more: Any) -> messages.Reply:
    results = {SPEECH: SpokenText(words)} if words else {}
    return messages.Reply(turn, "how many?", results, more.pop("status", messages.Status.COMPLETE), (), 0.5,
        request_id=request_id, **more)  # fmt: skip


def turn(number: int, text: str = "how many bees", request_id: str = "") -> list[messages.Message]:
    """One turn, up to its transcript."""
    reason = messages.EndReason.REQUESTED if request_id else messages.EndReason.SILENCE
    return [
        messages.SpeechBegan(number, 0),
        messages.SpeechEnded(number, 16_000, reason, request_id),
        messages.Transcript(number, text, True, 0, 16_000, request_id=request_id),
    ]


AUDIO = events.AppendAudio(audio=bytes(3_200))
LAST = messages.ReplyAudio(1, b"ab", 1.0, is_last=True)
ENDED = "conversation.item.input_audio_transcription.completed"


def kinds_of_response(*, spoken: bool) -> list[str]:
    name = "output_audio_transcript" if spoken else "output_text"
    done = ["response.output_audio.done", f"response.{name}.done"] if spoken else [f"response.{name}.done"]
    return [
        "response.created",
        "rate_limits.updated",
        "response.output_item.added",
        "conversation.item.added",
        "response.content_part.added",
        f"response.{name}.delta",
        *(["response.output_audio.delta"] if spoken else []),
        *done,
        "response.content_part.done",
        "response.output_item.done",
        "conversation.item.done",
        "response.done",
    ]


def test_a_turn_and_its_reply():
    session = Session()
    heard = session.hear(*turn(1))
    assert heard[0] == "input_audio_buffer.speech_started"
    assert heard[-1] == ENDED
    assert session.hear(reply(1), LAST) == kinds_of_response(spoken=True)
    assert session.commands[-1] == AwaitSilence(5.0)
    assert session.told[-1].members["response"]["output"][0]["content"][0]["transcript"] == "Seven."


def test_replies_are_told_one_after_the_other():
    session = Session({"output_modalities": ["audio"]})
    told = session.hear(*turn(1), reply(1), *turn(2), reply(2), LAST, messages.ReplyAudio(2, b"", 0.0, is_last=True))
    assert [kind for kind in told if kind in {"response.created", "response.done"}] == [
        "response.created",
        "response.done",
    ] * 2


NO_DETECTION = {"audio": {"input": {"turn_detection": None}}}
ASK = events.CreateResponse()
COMMIT = events.CommitAudio()


@pytest.mark.parametrize(
    ("changes", "before", "event", "commands"),
    [
        ({}, [], AUDIO, [AddAudio(AUDIO.audio)]),
        (NO_DETECTION, [AUDIO], COMMIT, [EndUtterance(COMMITTED)]),
        (NO_DETECTION, [], events.ForceCommit(), [EndUtterance(COMMITTED)]),
        ({}, [AUDIO], events.ClearAudio(), [EndUtterance(CLEARED)]),
        (
            {},
            [],
            events.UpdateSession(session={"audio": {"input": {"turn_detection": {"type": "server_vad"}}}}),
            Update,
        ),
        ({}, [], events.UpdateSession(session={"output_modalities": ["text"]}), []),
        ({}, [events.CreateItem(item=USER)], ASK, [AddText("how many bees?", "resp_s000002")]),
        ({}, [turn(1), reply(1)], events.CancelResponse(), [CancelReply(1)]),
        ({}, [turn(1), reply(1, "", status=messages.Status.PARTIAL)], events.CancelResponse(), [CancelReply(1)]),
        ({}, [turn(1), reply(1)], events.TruncateItem(item_id="item_s000003", audio_end_ms=500), [StopReply(1, 0.5)]),
        (NO_DETECTION, [AUDIO, COMMIT, ASK], events.CancelResponse(), []),
    ],
)
def test_commands(changes: dict[str, Any], before: Sequence[Any], event: events.Meant, commands: Any):
    session = Session(changes)
    for one in before:
        (
            session.send
            if isinstance(one, events._Event)
            else lambda it: session.hear(*(it if isinstance(it, list) else [it]))
        )(one)
    session.commands.clear()
    session.send(event)
    if commands is Update:
        assert [type(one) for one in session.commands] == [Update]
    else:
        assert session.commands == commands


@pytest.mark.parametrize(
    ("changes", "before", "event", "reason"),
    [
        (NO_DETECTION, [], COMMIT, "INPUT_AUDIO_BUFFER_COMMIT_EMPTY"),
        ({"type": "transcription"}, [], ASK, "NO_RESPONSES"),
        ({}, [], ASK, "NOTHING_TO_ANSWER"),
        (NO_DETECTION, [AUDIO, COMMIT, ASK], ASK, "CONVERSATION_ALREADY_HAS_ACTIVE_RESPONSE"),
        ({}, [], events.CancelResponse(), "RESPONSE_CANCEL_NOT_ACTIVE"),
        ({}, [], events.DeleteItem(item_id="x"), "ITEM_NOT_FOUND"),
        ({}, [events.CreateItem(item={**USER, "id": "x"})], events.CreateItem(item={**USER, "id": "x"}), "ITEM_EXISTS"),
        ({}, [events.CreateItem(item={**USER, "id": "x"})], events.TruncateItem(item_id="x"), "INVALID_VALUE"),
    ],
)
def test_what_cannot_be_served(changes: dict[str, Any], before: Sequence[Any], event: events.Meant, reason: str):
    session = Session(changes)
    session.send(*before)
    with pytest.raises(InvalidInputError) as caught:
        session.send(event)
    assert caught.value.reason == reason


def test_what_is_asked_for_is_answered_once_it_is_recognized():
    session = Session(NO_DETECTION)
    session.send(AUDIO, COMMIT, ASK)
    session.hear(*turn(1, request_id=COMMITTED))
    assert session.commands[-1] == AddText("how many bees", "resp_s000002")
    assert "response.done" in session.hear(reply(2, request_id="resp_s000002"), messages.ReplyAudio(2, b"", 0.0, True))
    session.send(AUDIO, COMMIT, ASK)
    told = session.hear(messages.Notice(messages.NoticeCode.NO_SPEECH, "nothing", request_id=COMMITTED))
    assert told[-2:] == [ENDED, "error"]


def test_playback_on_a_track():
    session = Session(on_track=True)
    told = session.hear(*turn(1), reply(1), messages.ReplyAudio(1, b"ab", 0.0))
    assert "response.output_audio.delta" not in told
    assert session._take(door.played(session.state, 1, 0.1, is_all=False)) == ["output_audio_buffer.started"]
    stopped = messages.Interrupted(1, 0.4, "Sev", messages.InterruptionReason.SPEECH)
    assert session.hear(messages.ReplyHeld(1, 0.4), stopped)[:2] == [
        "output_audio_buffer.cleared",
        "conversation.item.truncated",
    ]
    assert [one.change for one in session.commands if isinstance(one, ChangePlayback)] == ["hold", "drop"]


def test_dialects():
    created = ("conversation.created", {"conversation": {}})
    item = ("conversation.item.added", {"item": {"content": [{"type": "output_text", "text": "a"}]}})
    assert Dialect().write(*created) == (Dialect(), ())
    assert BetaDialect().write(*created)[1] == (created,)
    ((kind, members),) = BetaDialect().write(*item)[1]
    assert (kind, members["item"]["content"][0]["type"]) == ("conversation.item.created", "text")
    update = events.UpdateTranscriptionSession(session={"input_audio_params": {"sample_rate_hz": 8_000}})
    dialect = chosen(update, Dialect(), Dialect())
    assert isinstance(dialect, NvidiaDialect)
    (meant,) = dialect.read(update)
    assert isinstance(meant, events.UpdateSession)
    assert meant.session["input_audio_format"] == {"type": "audio/any", "rate": 8_000}
    assert dialect.read(COMMIT) == ()
    forced = events.AppendAudio(runtime_config={"force_eou": True})
    assert dialect.read(forced) == (forced, events.ForceCommit())
    for text in ("one", "", "two"):
        dialect, _ = dialect.write(ENDED, {"transcript": text, "item_id": text})
    ((_, last),) = dialect.end()
    assert (last["transcript"], last["item_id"], last["is_last_result"]) == ("one two", "two", True)
    assert chosen(events.UpdateTranscriptionSession(), dialect, Dialect()) == Dialect()


class Talk:
    """Messages of a conversation, turn by turn, as the turns would send them."""

    def __init__(self, session: Session, draw: st.DrawFn) -> None:
        self.session, self._draw, self._turn = session, draw, 0

    def go_on(self) -> None:
        kind = self._draw(st.sampled_from(("spoken", "typed", "nothing", "call", "failure", "prompt")))
        session = self.session
        ended = COMMITTED if session.state.commits else self._draw(st.sampled_from(("", CLEARED)))
        if kind == "nothing" and session.state.commits:
            session.hear(messages.Notice(messages.NoticeCode.NO_SPEECH, "nothing", request_id=COMMITTED))
        elif kind == "call":
            session.hear(messages.ToolCall(f"call {self._turn}", "order", "order", {"size": "1"}, 5.0))
        elif kind == "prompt":
            self._turn += 1
            complete = messages.Status.COMPLETE
            session.hear(messages.Prompt(self._turn, "", {SPEECH: SpokenText("Hm?")}, complete, (), 0.5))
            session.hear(
                *([messages.ReplyAudio(self._turn, b"", 1.0, is_last=True)] if session.state.told.speaks else [])
            )
        elif kind == "failure":
            session.hear(messages.Notice(messages.NoticeCode.STAGE_FAILED, "speech failed", self._turn))
        elif kind == "spoken":
            self._turn += 1
            session.hear(messages.SpeechBegan(self._turn, 0))
            for size in self._draw(st.lists(st.integers(0, 3), max_size=3)):
                session.hear(messages.Transcript(self._turn, " ".join(WORDS[:size]), False, 0, 100))
            session.hear(*turn(self._turn, self._draw(st.sampled_from(("", "one two", "one two three"))), ended)[1:])
            self._reply(ended)
        elif kind == "typed" and session.state.requested:
            self._turn += 1
            self._reply(self._draw(st.sampled_from(sorted(session.state.requested))))

    def _reply(self, request_id: str) -> None:
        words = self._draw(st.sampled_from(("", "Seven bees.")))
        is_late = self._draw(st.booleans())
        status = messages.Status.PARTIAL if is_late else messages.Status.COMPLETE
        self.session.hear(reply(self._turn, words, request_id, status=status))
        rest = [messages.ReplyAudio(self._turn, b"a", 0.0), messages.ReplyAudio(self._turn, b"", 1.0, is_last=True)]
        if self._draw(st.booleans()):
            stopped = messages.Interrupted(self._turn, 0.2, "Sev", messages.InterruptionReason.SPEECH)
            rest = [rest[0], stopped]
        spoken = words if self.session.state.told.speaks else ""
        if is_late:
            whole = reply(self._turn, words or "Eight.", request_id, completes=True)
            rest = rest if spoken else []
            rest = [whole, *rest] if self._draw(st.booleans()) else [*rest, whole]
        elif not spoken:
            rest = []
        self.session.hear(*rest)


SENT = st.one_of(
    st.sampled_from(
        [
            AUDIO,
            COMMIT,
            ASK,
            events.ForceCommit(),
            events.ClearAudio(),
            events.CancelResponse(),
            events.ClearOutput(),
            events.CreateItem(item=USER),
            events.CreateItem(item={"type": "function_call_output", "call_id": "c", "output": "{}"}),
            events.CreateResponse(response={"input": [USER]}),
            events.CreateResponse(response={"output_modalities": ["text"]}),
            events.UpdateSession(session={"type": "transcription"}),
            events.UpdateSession(session={"audio": {"input": {"transcription": None}}}),
        ]
    ),
    st.integers(1, 12).map(lambda number: events.TruncateItem(item_id=f"item_s{number:06x}", audio_end_ms=100)),
    st.integers(1, 12).map(lambda number: events.DeleteItem(item_id=f"item_s{number:06x}")),
)
FORMS: list[dict[str, Any]] = [
    {},
    NO_DETECTION,
    {"output_modalities": ["text"]},
    {"type": "transcription"},
    {"audio": {"input": {"turn_detection": {"type": "server_vad", "create_response": False}}}},
]


@examples(150)
@given(st.data(), st.sampled_from(FORMS), st.booleans())
def test_random_sessions(data: st.DataObject, form: dict[str, Any], on_track: bool):
    session = Session(form, on_track)
    talk = Talk(session, data.draw)  # type: ignore[arg-type]  # draws as a composite strategy does
    for _ in range(data.draw(st.integers(1, 12))):
        if data.draw(st.booleans()):
            talk.go_on()
            continue
        before = session.state
        try:
            session.send(data.draw(SENT))
        except InvalidInputError:
            assert session.state == before
        if session.state.reopens:
            session.close()
            session._take(door.opened(session.state, ""))
            talk = Talk(session, data.draw)  # type: ignore[arg-type]
    session.close()
    check(session)


def check(session: Session) -> None:
    """What holds of every session."""
    state, open_response = session.state, None
    assert (state.responses, state.requested, state.late, state.commits, state.asked) == ((), {}, {}, 0, None)
    assert state.items.bytes == sum(item.bytes for item in state.items.all)
    added: list[str] = []
    deltas: dict[str, str] = {}
    completed: list[str] = []
    for event in session.told:
        members = event.members
        match event.kind:
            case "conversation.item.added":
                assert members["previous_item_id"] in {None, *added}
                added.append(members["item"]["id"])
            case "response.created":
                assert open_response is None
                open_response = members["response"]["id"]
            case "response.done":
                assert members["response"]["id"] == open_response
                assert members["response"]["status"] != "in_progress"
                open_response = None
            case "conversation.item.input_audio_transcription.delta":
                deltas[members["item_id"]] = deltas.get(members["item_id"], "") + members["delta"]
            case "conversation.item.input_audio_transcription.completed":
                completed.append(members["item_id"])
                told = deltas.get(members["item_id"], "")
                # Words that were told may turn out to be others.
                assert told == members["transcript"] or not members["transcript"].startswith(told)
            case kind if kind.startswith("response."):
                assert members["response_id"] == open_response
    assert open_response is None
    assert len(set(added)) == len(added)
    assert len(set(completed)) == len(completed)
