"""Look-back buffer: sent and unanswered requests, for a lost connection.

Positions are in bytes of audio from the start of the present stream, and turns have that stream's numbers.
`LookBack.placed` makes both those of the whole conversation: a new stream goes on where the kept audio begins.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from vivavoce._config import Encoding
from vivavoce._errors import Incompatible, InvalidRequest
from vivavoce._events import EndReason, Event, Notice, NoticeCode, Reconnected, SpeechBegan, SpeechEnded, Transcript
from vivavoce._pauses import SpeechPaused, SpeechResumed
from vivavoce._reply import Prompt, Reply, ReplyStatus
from vivavoce._requests import MAX_AUDIO_MESSAGE_BYTES
from vivavoce._spoken import Interrupted, ReplyAudio, ReplyHeld, ReplyResumed
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Iterator

    from vivavoce._config import AudioFormat

MAX_SECONDS = 30.0
_PLACES = ("start_seconds", "end_seconds")
MAX_BYTES = 8 * 1024 * 1024

_SILENCE = {
    Encoding.LINEAR_PCM: b"\x00",
    Encoding.LINEAR_PCM_FLOAT32: b"\x00",
    Encoding.MULAW: b"\xff",
    Encoding.ALAW: b"\xd5",
}


@dataclass(slots=True)
class _Mark:
    """A typed turn or an end of utterance that was sent when so much audio had been."""

    position: int
    request: pb.ConverseRequest


@dataclass(slots=True)
class _Utterance:
    """A spoken turn, and the audio that it covers."""

    turn: int
    start: int
    end: int
    answered: bool = False


class LookBack:
    """Keeps what was sent until it is answered, as much of it as the bound allows."""

    def __init__(self, audio: AudioFormat | None) -> None:
        """Begin to look back.

        Args:
            audio: Format of the audio; None when only typed turns are sent.

        Raises:
            InvalidRequest: Audio in this format cannot be cut.
        """
        self._sample_rate_hz, self._frame_bytes, self._silence = _layout(audio)
        bytes_per_second = self._sample_rate_hz * self._frame_bytes
        self._max_bytes = min(round(MAX_SECONDS * self._sample_rate_hz) * self._frame_bytes, MAX_BYTES)
        self._bytes_per_second = max(bytes_per_second, 1)
        self._audio = bytearray()
        self._kept_from = 0
        self._marks: list[_Mark] = []
        self._update = pb.ConversationUpdate()
        self._utterances: list[_Utterance] = []
        self._partial: dict[int, Reply] = {}
        self._last_answered = 0
        self._earlier_bytes = 0
        self._earlier_turns = 0

    @property
    def empty(self) -> bool:
        """True while nothing would have to be sent again."""
        return not self._audio and not self._marks

    @property
    def owed(self) -> bool:
        """True while the server is known to owe a reply."""
        return bool(self._marks) or any(not one.answered for one in self._utterances)

    def sent(self, request: pb.ConverseRequest) -> pb.ConverseRequest | None:
        """Keep a request that will be answered; beyond the bound drop the oldest audio.

        Returns:
            The request, for the present stream; None where it concerns a turn of an earlier one.
        """
        match request.WhichOneof("request"):
            case "audio":
                self._audio += request.audio
                if len(self._audio) > self._max_bytes:
                    self._drop_to(self._end - self._max_bytes)
            case "update":
                self._note_update(request.update)
            case "dtmf" | "tool_result":
                pass
            case "playback" | "cancel_reply" as kind:
                control = getattr(request, kind)
                if control.turn:
                    control.turn -= self._earlier_turns
                    return request if control.turn > 0 else None
            case _:
                self._marks.append(_Mark(self._end, request))
        return request

    def answered_by(self, event: Event) -> None:
        """Drop what `event` of the present stream answers.

        Raises:
            Incompatible: The server does not tell which request it answers.
        """
        match event:
            case SpeechBegan():
                start = self._position(event.start_seconds)
                self._utterances.append(_Utterance(event.turn, start, start))
            case SpeechEnded():
                end = self._end_of(event)
                for utterance in self._utterances_of(event.turn):
                    utterance.end = end
            case Notice(code=NoticeCode.NO_SPEECH):
                self._marks.remove(self._mark(event.request_id))
            case Reply(status=ReplyStatus.PARTIAL, dialog=None):
                self._partial[event.turn] = event
            case Reply():
                self._whole(event)

    def placed(self, event: Event) -> Event:
        """Return `event` with its position and turn in the whole conversation."""
        seconds, turns = self._earlier_bytes / self._bytes_per_second, self._earlier_turns
        match event:
            case SpeechBegan() | Transcript() | SpeechPaused() | SpeechResumed() | SpeechEnded():
                places: dict[str, Any] = {
                    name: getattr(event, name) + seconds for name in _PLACES if hasattr(event, name)
                }
                return replace(event, turn=event.turn + turns, **places)
            case Reply() | ReplyAudio() | ReplyHeld() | ReplyResumed() | Interrupted():
                return replace(event, turn=event.turn + turns)
            case Notice(turn=int(turn)):
                return replace(event, turn=turn + turns)
        return event

    def begin_anew(self) -> tuple[Reconnected, list[pb.ConverseRequest]]:
        """Go over to a new stream.

        Returns:
            What it means for the caller, and the requests that the new stream begins with.
        """
        spoken_from = min((one.start for one in self._utterances if not one.answered), default=self._kept_from)
        lost_bytes = max(0, self._kept_from - spoken_from)
        told = Reconnected(lost_bytes / self._bytes_per_second, len(self._audio) / self._bytes_per_second)
        requests = list(self._requests())
        self._marks = [_Mark(max(0, one.position - self._kept_from), one.request) for one in self._marks]
        self._earlier_bytes += self._kept_from
        self._earlier_turns += self._last_answered
        self._kept_from = self._last_answered = 0
        self._utterances.clear()
        self._partial.clear()
        return told, requests

    @property
    def _end(self) -> int:
        return self._kept_from + len(self._audio)

    def _position(self, seconds: float) -> int:
        return round(seconds * self._sample_rate_hz) * self._frame_bytes

    def _utterances_of(self, turn: int) -> list[_Utterance]:
        return [one for one in self._utterances if one.turn == turn]

    def _end_of(self, ended: SpeechEnded) -> int:
        """Return the end of the audio that belongs to finished utterances."""
        match ended.reason:
            case EndReason.REQUESTED:
                return self._mark(ended.request_id).position
            case EndReason.HALF_CLOSE:
                return self._end
        return self._position(ended.end_seconds)

    def _mark(self, request_id: str) -> _Mark:
        """Return the request of this name; a name may be reused once it was answered."""
        for mark in self._marks:
            if mark.request.request_id == request_id:
                return mark
        raise Incompatible(
            "The server does not tell which request it answers, so that nothing could be sent again: "
            "update the server, or leave reconnect_seconds at 0.",
            code="UNIMPLEMENTED",
        )

    def _whole(self, reply: Reply) -> None:
        """Count a turn and those before it as answered: old servers complete no reply."""
        for turn in sorted(turn for turn in self._partial if turn <= reply.turn and not isinstance(reply, Prompt)):
            self._answered(self._partial.pop(turn))
        if not reply.completes:
            self._answered(reply)

    def _answered(self, reply: Reply) -> None:
        turn = reply.turn
        self._last_answered = max(self._last_answered, turn)
        # Without an utterance it was typed, unless an agent says something by itself.
        if reply.request_id or not (isinstance(reply, Prompt) or self._utterances_of(turn)):
            self._marks.remove(self._mark(reply.request_id))
        for utterance in self._utterances_of(turn):
            utterance.answered = True
        while self._utterances and self._utterances[0].answered:
            self._drop_to(self._utterances.pop(0).end)
        for utterance in self._utterances_of(turn):  # One that was said before it is still open.
            self._blank(utterance.start, utterance.end)

    def _drop_to(self, position: int) -> None:
        count = min(position - self._kept_from, len(self._audio))
        if count > 0:
            del self._audio[:count]
            self._kept_from += count

    def _blank(self, start: int, end: int) -> None:
        """Put silence in the place of audio: what follows keeps its position."""
        first, last = max(0, start - self._kept_from), min(end - self._kept_from, len(self._audio))
        if last > first:
            self._audio[first:last] = self._silence * (last - first)

    def _note_update(self, update: pb.ConversationUpdate) -> None:
        """Keep what holds now: a new stream begins with the config, and then this."""
        if update.HasField("endpointing"):
            self._update.endpointing.MergeFrom(update.endpointing)
        if update.HasField("documents"):
            self._update.documents.CopyFrom(update.documents)
        if update.HasField("phrase_hints"):
            self._update.phrase_hints.CopyFrom(update.phrase_hints)
        if update.HasField("knowledge"):
            self._update.knowledge.CopyFrom(update.knowledge)
        if update.HasField("variants"):
            self._update.variants.CopyFrom(update.variants)
        if update.HasField("second_opinion"):
            self._update.second_opinion = update.second_opinion
        if update.HasField("session"):
            self._update.session.parameters.update(update.session.parameters)

    def _requests(self) -> Iterator[pb.ConverseRequest]:
        sent = 0
        if self._update.ListFields():
            yield pb.ConverseRequest(update=self._update)
        for mark in self._marks:
            upto = max(sent, mark.position - self._kept_from)
            yield from self._audio_requests(sent, upto)
            yield mark.request
            sent = upto
        yield from self._audio_requests(sent, len(self._audio))

    def _audio_requests(self, start: int, end: int) -> Iterator[pb.ConverseRequest]:
        for offset in range(start, end, MAX_AUDIO_MESSAGE_BYTES):
            yield pb.ConverseRequest(audio=bytes(self._audio[offset : min(offset + MAX_AUDIO_MESSAGE_BYTES, end)]))


def _layout(audio: AudioFormat | None) -> tuple[int, int, bytes]:
    """Return sample rate, bytes a frame, and the byte of silence."""
    if audio is None:
        return 0, 0, b""
    byte_seconds = audio.duration_seconds(1)
    if byte_seconds is None:
        raise InvalidRequest(
            "Only audio that can be cut anywhere can be sent again after a lost connection: send LINEAR_PCM, "
            "LINEAR_PCM_FLOAT32, MULAW or ALAW with their sample rate and channels, or leave reconnect_seconds at 0.",
            field="config.audio",
        )
    return audio.sample_rate_hz, round(1 / byte_seconds) // audio.sample_rate_hz, _SILENCE[audio.encoding]
