"""Diagnosis of an unreachable Triton."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

import tritonclient.grpc.aio as triton
from tritonclient.utils import InferenceServerException

from pipelines.models.triton.channel import channel_options, split

if TYPE_CHECKING:
    from collections.abc import Awaitable

_CONNECT_SECONDS = 3.0
_ANSWER_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """Finding at Triton's address.

    Attributes:
        text: one sentence, with the cure.
        is_hopeless: whether waiting cannot help.
    """

    text: str
    is_hopeless: bool = False


async def diagnose(address: str) -> Diagnosis | None:
    """Look for a Triton at ``host:port`` or ``unix:path``; None if one answers."""
    try:
        async with asyncio.timeout(_CONNECT_SECONDS):
            await _connect(address)
    except TimeoutError:
        return Diagnosis(f"Triton at {address} does not take connections: see whether a firewall is between")
    except socket.gaierror as error:
        return Diagnosis(f"the host of Triton's address {address} is not known ({error.strerror}): check its name")
    except OSError as error:
        return Diagnosis(_refusal(address, error))
    return await _ask(address)


async def _connect(address: str) -> None:
    if address.startswith("unix:"):
        path = address.removeprefix("unix:").removeprefix("//")
        opening: Awaitable[tuple[object, asyncio.StreamWriter]] = asyncio.open_unix_connection(path)
    else:
        opening = asyncio.open_connection(*split(address))
    _, writer = await opening
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()


def _refusal(address: str, error: OSError) -> str:
    if error.errno == errno.EACCES:
        return f"Triton's socket {address} is another user's: run the service as the user that Triton runs as"
    if error.errno == errno.ENOENT:
        return f"there is no socket of Triton at {address}: start Triton, or check the path"
    if error.errno == errno.ECONNREFUSED:
        return f"nothing listens at Triton's address {address}: start Triton there, or check the address"
    return f"Triton at {address} cannot be reached ({error.strerror or error}): check the address"


async def _ask(address: str) -> Diagnosis | None:
    """Ask whatever takes connections at an address whether it is a Triton."""
    async with triton.InferenceServerClient(address, channel_args=channel_options(address)) as client:
        try:
            found = await client.get_server_metadata(client_timeout=_ANSWER_SECONDS)
        except InferenceServerException as error:
            return _no_triton(address, error)
    if "triton" in found.name.lower():
        return None
    return Diagnosis(f"what listens at {address} is {found.name!r}, not Triton: check the address", is_hopeless=True)


def _no_triton(address: str, error: InferenceServerException) -> Diagnosis:
    said = error.message() or ""
    if error.status() == "StatusCode.UNIMPLEMENTED":
        text = f"what listens at {address} is a gRPC server, but no Triton: name Triton's gRPC address"
        return Diagnosis(text, is_hopeless=True)
    if "http1" in said:
        text = f"what listens at {address} speaks HTTP/1: name Triton's gRPC port (8001 unless chosen otherwise)"
        return Diagnosis(text, is_hopeless=True)
    return Diagnosis(f"what listens at {address} does not answer as Triton does: check the address, or start it again")
