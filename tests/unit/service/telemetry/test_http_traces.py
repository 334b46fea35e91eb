"""Traces of calls over HTTP and WebSockets."""

from __future__ import annotations

import asyncio

import pytest

from service.telemetry.traces import Traces, otlp_exporter
from tests.unit.service.http.port import ROUTES
from tests.unit.service.http.running import client, running
from tests.unit.service.telemetry.collector import attributes, collecting

TRACE = "0af7651916cd43dd8448eb211c80319c"
PARENT = "b7ad6b7169203331"


@pytest.fixture
def traceparent() -> dict[str, str]:
    return {"traceparent": f"00-{TRACE}-{PARENT}-01"}


async def test_a_call_is_below_the_caller_s_trace_and_named_by_its_route(traceparent: dict[str, str]):
    with collecting() as (collector, url):
        traces = Traces(otlp_exporter(url))
        async with running(ROUTES, observer=traces) as server, client(server) as session:
            await (await session.get("/whoami", headers=traceparent)).read()
            await (await session.get("/fail?how=input")).read()
            await (await session.get("/my-name-is-smith")).read()
            async with session.ws_connect("/echo", headers=traceparent):
                pass
        await asyncio.to_thread(traces.close)
    (call,) = collector.named("GET /whoami")
    assert (call.trace_id.hex(), call.parent_span_id.hex()) == (TRACE, PARENT)
    assert attributes(call) == {"http.request.method": "GET", "http.route": "/whoami"}
    (socket,) = collector.named("WEBSOCKET /echo")
    assert socket.trace_id.hex() == TRACE
    (failed,) = collector.named("GET /fail")
    assert attributes(failed)["vivavoce.reason"] == "EMPTY_AUDIO"
    assert not any("smith" in str(span) or "recording is empty" in str(span) for span in collector.spans)
