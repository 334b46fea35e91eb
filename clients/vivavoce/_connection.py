"""The connection to a server: its options, and how long it is waited for."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

import grpc

from vivavoce._address import is_local
from vivavoce._errors import ServerUnavailable
from vivavoce._timeout import timeout
from vivavoce.v1.conversation_pb2_grpc import ConversationServiceStub

if TYPE_CHECKING:
    from collections.abc import Callable

    from vivavoce._security import Security

_OPTIONS = (
    # The server says what is too long for it, and how long a message may be.
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", 4 * 1024 * 1024),
    # A peer that vanished without a word is noticed within half a minute, while a conversation is open.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 0),
    ("grpc.http2.max_pings_without_data", 0),  # Also while the caller is silent.
    # A server that comes back is found within half a second. Each client counts its own failures.
    ("grpc.initial_reconnect_backoff_ms", 200),
    ("grpc.max_reconnect_backoff_ms", 400),
    ("grpc.use_local_subchannel_pool", 1),
)
# A proxy that the environment names would look for this machine's servers on its own.
_NO_PROXY = ("grpc.enable_http_proxy", 0)


# The longest backoff, its jitter, and an attempt to reach a server that is near: gRPC does not tell them apart. One
# that is far is reached meanwhile, and found by a later call.
_BACKOFF_SECONDS = 0.6
_FAILED = {grpc.ChannelConnectivity.TRANSIENT_FAILURE, grpc.ChannelConnectivity.SHUTDOWN}

# The generated class is not annotated.
stub: Callable[[grpc.aio.Channel], ConversationServiceStub] = ConversationServiceStub
"""Makes the stub of the service on a channel."""


def open_channel(target: str, security: Security | None = None) -> grpc.aio.Channel:
    """Open a channel to `target` without waiting; in the clear without `security`."""
    options = (*_OPTIONS, _NO_PROXY) if is_local(target) else _OPTIONS
    credentials = security.credentials() if security is not None else None
    if credentials is None:
        channel = grpc.aio.insecure_channel(target, options=options)
    else:
        assert security is not None
        assert security.tls is not None
        if security.tls.server_name:
            options = (*options, ("grpc.ssl_target_name_override", security.tls.server_name))
        channel = grpc.aio.secure_channel(target, credentials, options=options)
    channel.get_state(try_to_connect=True)
    return channel


async def reach(channel: grpc.aio.Channel, target: str, timeout_seconds: float) -> None:
    """Wait until the server is connected.

    An attempt that fails is final: whether to try again is for the caller to decide.

    Raises:
        ServerUnavailable: Nobody listens at the address, or nobody answered within `timeout_seconds`.
    """
    try:
        async with timeout(timeout_seconds):
            reached = await _attempt(channel)
    except TimeoutError:
        raise ServerUnavailable(
            f"The server at {target} did not answer within {timeout_seconds:g} s; check the address and the network."
        ) from None
    if not reached:
        raise ServerUnavailable(
            f"No server answers at {target}; start one with `vivavoce serve`, or name the address of one that runs."
        )


async def _attempt(channel: grpc.aio.Channel) -> bool:
    """Wait for the connection attempt under way, or the next; return its success."""
    state = channel.get_state(try_to_connect=True)
    if state is grpc.ChannelConnectivity.TRANSIENT_FAILURE:
        # An earlier attempt failed. By the end of its backoff there was another one, perhaps too short to be seen.
        with suppress(TimeoutError):
            async with timeout(_BACKOFF_SECONDS):
                await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)
    while state is not grpc.ChannelConnectivity.READY:
        if state in _FAILED:
            return False
        await channel.wait_for_state_change(state)
        state = channel.get_state(try_to_connect=True)
    return True
