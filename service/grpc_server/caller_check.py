"""The check of who calls, before anything that the call sends is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import grpc
from grpc_health.v1 import health_pb2

from service.grpc_server.errors import reported_to
from service.grpc_server.load_report import load_trailer, reporting
from service.security.authentication import UnauthenticatedError
from service.security.principal import acting_for
from service.security.withdrawal import ended_when_withdrawn
from service.telemetry.call_observer import CallObserver, telling

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from service.grpc_server.errors import Context
    from service.security.authentication import Authenticator

    Handler = grpc.RpcMethodHandler[Any, Any]
    Method = Callable[..., Any]  # gRPC's types are those of threads, where methods are coroutines here.

_OPEN_SERVICES = (f"/{health_pb2.DESCRIPTOR.services_by_name['Health'].full_name}/",)
"""Answered without proof: orchestrators ask for health, and cannot send a token."""


class CallerCheck(grpc.aio.ServerInterceptor):
    """Lets a method run for its principal once the caller has proved who he is.

    It stands before :class:`service.grpc_server.message_gate.MessageGate`, which makes all methods take streams: so
    nothing of a call that is refused is read.

    Args:
        authenticator: decides who calls.
        observer: hears of the calls.
        utilization: returns how busy the service is, 1 for all that it can, for reports to balancers; None for none.
    """

    def __init__(
        self,
        authenticator: Authenticator,
        observer: CallObserver | None = None,
        utilization: Callable[[], float] | None = None,
    ) -> None:
        self._authenticator = authenticator
        self._utilization = utilization
        self._observer = observer or CallObserver()
        self._checked: dict[str, Handler] = {}

    async def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], Awaitable[Handler | None]],
        details: grpc.HandlerCallDetails,
    ) -> Handler | None:
        """Return the handler of a method, behind the check."""
        if details.method.startswith(_OPEN_SERVICES):
            return await continuation(details)
        known = self._checked.get(details.method)
        if known is not None:
            return known
        handler = await continuation(details)
        if handler is None:
            return None
        checked = self._check(details.method, handler)
        self._checked[details.method] = checked
        return checked

    def _check(self, name: str, handler: Handler) -> Handler:
        serializers = (handler.request_deserializer, handler.response_serializer)
        if handler.stream_unary:
            return grpc.stream_unary_rpc_method_handler(self._for_principal(name, handler.stream_unary), *serializers)
        if handler.stream_stream:
            stream = self._for_principal(name, handler.stream_stream)
            return grpc.stream_stream_rpc_method_handler(stream, *serializers)
        raise NotImplementedError("the check stands before the message gate, whose methods take streams")

    def _for_principal(self, name: str, method: Method) -> Method:
        async def answer(requests: AsyncIterator[Any], context: Context) -> Any:  # noqa: ANN401 - any response
            metadata = _metadata(context)
            observed = self._observer.serving(name, metadata)
            with telling(self._observer), reporting(self._utilization), observed:
                async with reported_to(context):
                    token = metadata.get("authorization")
                    principal = self._authenticator.authenticate(token, _certificate_name(context))
                with acting_for(principal):
                    try:
                        async with ended_when_withdrawn(principal):
                            response = await method(requests, context)
                    except UnauthenticatedError as error:
                        async with reported_to(context):
                            raise error from None
                if trailer := load_trailer():
                    context.set_trailing_metadata(trailer)
                return response

        return answer


def _metadata(context: Context) -> dict[str, str]:
    """Return the call's metadata, each key with its first value."""
    found: dict[str, str] = {}
    for key, value in context.invocation_metadata() or ():
        found.setdefault(key, value.decode("latin-1") if isinstance(value, bytes) else value)
    return found


def _certificate_name(context: Context) -> str | None:
    """Return the verified name in the caller's certificate; None without.

    It is the first subject alternative name, or else the common name.
    """
    shown = context.auth_context()
    if "x509_pem_cert" not in shown:
        return None
    names = [*shown.get("x509_subject_alternative_name", ()), *shown.get("x509_common_name", ())]
    return next((name.decode("utf-8", "replace") for name in names if name), "a certificate without a name")
