"""`vivavoce serve`: the server itself."""

from __future__ import annotations

from pathlib import Path

import click

from vivavoce.cli._extras import extra


@click.command()
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", type=click.IntRange(0, 65_535), default=50_051, show_default=True, help="Port; 0 lets the system choose."
)
@click.option("--triton", metavar="HOST:PORT", help="Use this Triton (gRPC) instead of starting one.")
@click.option(
    "--model-repository",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="Models for the Triton that is started.",
)
@click.option(
    "--engine",
    "engines",
    metavar="DIR",
    multiple=True,
    type=click.Path(path_type=Path),
    help="Serve this trained, imported or optimized engine in place of the shipped one. May be repeated.",
)
@click.option(
    "--admin/--no-admin",
    default=True,
    show_default=True,
    help="Let callers on this machine manage the models with `vivavoce models`.",
)
@click.option(
    "--log-level",
    type=click.Choice(["DEBUG", "INFO", "WARNING", "ERROR"], case_sensitive=False),
    default="INFO",
    show_default=True,
    help="How much is logged.",
)
def serve(
    host: str,
    port: int,
    triton: str | None,
    model_repository: Path | None,
    engines: tuple[Path, ...],
    admin: bool,
    log_level: str,
) -> int:
    """Serve conversations, until interrupted. Prints the address on stdout when ready."""
    if triton and engines:
        raise click.UsageError("Give --engine to the Triton that loads it: leave out --engine or --triton.")
    with extra("serve", "The server"):
        from service.main import ServeOptions, run  # noqa: PLC0415 - integrators install the client alone
    return run(
        ServeOptions(
            host=host,
            port=port,
            triton=triton,
            model_repository=model_repository,
            engines=engines,
            admin=admin,
            log_level=log_level,
        )
    )
