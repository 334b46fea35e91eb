"""The service's log: bounded, counted, and never waited for."""

from __future__ import annotations

import logging
import os
import select
from typing import TYPE_CHECKING

import pytest

from service.telemetry.log_output import MAX_LINE_BYTES, MAX_REPEATS, REPEAT_SECONDS, LineWriter, Repeats, logging_to

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.virtual_time import Clock

logger = logging.getLogger("tests.log_output")


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    reader, writer = os.pipe()
    yield reader, writer
    for descriptor in (reader, writer):
        os.close(descriptor)


def read_all(descriptor: int) -> str:
    said = b""
    while select.select([descriptor], [], [], 0)[0] and (block := os.read(descriptor, 1 << 20)):
        said += block
    return said.decode()


def record(text: str, level: int = logging.WARNING, name: str = "somewhere") -> logging.LogRecord:
    return logging.LogRecord(name, level, __file__, 1, text, None, None)


def test_a_log_that_nobody_reads_holds_nobody_up_and_tells_how_much_was_dropped(pipe: tuple[int, int]):
    reader, writer = pipe
    lines = LineWriter(writer, max_waiting_bytes=100_000)
    for number in range(10_000):
        lines.put(b"%-99d\n" % number)  # a megabyte, where a pipe and the queue take a sixth of it
    said = ""
    while "dropped" not in said:
        assert select.select([reader], [], [], 10)[0]
        said += read_all(reader)
    lines.close()
    said += read_all(reader)
    told = said.splitlines()
    dropped = [line for line in told if line.endswith(" lines of the log were dropped because nobody read it")]
    assert len(told) - len(dropped) + sum(int(line.split()[0]) for line in dropped) == 10_000


def test_a_writer_whose_reader_is_stuck_can_be_closed(pipe: tuple[int, int]):
    lines = LineWriter(pipe[1])
    lines.put(b"x" * 500_000 + b"\n")
    lines.close(seconds=0.01)
    read_all(pipe[0])


def test_a_log_whose_reader_is_gone_is_written_no_more(pipe: tuple[int, int]):
    with logging_to(pipe[1], "INFO") as log:
        os.dup2(os.open(os.devnull, os.O_RDONLY), pipe[0])
        log.write("nobody hears this")


def test_records_of_one_kind_are_counted_instead_of_repeated(clock: Clock):
    repeats = Repeats(clock)
    admitted = [repeats.admit(record(f"peer 10.0.0.{number} sent nonsense")) for number in range(100)]
    assert admitted == [True] * MAX_REPEATS + [False] * (100 - MAX_REPEATS)
    assert repeats.take_due() == []
    clock.seconds += REPEAT_SECONDS
    ((last, count),) = repeats.take_due()
    assert (last.getMessage(), count) == ("peer 10.0.0.99 sent nonsense", 100 - MAX_REPEATS)
    assert repeats.admit(record("peer 10.0.0.1 sent nonsense"))


def test_records_that_differ_are_not_counted_together(clock: Clock):
    repeats = Repeats(clock)
    for number in range(MAX_REPEATS + 1):
        repeats.admit(record("one", name=f"place {number}"))
    assert repeats.admit(record("one", logging.ERROR))
    assert repeats.admit(record("another"))


def test_the_normal_course_of_things_is_always_told(clock: Clock):
    repeats = Repeats(clock)
    assert all(repeats.admit(record("a reply", logging.INFO)) for _ in range(100))


def test_kinds_without_number_take_bounded_memory(clock: Clock):
    repeats = Repeats(clock)
    admitted = sum(repeats.admit(record("x" * (number % 190) + "y" * (number // 190))) for number in range(2_000))
    assert admitted == 256 + MAX_REPEATS
    clock.seconds += REPEAT_SECONDS
    assert [count for _, count in repeats.take_due()] == [2_000 - admitted]


def test_an_exception_is_told_by_its_kind_and_calls_without_its_message(pipe: tuple[int, int]):
    said = "what the caller said"
    with logging_to(pipe[1], "INFO"):
        try:
            int(said)
        except ValueError:
            logger.exception("a call failed")
    log = read_all(pipe[0])
    assert "a call failed" in log
    assert "test_an_exception_is_told_by_its_kind" in log
    assert log.rstrip().endswith("ValueError")
    assert said not in log


def test_what_was_counted_is_told_at_the_end(pipe: tuple[int, int]):
    with logging_to(pipe[1], "INFO"):
        for number in range(MAX_REPEATS + 3):
            logger.warning("request %d was nonsense", number)
    assert f"request {MAX_REPEATS + 2} was nonsense (and 3 more like it within 10 s)\n" in read_all(pipe[0])


def test_a_very_long_record_is_cut(pipe: tuple[int, int]):
    with logging_to(pipe[1], "INFO"):
        logger.info("x" * 50_000)
    assert len(read_all(pipe[0])) == MAX_LINE_BYTES + 1


def test_a_record_that_cannot_be_formatted_ends_nothing(pipe: tuple[int, int], capsys: pytest.CaptureFixture[str]):
    with logging_to(pipe[1], "INFO") as log:
        log.handle(logging.LogRecord("somewhere", logging.ERROR, __file__, 1, "%d", ("no number",), None))
        log.handle(record("afterwards"))
    assert "afterwards" in read_all(pipe[0])
    assert "no number" in capsys.readouterr().err
