"""One caller: speaks a script at the pace of speech, whatever the server does, and notes when what came back."""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING

import vivavoce
from benchmarks.sla.material import RATE_HZ
from benchmarks.sla.pace import FORMAT, Microphone
from benchmarks.sla.scripts import spoken

if TYPE_CHECKING:
    from benchmarks.sla.scripts import Script

_WINDOW_SECONDS = 0.032
"""An onset is told as the first sample of the window it was heard in, which may begin so long before the recording."""


@dataclass(slots=True)
class Record:
    """What one caller saw. Latencies are in seconds.

    Attributes:
        reference: what was said, all of it.
        transcript: what was understood, all of it.
        reply: end of an utterance to its reply.
        turn: last speech sample, as the recording has it, to the reply.
        voice_to_voice: last speech sample to the first audio of the spoken reply.
        interruption: first sample of speech over a spoken reply to the end of that reply's audio.
        chunk: sending of a chunk to the transcript that covers it.
        first_partial: beginning of speech to the first transcript.
        server: the server's own count of the reply latency.
        overhead: the part of it in which no model computed for the reply; see :func:`overhead_of`.
        statuses: how many replies had which status inside the budget.
        completed: last speech sample to the whole reply, of replies that were completed after the budget.
        speculated: replies that were worked out during the trailing silence.
        answers: for every question the passage wanted and the one that came.
        utterances: how many were spoken.
        lost: utterances without a reply.
        cut: utterances that were taken for over before their last sound.
        error: gRPC status, or name of the error, that ended the conversation; None where it was held to its end.
        refusal: how long it took from the attempt to connect until the refusal was told, where it was.
        late_sending: the longest that sending lagged behind the pace of speech.
    """

    reference: str = ""
    transcript: str = ""
    reply: list[float] = field(default_factory=list)
    turn: list[float] = field(default_factory=list)
    voice_to_voice: list[float] = field(default_factory=list)
    interruption: list[float] = field(default_factory=list)
    chunk: list[float] = field(default_factory=list)
    first_partial: list[float] = field(default_factory=list)
    server: list[float] = field(default_factory=list)
    overhead: list[float] = field(default_factory=list)
    statuses: dict[str, int] = field(default_factory=dict)
    completed: list[float] = field(default_factory=list)
    speculated: int = 0
    answers: list[tuple[str, str]] = field(default_factory=list)
    utterances: int = 0
    lost: int = 0
    cut: int = 0
    error: str | None = None
    refusal: float | None = None
    late_sending: float = 0.0


class Caller:
    """Holds one conversation.

    Args:
        address: the service's ``host:port``.
        script: what to say.
        reply_budget_seconds: within which replies are wanted; None leaves it to the server.
    """

    def __init__(self, address: str, script: Script, reply_budget_seconds: float | None = None) -> None:
        self._address = address
        self._script = script
        self._reply_budget_seconds = reply_budget_seconds
        self._microphone = Microphone(spoken(script))
        self._record = Record()
        self._turn_starts: dict[int, float] = {}
        self._partial_turns: set[int] = set()
        self._replies: list[tuple[float, float, str]] = []
        self._late_answers: list[tuple[float, str]] = []
        self._first_audio: dict[int, float] = {}
        self._last_audio: dict[int, float] = {}
        self._texts: list[tuple[int, str]] = []

    async def call(self) -> Record:
        """Speaks the whole script; never raises for what the server does."""
        script, record = self._script, self._record
        await asyncio.sleep(script.arrival_seconds)
        record.utterances = len(script.lines)
        record.reference = " ".join(line.item.text for line in script.lines)
        documents = [vivavoce.Document(script.document.read_text(encoding="utf-8"))] if script.document else []
        began = time.monotonic()
        try:
            async with vivavoce.connect(self._address) as client:
                events = client.converse(
                    self._microphone.chunks(),
                    audio=FORMAT,
                    interim_results=True,
                    documents=documents,
                    reply_budget_seconds=self._reply_budget_seconds,
                    reply_audio=vivavoce.ReplyVoice() if script.is_answered_aloud else None,
                )
                try:
                    async for event in events:
                        self._note(event, time.monotonic())
                except vivavoce.Overloaded:
                    record.refusal = time.monotonic() - began
                    raise
        except vivavoce.VivavoceError as error:
            record.error = error.code if isinstance(error, vivavoce.ServerError) else type(error).__name__
        self._finish()
        return record

    def _note(self, event: vivavoce.Event, now: float) -> None:
        match event:
            case vivavoce.SpeechBegan():
                self._turn_starts[event.turn] = event.start_seconds
            case vivavoce.Transcript(is_final=False):
                self._note_partial(event, now)
            case vivavoce.Transcript():
                self._texts.append((event.turn, event.text))
            case vivavoce.ReplyAudio():
                self._first_audio.setdefault(event.turn, now)
                self._last_audio[event.turn] = now
            case vivavoce.Interrupted(reason=vivavoce.InterruptionReason.SPEECH):
                self._note_interruption(event.turn, now)
            case vivavoce.Reply(completes=True):
                self._note_completion(event, now)
            case vivavoce.Reply():
                self._note_reply(event, now)
            case _:
                pass

    def _note_partial(self, partial: vivavoce.Transcript, now: float) -> None:
        # The end itself is not covered any more: it may be the first sample of the next chunk.
        self._record.chunk.append(now - self._microphone.sent_at(partial.end_seconds - 0.5 / RATE_HZ))
        if partial.turn not in self._partial_turns:
            self._partial_turns.add(partial.turn)
            self._record.first_partial.append(now - self._microphone.moment_of(partial.start_seconds))

    def _note_reply(self, reply: vivavoce.Reply, now: float) -> None:
        record = self._record
        if reply.client_latency_seconds is not None:
            record.reply.append(reply.client_latency_seconds)
        record.server.append(reply.latency.total_seconds)
        record.overhead.append(overhead_of(reply))
        record.statuses[reply.status.value] = record.statuses.get(reply.status.value, 0) + 1
        record.speculated += reply.speculated
        answer = reply.answer.text if reply.answer else ""
        self._replies.append((self._turn_starts.get(reply.turn, 0.0), now, answer))

    def _note_completion(self, reply: vivavoce.Reply, now: float) -> None:
        """Notes how late a reply was whole, and the answer that came with it."""
        if reply.status is not vivavoce.ReplyStatus.COMPLETE:
            return
        began = self._turn_starts.get(reply.turn, 0.0)
        line = self._script.lines[max(0, self._line_at(began))]
        self._record.completed.append(now - self._microphone.moment_of(line.speech_end / RATE_HZ))
        if reply.answer is not None:
            self._late_answers.append((began, reply.answer.text))

    def _finish(self) -> None:
        """Matches replies with the recordings during which their turns began."""
        self._record.late_sending = self._microphone.late_seconds
        # What comes late, after the text of the next utterance, was not misheard.
        self._record.transcript = " ".join(text for _, text in sorted(self._texts, key=itemgetter(0)))
        got: dict[int, str] = {}
        replied: dict[int, float] = {}
        for began_seconds, now, answer in sorted(self._replies):
            line = self._line_at(began_seconds)
            got[line] = got.get(line) or answer
            replied[line] = now
        for began_seconds, answer in self._late_answers:
            line = self._line_at(began_seconds)
            got[line] = got.get(line) or answer
        spoke = {self._line_at(self._turn_starts.get(turn, 0.0)): now for turn, now in self._first_audio.items()}
        self._note_turns(replied, spoke)
        starts = self._script.lines
        self._record.lost = sum(index not in got for index in range(len(starts)))
        self._record.answers = [
            (line.item.answer, got.get(index, ""))
            for index, line in enumerate(self._script.lines)
            if line.item.answer is not None and self._script.document is not None
        ]

    def _line_at(self, seconds: float) -> int:
        """Returns the index of the line during which a turn began; -1 for a turn before the first one."""
        starts = [max(0.0, line.first_sample / RATE_HZ - _WINDOW_SECONDS) for line in self._script.lines]
        return bisect_right(starts, seconds) - 1

    def _note_turns(self, replied: dict[int, float], spoke: dict[int, float]) -> None:
        """Notes how long after each line's last sound it was replied to, for good, and answered aloud."""
        record = self._record
        for index, line in enumerate(self._script.lines):
            ended = self._microphone.moment_of(line.speech_end / RATE_HZ)
            if index in replied and replied[index] < ended:
                record.cut += 1
            elif index in replied:
                record.turn.append(replied[index] - ended)
            if index in spoke and spoke[index] >= ended:
                record.voice_to_voice.append(spoke[index] - ended)

    def _note_interruption(self, turn: int, now: float) -> None:
        """Notes how long audio of a spoken reply came after somebody began to speak over it."""
        onsets = (self._microphone.moment_of(line.onset / RATE_HZ) for line in self._script.lines)
        begun = [onset for onset in onsets if onset <= now]
        if begun:
            self._record.interruption.append(max(0.0, self._last_audio.get(turn, 0.0) - begun[-1]))


def overhead_of(reply: vivavoce.Reply) -> float:
    """Tells for how many seconds of a reply's latency no model computed for it.

    Intent and answer are computed side by side, after recognition. Where that was done in the trailing silence, it
    would have been over before the utterance was, had it not had to wait: all of such a reply's latency is overhead.
    """
    if reply.speculated:
        return reply.latency.total_seconds
    stages = {entry.stage: entry.compute_seconds for entry in reply.latency.stages}
    recognition = stages.pop(vivavoce.Stage.ASR, 0.0)
    return max(0.0, reply.latency.total_seconds - recognition - max(stages.values(), default=0.0))
