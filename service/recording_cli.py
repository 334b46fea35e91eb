"""`vivavoce recording`: recordings of telephone calls, by session."""

from __future__ import annotations

import os
from pathlib import Path

import click

from service.sessions.session_cipher import VARIABLE, SessionsError, read_cipher
from service.telephone.recordings import BrokenRecordingError, Recordings

_FOLDER = click.option(
    "--recordings",
    "folder",
    metavar="FOLDER",
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="The folder of `vivavoce serve --record-calls`.",
)


def _recordings(folder: Path) -> Recordings:
    try:
        cipher = read_cipher(os.environ)
    except SessionsError as error:
        raise click.ClickException(str(error)) from error
    if cipher is None:
        raise click.ClickException(f"recordings are encrypted: set {VARIABLE} to the key of the service")
    return Recordings(folder, cipher)


@click.group()
def recording() -> None:
    """Get or delete the recordings of a session's calls."""


@recording.command()
@click.argument("session")
@_FOLDER
@click.option("--out", metavar="FOLDER", required=True, type=click.Path(path_type=Path, file_okay=False))
def get(session: str, folder: Path, out: Path) -> None:
    """Decrypt the recordings of a session into a folder, as FLAC."""
    recordings = _recordings(folder)
    paths = recordings.of_session(session)
    if not paths:
        raise click.ClickException("there is no recording of this session: give the id by which its calls were known")
    out.mkdir(parents=True, exist_ok=True)
    for path in paths:
        target = out / path.name.removesuffix(".aes")
        try:
            target.write_bytes(recordings.read(path))
        except BrokenRecordingError as error:
            raise click.ClickException(str(error)) from error
        click.echo(target)


@recording.command()
@click.argument("session")
@_FOLDER
def delete(session: str, folder: Path) -> None:
    """Delete the recordings of a session."""
    click.echo(f"{_recordings(folder).delete(session)} deleted")
