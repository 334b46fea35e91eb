"""`vivavoce speaker`: enrols, lists and deletes voices."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from vivavoce.cli.extras import extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    import numpy.typing as npt

_MODEL_REPOSITORY = Path(__file__).resolve().parent.parent / "model_repository"

_folder_option = click.option(
    "--speakers",
    "folder",
    metavar="DIR",
    required=True,
    type=click.Path(path_type=Path, file_okay=False),
    envvar="VIVAVOCE_SPEAKERS",
    help="Folder of the voices, as for `vivavoce serve`.",
)


@click.group()
def speaker() -> None:
    """Enrol voices, which a service then tells by name, and forget them.

    A voice is no proof of identity: a recording or an imitation sounds the same.
    """


@speaker.command()
@click.argument("name")
@click.argument(
    "files", metavar="FILE...", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@_folder_option
@click.option(
    "--model-repository",
    metavar="DIR",
    type=click.Path(path_type=Path, file_okay=False),
    envvar="VIVAVOCE_MODEL_REPOSITORY",
    default=_MODEL_REPOSITORY,
    help="Folder of the Triton models, with the network for voices.  [default: the shipped one]",
)
def enrol(name: str, files: Sequence[Path], folder: Path, model_repository: Path) -> None:
    """Enrol the voice NAME from recordings of it alone, in place of an earlier one.

    Five seconds of speech are the least, and more are better. Numbers are stored, no sound.
    """
    with extra("serve", "Enrolling a voice"):
        from engines.speaker.embedder import SpeakerEmbedder, SpeakerFilesError  # noqa: PLC0415 - needs the extra
        from pipelines.audio.formats import MODEL_RATE_HZ  # noqa: PLC0415
        from pipelines.speakers.enrolled import EnrolmentError  # noqa: PLC0415
        from pipelines.speakers.enrolled import enrol as store  # noqa: PLC0415
    try:
        embedder = SpeakerEmbedder(model_repository / "speaker" / "1")
        windows = [window for file in files for window in _windows(file)]
        seconds = sum(map(len, windows)) / MODEL_RATE_HZ
        store(folder, name, embedder.embed(windows), seconds)
    except (SpeakerFilesError, EnrolmentError) as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{name} is enrolled in {folder}, from {seconds:.1f} s of speech")


@speaker.command("list")
@_folder_option
def list_voices(folder: Path) -> None:
    """List the enrolled voices."""
    with extra("serve", "Listing voices"):
        from pipelines.speakers.enrolled import enrolled_names  # noqa: PLC0415 - needs the extra
    for name in enrolled_names(folder):
        click.echo(name)


@speaker.command()
@click.argument("name")
@_folder_option
def delete(name: str, folder: Path) -> None:
    """Forget the voice NAME. A running service forgets it with the next conversation."""
    with extra("serve", "Forgetting a voice"):
        from pipelines.speakers import enrolled  # noqa: PLC0415 - needs the extra
    try:
        enrolled.delete(folder, name)
    except enrolled.EnrolmentError as error:
        raise click.ClickException(str(error)) from error
    click.echo(f"{name} is forgotten")


def _windows(file: Path) -> list[npt.NDArray[np.float32]]:
    """Return the speech of a recording in windows that do not overlap.

    Raises:
        click.ClickException: it is no recording.
    """
    from pipelines.errors import PipelineError  # noqa: PLC0415 - needs the extra
    from pipelines.speakers.recordings import speech_windows  # noqa: PLC0415

    try:
        return speech_windows(file.read_bytes())
    except PipelineError as error:
        raise click.ClickException(f"{file}: {error}") from error
