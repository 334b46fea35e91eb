"""`vivavoce eval`: judge engines on labelled data."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from engines.asr.recognizers import is_engine
from modelkit.cli.evaluating import Judging, judge, judging_options

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from modelkit.evaluation.outcome import Evaluation

_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
_EITHER = click.Path(path_type=Path, exists=True)
_DEFAULT_SNRS = "6,9,12,15,18,21,24"


@click.group("eval")
def evaluate() -> None:
    """Judge engines on labelled data, through a running service."""


_one_utterance = click.option(
    "--one-utterance/--endpointed",
    default=True,
    show_default=True,
    help="Take a recording as one turn, as with push-to-talk, or let the service find the turns.",
)


def _boosts(command: Callable[..., None]) -> Callable[..., None]:
    """Adds `--boost` and `--sentence-boost`."""
    boost = click.FloatRange(0, 100)
    values = click.option("--boost", metavar="X", type=boost, help="How strongly slot values are preferred, 0 to 100.")
    sentences = click.option("--sentence-boost", metavar="X", type=boost, help="The same for the sentences.")
    return values(sentences(command))


def _degraded(command: Callable[..., None]) -> Callable[..., None]:
    """Adds `--gain` and `--dc`."""
    gain = click.option(
        "--gain",
        "gain_db",
        metavar="DB",
        type=click.FloatRange(-60, 40),
        default=0.0,
        help="Make recordings louder, or quieter with a negative number.",
    )
    offset = click.option(
        "--dc",
        "offset",
        metavar="X",
        type=click.FloatRange(-0.9, 0.9),
        default=0.0,
        help="Add a DC offset, as a share of full scale.",
    )
    return gain(offset(command))


def _run_engine(engine: Path, files: tuple[Path, ...], normalizer: str, *, as_json: bool) -> None:
    """Run an engine on recordings and print a line for each."""
    from modelkit.evaluation.asr_engine import run_engine, summed_errors  # noqa: PLC0415 - loading a command stays quick
    from modelkit.evaluation.normalizers import make_normalizer  # noqa: PLC0415

    if not files:
        raise click.UsageError(f"Give recordings after the engine directory {engine}.")
    done = []
    for result in run_engine(engine, files, make_normalizer(normalizer)):
        done.append(result)
        click.echo(result.to_json() if as_json else result.to_line())
    if (errors := summed_errors(done)) is not None and not as_json:
        click.echo(f"word error rate: {100 * errors:.1f} %")


@evaluate.command()
@click.argument("data", metavar="DATA | ENGINE FILES...", nargs=-1, required=True, type=_EITHER)
@click.option(
    "--normalizer",
    type=click.Choice(["whisper-english", "basic", "none"]),
    default="whisper-english",
    show_default=True,
    help="What transcripts may differ in.",
)
@click.option(
    "--hints",
    metavar="FOLDER",
    type=_FOLDER,
    help="Hint at the words of this domain (sentences.txt, slot_values.json).",
)
@_boosts
@_one_utterance
@_degraded
@judging_options(can_be_local=False)
def asr(
    *,
    judging: Judging,
    data: tuple[Path, ...],
    normalizer: str,
    hints: Path | None,
    boost: float | None,
    sentence_boost: float | None,
    one_utterance: bool,
    gain_db: float,
    offset: float,
) -> None:
    """Word and character error rate of recognition.

    DATA is a manifest, one {"audio_filepath", "text"} a line with paths relative to it, or a folder of recordings with
    a .txt beside each.

    ENGINE FILES runs an engine directory on recordings without a service: a line for each, with the word error rate
    where a .txt lies beside the recording. With --json a line is an object with `file`, `text`, `tokens` and, of a
    streaming recognizer, `frames` of 80 ms in which each token was found.
    """
    if is_engine(data[0]):
        _run_engine(data[0], data[1:], normalizer, as_json=judging.as_json)
        return
    if len(data) > 1:
        raise click.UsageError("Give one manifest or folder, or an engine directory and recordings.")
    from modelkit.domain import read_domain  # noqa: PLC0415 - loading a command stays quick
    from modelkit.evaluation.asr import evaluate_asr  # noqa: PLC0415
    from modelkit.evaluation.hints import domain_hints  # noqa: PLC0415
    from modelkit.evaluation.normalizers import make_normalizer  # noqa: PLC0415
    from modelkit.evaluation.outcome import spread  # noqa: PLC0415
    from modelkit.evaluation.recordings import read_spoken  # noqa: PLC0415

    job = partial(
        evaluate_asr,
        items=spread(read_spoken(data[0]), judging.limit),
        normalize=make_normalizer(normalizer),
        hints=domain_hints(read_domain(hints), boost, sentence_boost) if hints else [],
        one_utterance=one_utterance,
    )
    judge(judging, _degrading(job, gain_db, offset))


@evaluate.command()
@click.argument("data", type=_EITHER)
@click.option(
    "--prefixes",
    "prefix_seconds",
    metavar="SECONDS",
    type=click.FloatRange(0.05, 10),
    help="Also recognize the beginnings of each recording, one this much longer than the other.",
)
@judging_options(can_be_local=False)
def partials(*, judging: Judging, data: Path, prefix_seconds: float | None) -> None:
    """How much of transcripts stays that may still change, and how soon the first right word comes.

    DATA is a folder of recordings or a manifest. Recordings are sent at the pace of speech.
    """
    from modelkit.evaluation.outcome import spread  # noqa: PLC0415 - loading a command stays quick
    from modelkit.evaluation.partials import evaluate_partials  # noqa: PLC0415
    from modelkit.evaluation.recordings import list_recordings  # noqa: PLC0415

    recordings = spread(list_recordings(data), judging.limit)
    judge(judging, partial(evaluate_partials, recordings=recordings, prefix_seconds=prefix_seconds))


@evaluate.command()
@click.argument("file", type=_FILE)
@click.option(
    "--outside",
    metavar="FILE",
    type=_FILE,
    help="Also tell how many of these get no intent: utterances or questions (SQuAD JSON) that fit none.",
)
@click.option(
    "--contrast",
    metavar="FILE",
    type=_FILE,
    help="Also tell how often kind and negation are right for every fifth sentence of each section of this file.",
)
@judging_options(can_be_local=True)
def nlu(*, judging: Judging, file: Path, outside: Path | None, contrast: Path | None) -> None:
    """Intent accuracy (`none` is wrong) and slot F1 (exact spans).

    FILE has one {"text", "intent", "slots": [{"start", "end", "name"}]} a line.
    """
    from modelkit.evaluation.nlu import evaluate_nlu  # noqa: PLC0415 - loading a command stays quick
    from modelkit.evaluation.outcome import spread  # noqa: PLC0415
    from modelkit.evaluation.text_data import read_labelled, read_outside  # noqa: PLC0415
    from modelkit.utterance_kinds.contrast import read_contrast  # noqa: PLC0415

    others = spread(read_outside(outside), judging.limit) if outside else []
    told = spread(read_contrast(contrast).held_out, judging.limit) if contrast else []
    job = partial(evaluate_nlu, utterances=spread(read_labelled(file), judging.limit), outside=others, contrast=told)
    judge(judging, job)


@evaluate.command()
@click.argument("file", type=_FILE)
@judging_options(can_be_local=True)
def qa(*, judging: Judging, file: Path) -> None:
    """Exact match and F1 of answers, and whether those are withheld that the text does not hold.

    FILE is in the JSON format of SQuAD 1.1 or 2.0. Every question is also put to a wrong paragraph.
    """
    from modelkit.evaluation.outcome import spread  # noqa: PLC0415 - loading a command stays quick
    from modelkit.evaluation.qa import evaluate_qa  # noqa: PLC0415
    from modelkit.evaluation.text_data import read_questions  # noqa: PLC0415

    judge(judging, partial(evaluate_qa, questions=spread(read_questions(file), judging.limit)))


@evaluate.command()
@click.argument("folder", type=_FOLDER)
@click.option("--no-hints", is_flag=True, help="Do not hint at the slot values and sentences of the folder.")
@_boosts
@_one_utterance
@click.option("--noise", metavar="FILE", type=_FILE, help="Mix this noise in, at each of --snr.")
@click.option("--snr", metavar="DB,…", default=_DEFAULT_SNRS, show_default=True, help="How far speech is above noise.")
@click.option(
    "--snr-level",
    type=click.Choice(["active", "loudest"]),
    default="active",
    show_default=True,
    help="What --snr compares: mean power where somebody speaks with mean power of the noise, or the loudest 0.128 s.",
)
@_degraded
@judging_options(can_be_local=False)
def commands(
    *,
    judging: Judging,
    folder: Path,
    no_hints: bool,
    boost: float | None,
    sentence_boost: float | None,
    one_utterance: bool,
    noise: Path | None,
    snr: str,
    snr_level: str,
    gain_db: float,
    offset: float,
) -> None:
    """Acceptance of spoken commands: the intent is right, and every labelled slot has its value.

    FOLDER has labels.json, audio/, sentences.txt and slot_values.json.
    """
    from modelkit.evaluation.command_data import read_commands  # noqa: PLC0415 - loading a command stays quick
    from modelkit.evaluation.commands import Noisiness, evaluate_commands  # noqa: PLC0415
    from modelkit.evaluation.hints import domain_hints  # noqa: PLC0415
    from modelkit.evaluation.noise import Level, Noise  # noqa: PLC0415
    from modelkit.evaluation.outcome import spread  # noqa: PLC0415

    ratios = _ratios(snr, noise)
    found, domain = read_commands(folder)
    job = partial(
        evaluate_commands,
        commands=spread(found, judging.limit),
        noisiness=Noisiness(Noise.read(noise), ratios, Level(snr_level)) if noise else None,
        hints=[] if no_hints else domain_hints(domain, boost, sentence_boost),
        one_utterance=one_utterance,
    )
    judge(judging, _degrading(job, gain_db, offset))


def _degrading(
    job: Callable[..., Awaitable[Evaluation]], gain_db: float, offset: float
) -> Callable[..., Awaitable[Evaluation]]:
    """Returns the evaluation of the same recordings as a bad microphone makes them."""
    from modelkit.evaluation.degradation import Degradation, DegradedEngines  # noqa: PLC0415

    degradation = Degradation(gain_db, offset)
    return lambda engines, **options: job(DegradedEngines(engines, degradation), **options)


def _ratios(snr: str, noise: Path | None) -> tuple[float, ...]:
    """Reads `--snr`."""
    context = click.get_current_context()
    if noise is None and context.get_parameter_source("snr") is not ParameterSource.DEFAULT:
        raise click.UsageError("There is nothing to mix in at --snr: give a recording of noise with --noise.", context)
    try:
        return tuple(float(ratio) for ratio in snr.split(","))
    except ValueError as error:
        raise click.UsageError(
            f"--snr takes numbers with commas between, such as 6,12, not {snr!r}.", context
        ) from error
