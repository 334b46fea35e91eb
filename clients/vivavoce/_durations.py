"""Durations in messages."""

from __future__ import annotations

from google.protobuf import duration_pb2


def duration_of(seconds: float) -> duration_pb2.Duration:
    """Write seconds as a duration, to the nanosecond."""
    duration = duration_pb2.Duration()
    duration.FromNanoseconds(round(seconds * 1_000_000_000))
    return duration
