"""Health probe: ``python -m service.grpc_server.probe [HOST:PORT]``.

With ``--alive`` it is enough that the service answers, whatever it says. It is asked at the address itself, whatever
proxy the environment names.
"""

from __future__ import annotations

import sys

import grpc
from grpc_health.v1 import health_pb2

_TIMEOUT_SECONDS = 2.0
_OPTIONS = (("grpc.enable_http_proxy", 0),)


def serves(address: str, *, alive: bool = False) -> bool:
    """Return whether a service is SERVING; with ``alive``, whether it answers."""
    with grpc.insecure_channel(address, options=_OPTIONS) as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            health_pb2.HealthCheckRequest.SerializeToString,
            health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = check(health_pb2.HealthCheckRequest(), timeout=_TIMEOUT_SECONDS)
        except grpc.RpcError:
            return False
    return alive or bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


if __name__ == "__main__":
    addresses = [argument for argument in sys.argv[1:] if argument != "--alive"]
    sys.exit(0 if serves((addresses or ["127.0.0.1:50051"])[0], alive="--alive" in sys.argv) else 1)
