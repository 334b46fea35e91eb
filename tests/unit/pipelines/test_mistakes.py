"""Errors that nothing catches, in a loop as the service has it."""

from __future__ import annotations

import asyncio
import gc

import pytest

from pipelines.unexpected_errors import log_unhandled


async def fail(words: str) -> None:
    raise KeyError(words)


async def in_a_callback(loop: asyncio.AbstractEventLoop) -> None:
    loop.call_soon({}.pop, "secret")
    await asyncio.sleep(0.01)


async def in_a_task(loop: asyncio.AbstractEventLoop) -> None:
    task = loop.create_task(fail("secret"))
    await asyncio.wait((task,))
    del task
    gc.collect()


@pytest.mark.parametrize("happens", [in_a_callback, in_a_task])
async def test_what_nothing_catches_is_logged_without_its_words(happens, caplog: pytest.LogCaptureFixture):
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(log_unhandled)
    await happens(loop)
    assert "a task or a callback failed for an unforeseen reason: KeyError" in caplog.text
    assert "secret" not in caplog.text


async def test_what_is_no_error_is_told_as_ever(caplog: pytest.LogCaptureFixture):
    loop = asyncio.get_running_loop()
    log_unhandled(loop, {"message": "a transport was not closed"})
    assert "a transport was not closed" in caplog.text
