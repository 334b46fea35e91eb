"""Histories of conversations: what was sent, and every message that came, with its time.

They were recorded before the ways through a conversation were made shorter, and hold it to what it said then. Where it
shall say something else, record them anew and look at what has changed:

    python -m tests.unit.pipelines.histories
"""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import soundfile

from pipelines.audio.encoding import SpeechEncoder, SpeechFormat
from pipelines.audio.formats import AudioFormat, Encoding
from pipelines.data.answers import Document
from pipelines.data.recognition import RecognitionOptions
from pipelines.dialog.session import DialogSession
from pipelines.session.config import ConversationConfig, ConversationUpdate
from pipelines.session.conversation import Conversation
from pipelines.speech.reply_voice import ReplyVoice
from pipelines.turns.state import TurnSettings
from pipelines.vad.endpointing import EndpointingConfig
from pipelines.vad.turn_end import EndpointingMode
from pipelines.vad.voice_activity import SileroModel
from tests import virtual_time
from tests.unit.pipelines.dialog.agents import BAR, agent_of
from tests.unit.pipelines.fakes import FakeModels
from tests.unit.pipelines.spoken import SpeakingModels
from tests.unit.pipelines.test_dtmf import dialled

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

RECORDINGS = Path(__file__).parents[3] / "demo" / "recordings"
KEPT = Path(__file__).parent / "histories.json"
RATE_HZ = 16_000
GUIDE = (Document("guide", "Paris is the capital of France."),)
MODEL = EndpointingConfig(mode=EndpointingMode.MODEL)


@dataclass(frozen=True)
class Say:
    """A recording of the demonstration, chunk by chunk."""

    name: str
    pace: float = 1.0
    chunk_seconds: float = 0.1


@dataclass(frozen=True)
class Silence:
    """Quiet noise."""

    seconds: float
    pace: float = 1.0


@dataclass(frozen=True)
class Keys:
    """Keys of a telephone, as they sound."""

    pressed: str


@dataclass(frozen=True)
class Typed:
    """A typed turn."""

    text: str


@dataclass(frozen=True)
class End:
    """The caller ends the utterance."""


@dataclass(frozen=True)
class Wait:
    """Nothing comes."""

    seconds: float


@dataclass(frozen=True)
class History:
    """A conversation: how it is held, by which models, and what is sent."""

    sent: tuple[Say | Silence | Keys | Typed | End | Wait | ConversationUpdate, ...]
    turns: dict[str, Any] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    models: Callable[[], FakeModels] = FakeModels
    has_agent: bool = False
    encoding: Encoding = Encoding.LINEAR_PCM
    half_closes: bool = True


TWO = (Say("weather"), Silence(1.2), Say("bee_eggs"), Silence(1.5))
HISTORIES = {
    "two turns": History(TWO, {"interim_results": True}),
    "judged pauses": History(
        (Say("dentist"), Silence(0.4), Say("lights"), Silence(2)),
        {"endpointing": MODEL, "interim_results": True},
        models=lambda: FakeModels(judgements=[0.1, 0.4, 0.95]),
    ),
    "documents": History(TWO, more={"documents": GUIDE}),
    "large chunks": History((Say("weather", chunk_seconds=0.73), Silence(1.5))),
    "small chunks": History((Say("weather", chunk_seconds=0.013), Silence(1.5))),
    "faster than speech": History(
        (*[Say(name, pace=0.0) for name in ("weather", "alarm", "bee_eggs", "moon_rocks")], Silence(3, pace=0.0)),
        {"endpointing": MODEL},
        models=lambda: FakeModels(recognition_seconds=0.3, judgements=[0.9]),
    ),
    "a long utterance": History(
        tuple(Say(name) for name in ("weather", "alarm", "bee_eggs", "moon_rocks") * 4),
        {"endpointing": EndpointingConfig(enabled=False), "interim_results": True},
    ),
    "ended by the caller": History((Say("lights"), End(), Silence(0.5), End(), Say("music"), End())),
    "typed between": History((Say("lights"), Typed("how many are there?"), Silence(1.5), Typed("and now?"))),
    "word times": History(TWO, more={"recognition": RecognitionOptions(word_times=True, alternatives=3)}),
    "slow models": History(TWO, {"late_seconds": 5.0}, models=lambda: FakeModels(0.4, 0.5, 0.9)),
    "no recognition": History((*TWO, Typed("how many?")), models=lambda: FakeModels(fail={"asr"})),
    "spoken and interrupted": History(
        (Say("museum_boat"), Silence(2), Say("lights"), Silence(6)),
        more={"documents": GUIDE, "reply_voice": ReplyVoice()},
        models=SpeakingModels,
    ),
    "an agent with keys": History(
        (Typed("a coffee please"), Wait(1), Keys("21"), Silence(3), Say("lights"), Silence(8)), has_agent=True
    ),
    "nobody speaks": History((Silence(3), End(), Silence(1))),
    "an update": History(
        (
            Say("weather"),
            Silence(1.2),
            ConversationUpdate({"stop_window_seconds": 0.3}, GUIDE),
            Say("alarm"),
            Silence(2),
        )
    ),
    "falls silent": History((Say("weather"), Wait(20), Say("weather"), Silence(1.5))),
    "telephone": History(TWO, encoding=Encoding.MULAW),
    "left open": History((Say("weather"),), half_closes=False),
}


@cache
def _recording(name: str) -> npt.NDArray[np.float32]:
    samples, rate = soundfile.read(RECORDINGS / f"{name}.flac", dtype="float32")
    assert rate == RATE_HZ
    return samples


@cache
def _voice() -> SileroModel:
    return SileroModel()


async def _hold(history: History) -> list[list[Any]]:
    loop = asyncio.get_running_loop()
    audio_format = AudioFormat(history.encoding, RATE_HZ)
    dialog = None
    if history.has_agent:
        dialog = DialogSession(agent_of(BAR), loop.time, {}, "session")
        dialog.begin()
    config = ConversationConfig(audio_format, TurnSettings(**history.turns), dialog=dialog, **history.more)
    conversation = Conversation(config, history.models(), _voice().new_stream())

    async def listen() -> list[list[Any]]:
        return [[round(loop.time(), 6), type(told).__name__, plain(told)] async for told in conversation.outbox]

    listening = asyncio.create_task(listen())
    conversation.dialog.begin()
    for sent in history.sent:
        await _send(conversation, sent, history.encoding)
    if history.half_closes:
        await conversation.half_close()
        await listening
    await conversation.close()
    return await listening


async def _send(conversation: Conversation, sent: object, encoding: Encoding) -> None:
    match sent:
        case Say(name, pace, chunk_seconds):
            await _speak(conversation, _recording(name), encoding, pace, chunk_seconds)
        case Silence(seconds, pace):
            noise = np.random.default_rng(1).normal(0, 1e-4, round(seconds * RATE_HZ)).astype(np.float32)
            await _speak(conversation, noise, encoding, pace, 0.1)
        case Keys(pressed):
            await _speak(conversation, dialled(pressed), encoding, 1.0, 0.1)
        case Typed(text):
            await conversation.add_text(text)
        case End():
            conversation.end_utterance("asked")
        case Wait(seconds):
            await asyncio.sleep(seconds)
        case ConversationUpdate():
            conversation.update(sent)


async def _speak(
    conversation: Conversation,
    samples: npt.NDArray[np.float32],
    encoding: Encoding,
    pace: float,
    chunk_seconds: float,
) -> None:
    step = round(chunk_seconds * RATE_HZ)
    for start in range(0, len(samples), step):
        piece = samples[start : start + step]
        await conversation.add_audio(_encoded(piece, encoding))
        await asyncio.sleep(pace * len(piece) / RATE_HZ)


def _encoded(samples: npt.NDArray[np.float32], encoding: Encoding) -> bytes:
    # At the rate of the encoder's input nothing is resampled.
    return SpeechEncoder(SpeechFormat(encoding)).encode(samples)


def plain(value: object) -> Any:
    """What of a message is kept: all but the date; of audio how long and how loud it is, and of errors their text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (each.name for each in dataclasses.fields(value) if each.name != "today")
        return {name: plain(getattr(value, name)) for name in fields}
    if isinstance(value, enum.Enum):
        return value.name
    if isinstance(value, dict):
        return {str(plain(key)): plain(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(entry) for entry in value]
    if isinstance(value, (bytes, np.ndarray)):
        return len(value)
    rounded = round(value, 5) if isinstance(value, float) else value
    return rounded if isinstance(rounded, (int, float, str, type(None))) else str(rounded)


def hold(name: str) -> list[list[Any]]:
    """Holds a conversation; returns time, kind and content of each message."""
    return virtual_time.run(_hold(HISTORIES[name]))


def _record() -> None:
    lines = [f"{json.dumps(name)}: {json.dumps(hold(name), ensure_ascii=False)}" for name in HISTORIES]
    KEPT.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    _record()
