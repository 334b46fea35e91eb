"""Utterances during which Triton or the process of a model is killed, or stopped as one that hangs is.

``python -m benchmarks.kills --of asr`` starts the service, says every utterance once undisturbed, and then again and
again, with a kill at a random moment of each.
"""

from __future__ import annotations

import asyncio
import random
import signal
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click
import psutil

import vivavoce
from benchmarks.provenance import RESULTS, keep
from demo.manifest import utterances
from service.processes.child_process import SERVE, listening

if TYPE_CHECKING:
    from collections.abc import Sequence

    from demo.manifest import Utterance

TRITON = "tritonserver"
SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP}
EARLIEST, LATEST = 0.2, 0.8
"""Shares of an utterance between which its kill falls."""

KILLS_OF_A_SERVICE = 5
"""A service gives up at the sixth end of its Triton within five minutes."""

MAX_SECONDS = 90.0
_BUDGET_SECONDS = 1.0


@dataclass
class Heard:
    """What came of one utterance.

    Attributes:
        transcripts: the final ones.
        statuses: those of its replies.
        notices: their codes.
        late_seconds: from the end of the audio to the reply.
        error: what ended the conversation, if something did.
    """

    transcripts: tuple[str, ...] = ()
    statuses: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    late_seconds: float | None = None
    error: str = ""

    def is_whole(self, reference: Heard) -> bool:
        """Whether it was answered once and with as many words as without a kill."""
        return self.transcripts == reference.transcripts and self.statuses == ("COMPLETE",) and not self.error


def process_of(service: int, name: str) -> psutil.Process:
    """Returns the process of a service that runs Triton, or the first instance of a model."""
    family = psutil.Process(service).children(recursive=True)
    family = [one for one in family if one.status() != psutil.STATUS_ZOMBIE]
    if name == TRITON:
        return next(one for one in family if one.name() == TRITON)
    return next(one for one in family if f"{name}_0_0" in one.cmdline())


async def say(
    client: vivavoce.Client, utterance: Utterance, victim: psutil.Process | None, how: str, at: float
) -> Heard:
    """Says an utterance at the pace of speech, and sends a process a signal meanwhile.

    Args:
        client: the service.
        utterance: what is said.
        victim: the process; None: all are left alone.
        how: the name of the signal.
        at: when it comes, as a share of the utterance.
    """
    recording = vivavoce.read_audio(utterance.path)
    heard, ended_at = Heard(), time.monotonic() + recording.duration_seconds

    async def disturb() -> None:
        await asyncio.sleep(at * recording.duration_seconds)
        if victim is not None:
            victim.send_signal(SIGNALS[how])

    disturbing = asyncio.create_task(disturb())
    speech = vivavoce.pace(recording.chunks(), recording.sample_rate_hz)
    documents = utterance.documents()
    try:
        async with asyncio.timeout(MAX_SECONDS):
            async for event in client.converse(
                speech, audio=recording.format, documents=documents, reply_budget_seconds=_BUDGET_SECONDS
            ):
                match event:
                    case vivavoce.Transcript(text=text, is_final=True):
                        heard.transcripts += (text,)
                    case vivavoce.Reply(status=status):
                        heard.statuses += (status.value,)
                        heard.late_seconds = time.monotonic() - ended_at
                    case vivavoce.Notice(code=code):
                        heard.notices += (code.value,)
    except (vivavoce.VivavoceError, TimeoutError) as error:
        heard.error = type(error).__name__
    finally:
        await disturbing
    return heard


async def until_it_answers(client: vivavoce.Client, seconds: float = 60.0) -> None:
    """Waits until the service has answered a question whole."""
    document = vivavoce.Document("The ferry leaves at nine.")
    async with asyncio.timeout(seconds):
        while True:
            try:
                reply = await client.ask("when does the ferry leave", documents=[document], reply_budget_seconds=2)
                if reply.status is vivavoce.ReplyStatus.COMPLETE:
                    return
            except vivavoce.VivavoceError:
                pass
            await asyncio.sleep(0.2)


def summary(trials: Sequence[tuple[str, Heard, Heard]]) -> dict[str, object]:
    """Returns how many utterances were whole, and how late their replies came.

    Args:
        trials: name of the utterance, what came of it, and what came of it without a kill.
    """
    late = sorted(heard.late_seconds for _, heard, _ in trials if heard.late_seconds is not None)
    return {
        "kills": len(trials),
        "whole": sum(heard.is_whole(reference) for _, heard, reference in trials),
        "told_by_notice": sum("MODEL_RECOVERED" in heard.notices for _, heard, _ in trials),
        "late_seconds_median": round(late[len(late) // 2], 2) if late else None,
        "late_seconds_longest": round(late[-1], 2) if late else None,
        "others": [
            {"utterance": name, "transcripts": heard.transcripts, "statuses": heard.statuses, "error": heard.error}
            for name, heard, reference in trials
            if not heard.is_whole(reference)
        ],
    }


async def _measure(
    service: int, address: str, of: str, how: str, count: int, seed: int
) -> list[tuple[str, Heard, Heard]]:
    chosen = random.Random(seed)
    said = [utterance for utterance in utterances() if utterance.kind == "question"]
    async with vivavoce.connect(address) as client:
        await until_it_answers(client)
        references = {one.file: await say(client, one, None, how, 0.5) for one in said[:count]}
        trials = []
        for number in range(count):
            utterance = said[number % len(said)]
            await until_it_answers(client)
            victim = process_of(service, of)
            heard = await say(client, utterance, victim, how, chosen.uniform(EARLIEST, LATEST))
            trials.append((utterance.path.stem, heard, references[utterance.file]))
    return trials


@click.command()
@click.option("--of", default=TRITON, show_default=True, help="Whose process: tritonserver, or a model's name.")
@click.option("--how", type=click.Choice(list(SIGNALS)), default="kill", show_default=True)
@click.option("--count", type=click.IntRange(1), default=20, show_default=True, help="How many kills.")
@click.option("--seed", type=int, default=1, show_default=True, help="When.")
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Default: results/kills-OF-HOW.json.")
def main(of: str, how: str, count: int, seed: int, out: Path | None) -> None:
    """Kill processes in the middle of utterances; keep what was found."""
    trials: list[tuple[str, Heard, Heard]] = []
    while len(trials) < count:
        with (
            tempfile.TemporaryDirectory() as directory,
            listening([*SERVE, "--max-conversations", "8"], Path(directory, "log.txt")) as (process, address),
        ):
            kills = min(KILLS_OF_A_SERVICE, count - len(trials))
            trials += asyncio.run(_measure(process.pid, address, of, how, kills, seed + len(trials)))
    command = f"python -m benchmarks.kills --of {of} --how {how} --count {count} --seed {seed}"
    print(keep(out or RESULTS / f"kills-{of}-{how}.json", command, summary(trials)))


if __name__ == "__main__":
    main()
