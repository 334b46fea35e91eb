"""A service whose log nobody reads."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

import grpc

import vivavoce
from service.processes.child_process import SERVE, start, stop, wait_for_address

MALFORMED_CHECKS = 500
DOCUMENT = "The museum opens at nine."


async def test_a_service_answers_and_stops_while_nobody_reads_its_log(triton_address: str):
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    while True:
        try:
            os.write(writer, b"." * 4096)
        except BlockingIOError:
            break
    os.set_blocking(writer, True)
    with os.fdopen(writer, "wb") as log:
        serve = [*SERVE, "--triton", triton_address, "--max-conversations", "8", "--log-level", "DEBUG"]
        process = start([sys.executable, *serve], log)
    try:
        address = await asyncio.to_thread(wait_for_address, process)
        assert address is not None
        async with grpc.aio.insecure_channel(address) as channel:
            check = channel.unary_unary("/grpc.health.v1.Health/Check")
            answers = await asyncio.gather(
                *(check(b"\xff\xff", timeout=20) for _ in range(MALFORMED_CHECKS)), return_exceptions=True
            )
        assert {answer.code() for answer in answers} == {grpc.StatusCode.INVALID_ARGUMENT}
        async with vivavoce.connect(address) as client:
            reply = await client.ask("When does the museum open?", documents=[DOCUMENT])
        assert reply.answer is not None
        assert reply.answer.text == "nine"
        process.send_signal(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait, 30) == 0
    finally:
        stop(process)
        os.close(reader)
