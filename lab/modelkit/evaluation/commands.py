"""Judges spoken commands: how many are accepted, clean and in noise."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from modelkit.evaluation.acceptance import Verdict, judge
from modelkit.evaluation.command_data import Half
from modelkit.evaluation.concurrency import bounded_map
from modelkit.evaluation.noise import Level, Noise
from modelkit.evaluation.normalizers import make_normalizer
from modelkit.evaluation.outcome import DECIMALS, Case, Evaluation, share
from modelkit.evaluation.recordings import read_clip

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from modelkit.evaluation.command_data import Command
    from modelkit.evaluation.concurrency import OnProgress
    from modelkit.evaluation.engines import SpeechEngines, Turn
    from modelkit.evaluation.outcome import Json
    from modelkit.evaluation.recordings import Clip
    from vivavoce import PhraseHints

CLEAN = "clean"
TRANSCRIPT_NORMALIZER = "whisper-english"
"""A value that was written in figures was heard."""


@dataclass(frozen=True, slots=True)
class Noisiness:
    """The noise that the commands are heard in, besides clean.

    Attributes:
        noise: what is mixed in.
        snrs_db: the ratios of speech to noise, in dB.
        level: what the ratio compares.
    """

    noise: Noise
    snrs_db: tuple[float, ...]
    level: Level = Level.ACTIVE


@dataclass(frozen=True, slots=True)
class Trial:
    """One command in one condition, and what came of it."""

    command: Command
    snr_db: float | None
    turns: tuple[Turn, ...]
    verdict: Verdict


async def evaluate_commands(
    engines: SpeechEngines,
    commands: Sequence[Command],
    *,
    noisiness: Noisiness | None,
    hints: Sequence[PhraseHints],
    one_utterance: bool,
    concurrency: int,
    on_progress: OnProgress,
) -> Evaluation:
    """Lets the engines hear every command clean and, with noise, at every ratio."""
    normalize = make_normalizer(TRANSCRIPT_NORMALIZER)

    async def attempt(planned: tuple[float | None, Command]) -> Trial:
        snr_db, command = planned
        clip = await asyncio.to_thread(_clip, command, snr_db, noisiness)
        turns = await engines.hear(clip, hints, one_utterance=one_utterance)
        return Trial(command, snr_db, tuple(turns), judge(command, turns, normalize))

    began = time.monotonic()
    trials = await bounded_map(attempt, plan(commands, noisiness), concurrency, on_progress)
    seconds = time.monotonic() - began
    return Evaluation("commands", len(commands), score_trials(trials), seconds, [_case(trial) for trial in trials])


def plan(commands: Sequence[Command], noisiness: Noisiness | None) -> list[tuple[float | None, Command]]:
    """Lists what is to be heard: every command clean, then at each ratio."""
    conditions: list[float | None] = [None, *(noisiness.snrs_db if noisiness else ())]
    return [(snr_db, command) for snr_db in conditions for command in commands]


def score_trials(trials: Sequence[Trial]) -> dict[str, Json]:
    """Scores all conditions together and each alone.

    Returns:
        ``acceptance`` of the clean commands, and with noise ``acceptance_noisy``, the mean over the ratios. For each
        of the ``conditions`` the shares of commands that were ``accepted``, of all and of each half, that got the
        right intent, whose labelled values were all ``heard`` (stand in the transcript), and that came with slots
        which nobody labelled. For each of the ``slots``, over all conditions, how often it was labelled, missing,
        wrong, and came unlabelled.
    """
    snrs = list(dict.fromkeys(trial.snr_db for trial in trials))
    conditions = {_name(snr): _condition([trial for trial in trials if trial.snr_db == snr]) for snr in snrs}
    scores: dict[str, Json] = {"acceptance": conditions[CLEAN]["accepted"]}
    noisy = [condition for name, condition in conditions.items() if name != CLEAN]
    if noisy:
        conditions["mean of noisy"] = {key: _mean([condition[key] for condition in noisy]) for key in noisy[0]}
        scores["acceptance_noisy"] = conditions["mean of noisy"]["accepted"]
    return scores | {"conditions": conditions, "slots": _slots(trials)}


def _condition(trials: Sequence[Trial]) -> dict[str, float | None]:
    def of(chosen: Callable[[Trial], bool], half: Half | None = None) -> float | None:
        counted = [trial for trial in trials if half in (None, trial.command.half)]
        return share(sum(map(chosen, counted)), len(counted)) if counted else None

    return {
        "accepted": of(lambda trial: trial.verdict.accepted),
        "tuning_half": of(lambda trial: trial.verdict.accepted, Half.TUNING),
        "other_half": of(lambda trial: trial.verdict.accepted, Half.OTHER),
        "intent_right": of(lambda trial: trial.verdict.intent_right),
        "heard": of(lambda trial: trial.verdict.heard),
        "extra_slots": of(lambda trial: bool(trial.verdict.extra)),
    }


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), DECIMALS) if known else None


def _slots(trials: Sequence[Trial]) -> dict[str, Json]:
    names = sorted({name for trial in trials for name in trial.command.slots})
    return {
        name: {
            "labelled": sum(name in trial.command.slots for trial in trials),
            "missing": sum(name in trial.verdict.missing for trial in trials),
            "wrong": sum(name in trial.verdict.wrong for trial in trials),
            "extra": sum(name in trial.verdict.extra for trial in trials),
        }
        for name in names
    }


def _clip(command: Command, snr_db: float | None, noisiness: Noisiness | None) -> Clip:
    clip = read_clip(command.path)
    if snr_db is None or noisiness is None:
        return clip
    return noisiness.noise.under(clip, snr_db, command.path.name, noisiness.level)


def _case(trial: Trial) -> Case:
    command, verdict = trial.command, trial.verdict
    reference: Json = {"intent": command.intent, "slots": dict(command.slots)}
    got: Json = [
        {"transcript": turn.transcript, "intent": turn.intent, "slots": [list(slot) for slot in turn.slots]}
        for turn in trial.turns
    ]
    name = command.path.name if trial.snr_db is None else f"{command.path.name} at {_name(trial.snr_db)}"
    return Case(name, reference, got, verdict.score)


def _name(snr_db: float | None) -> str:
    return CLEAN if snr_db is None else f"{snr_db:g} dB"
