"""A command as another distribution would bring it."""

from __future__ import annotations

import click


@click.command()
@click.option("--loud", is_flag=True)
def sing(*, loud: bool) -> None:
    """Sing a song."""
    click.echo("LA LA LA" if loud else "la la la")
