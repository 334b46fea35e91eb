"""`vivavoce sip`: telephones call a service without a switch between them."""

from __future__ import annotations

import asyncio
import logging
import re
import signal
from typing import TYPE_CHECKING, Literal, cast

import click

if TYPE_CHECKING:
    from service.telephone.sip_gateway import Line, SipGateway

_LISTEN = re.compile(r"(\[[0-9a-fA-F:.]+\]|[0-9.]+)(?::(\d{1,5}))?")
_REGISTER = re.compile(r"sip:([^\s:@;]+)@([^\s@;]+?)(?:;transport=(udp|tcp|tls))?")
_SERVICE = re.compile(r"(\[[^\s\]]+\]|[^\s:]+):(\d{1,5})")


@click.command()
@click.option(
    "--listen",
    metavar="ADDRESS[:PORT]",
    help="Answer calls to this address of the machine, or register from it; port 5060.",
)
@click.option(
    "--register",
    metavar="sip:USER@HOST",
    help="Answer calls to this account of a registrar; behind it ;transport=tcp or tls. VIVAVOCE_SIP_PASSWORD has its "
    "password.",
)
@click.option("--to", "service", metavar="HOST:PORT", required=True, help="AudioSocket of the service that answers.")
@click.option("--max-calls", type=click.IntRange(1), default=32, show_default=True, help="Calls at a time.")
@click.option("--password", envvar="VIVAVOCE_SIP_PASSWORD", default="", hidden=True)
def sip(listen: str | None, register: str | None, service: str, max_calls: int, password: str) -> None:
    """Answer telephone calls over SIP by a service that has AudioSocket."""
    found = _SERVICE.fullmatch(service)
    if found is None:
        raise click.ClickException(f"{service!r} is no address: give --to HOST:PORT, as `vivavoce serve` prints it")
    if listen is None and register is None:
        raise click.ClickException("calls come from somewhere: give --listen or --register")
    try:
        from baresip import BaresipError  # noqa: PLC0415 - an extra

        from service.telephone.sip_gateway import Line, SipGateway  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise click.ClickException(
            f"SIP needs a package that is not there ({error.name}): install it with `pip install '.[sip]'` in a "
            "checkout of the project"
        ) from error
    place, account = _LISTEN.fullmatch(listen or "0"), _REGISTER.fullmatch(register or "sip:vivavoce@nowhere")
    if place is None:
        raise click.ClickException(f"{listen!r} is no address of this machine: give --listen ADDRESS or ADDRESS:PORT")
    if account is None:
        raise click.ClickException(f"{register!r} is no account: give --register sip:USER@HOST")
    line = Line(
        address=place[1] if listen else "",
        port=int(place[2] or 5060),
        registrar=account[2] if register else "",
        user=account[1],
        password=password,
        transport=cast('Literal["udp", "tcp", "tls"]', account[3] or "udp"),
        max_calls=max_calls,
    )
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("baresip").setLevel(logging.CRITICAL)
    try:
        asyncio.run(_run(SipGateway(found[1].strip("[]"), int(found[2])), line))
    except (BaresipError, OSError, ValueError) as error:
        raise click.ClickException(f"calls cannot be answered: {error}: check the address or the account") from error


async def _run(gateway: SipGateway, line: Line) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    async with gateway.answering(line):
        click.echo(
            f"answering {f'sip:{line.user}@{line.registrar}' if line.registrar else f'{line.address}:{line.port}'}"
        )
        await stop.wait()
