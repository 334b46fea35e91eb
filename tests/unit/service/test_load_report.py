"""Load reports on the wire: gRPC's own client keeps them to itself."""

from __future__ import annotations

import asyncio
import base64
import struct
from typing import TYPE_CHECKING

import pytest
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from h2.config import H2Configuration
from h2.connection import H2Connection
from h2.events import DataReceived, ResponseReceived, StreamEnded, TrailersReceived

from service.grpc_server.load_report import LOAD_KEY
from tests.unit.service.harness import Harness, speaking
from vivavoce.v1 import conversation_pb2 as pb

if TYPE_CHECKING:
    from collections.abc import Sequence

    from google.protobuf.message import Message

SERVICE = "/vivavoce.v1.ConversationService"
CONFIG = pb.ConverseRequest(
    config=pb.ConversationConfig(audio=pb.AudioConfig(encoding=pb.AUDIO_ENCODING_LINEAR_PCM, sample_rate_hz=16_000))
)


async def trailers(address: str, method: str, requests: Sequence[Message]) -> dict[str, str]:
    """Makes a call over HTTP/2; returns its trailing metadata."""
    host, port = address.split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    connection = H2Connection(H2Configuration(header_encoding="utf-8"))
    connection.initiate_connection()
    headers = {":method": "POST", ":scheme": "http", ":path": method, ":authority": address}
    headers |= {"content-type": "application/grpc", "te": "trailers"}
    connection.send_headers(1, list(headers.items()))
    for request in requests:
        data = request.SerializeToString()
        connection.send_data(1, struct.pack(">BI", 0, len(data)) + data)
    connection.end_stream(1)
    found: dict[str, str] = {}
    ended = False
    try:
        async with asyncio.timeout(20):
            while not ended:
                writer.write(connection.data_to_send())
                for event in connection.receive_data(await reader.read(65_536)):
                    if isinstance(event, DataReceived):
                        connection.acknowledge_received_data(event.flow_controlled_length, 1)
                    elif isinstance(event, ResponseReceived | TrailersReceived):
                        # A refusal has its status among the headers.
                        found |= dict(event.headers)
                    ended = ended or isinstance(event, StreamEnded)
    finally:
        writer.close()
        await writer.wait_closed()
    return found


def load(trailing: dict[str, str]) -> float:
    """Reads the report with the part of xds.data.orca.v3.OrcaLoadReport that counts here."""
    file = descriptor_pb2.FileDescriptorProto(name="orca.proto", package="xds.data.orca.v3", syntax="proto3")
    message = file.message_type.add(name="OrcaLoadReport")
    for number, name in ((1, "cpu_utilization"), (2, "mem_utilization"), (9, "application_utilization")):
        message.field.add(name=name, number=number, type=descriptor_pb2.FieldDescriptorProto.TYPE_DOUBLE, label=1)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    report = message_factory.GetMessageClass(pool.FindMessageTypeByName("xds.data.orca.v3.OrcaLoadReport"))()
    value = trailing[LOAD_KEY]
    report.ParseFromString(base64.b64decode(value + "=" * (-len(value) % 4)))
    assert [field.name for field, _ in report.ListFields()] == ["application_utilization"]
    return float(report.application_utilization)


async def test_a_stream_ends_with_the_load_of_its_end():
    told: list[float] = []

    def utilization() -> float:
        told.append(0.25 * (len(told) + 1))
        return told[-1]

    async with Harness.running(utilization=utilization) as harness:
        found = await trailers(harness.address, f"{SERVICE}/Converse", [CONFIG, *speaking(0.5)])
    assert found["grpc-status"] == "0"
    assert [load(found)] == told == [0.25]


@pytest.mark.parametrize(("text", "status"), [("hello", "0"), ("", "3")])
async def test_typed_turns_and_refusals_tell_the_load(text: str, status: str):
    async with Harness.running(utilization=lambda: 1.5) as harness:
        found = await trailers(harness.address, f"{SERVICE}/Ask", [pb.AskRequest(text=text)])
    assert found["grpc-status"] == status
    assert ("grpc-status-details-bin" in found) == (status != "0")
    assert load(found) == 1.5


async def test_without_the_option_nothing_is_told():
    async with Harness.running() as harness:
        found = await trailers(harness.address, f"{SERVICE}/Ask", [pb.AskRequest(text="hello")])
    assert found["grpc-status"] == "0"
    assert LOAD_KEY not in found
