"""What a refusal tells the caller."""

from __future__ import annotations

import grpc
from google.rpc import error_details_pb2
from grpc_status import rpc_status

from service.grpc_server.errors import DOMAIN


def details_of(error: grpc.RpcError) -> dict[str, object]:
    status = rpc_status.from_call(AsCall(error))
    found = {}
    for packed in status.details:
        kind = getattr(error_details_pb2, packed.TypeName().split(".")[-1])
        found[kind.__name__] = kind.FromString(packed.value)
    return found


class AsCall:
    """What ``rpc_status.from_call`` reads of a call."""

    def __init__(self, error: grpc.RpcError) -> None:
        self.code, self.details, self.trailing_metadata = error.code, error.details, error.trailing_metadata


def assert_refused(error: grpc.RpcError, reason: str, field: str) -> None:
    assert error.code() is grpc.StatusCode.INVALID_ARGUMENT
    details = details_of(error)
    info, bad = details["ErrorInfo"], details["BadRequest"]
    assert (info.reason, info.domain) == (reason, DOMAIN)
    assert [violation.field for violation in bad.field_violations] == [field]
    assert len(error.details()) > 20
