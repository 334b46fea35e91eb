"""Errors of the service's own, for every API."""

from __future__ import annotations

from pipelines.data.messages import AwayReason
from pipelines.errors import ErrorKind, ReportedError

SHUTTING_DOWN = "the server shuts down: connect to another one, or again later"


class ServiceError(ReportedError):
    """Root of the errors that the service itself raises."""

    def __init__(self, message: str, retry_seconds: float | None = None) -> None:
        super().__init__(message)
        self.retry_seconds = retry_seconds


class TooManyConversationsError(ServiceError):
    """Every place is taken."""

    kind = ErrorKind.EXHAUSTED
    reason = "TOO_MANY_CONVERSATIONS"

    def __init__(self, limit: int, retry_seconds: float) -> None:
        super().__init__(
            f"all {limit} places for conversations are taken: try again in {retry_seconds:g} s", retry_seconds
        )


class TooManySpeakersError(ServiceError):
    """The open conversations may need all the speech that can be answered in time."""

    kind = ErrorKind.EXHAUSTED
    reason = "TOO_MANY_CONVERSATIONS"

    def __init__(self, limit: float, retry_seconds: float) -> None:
        super().__init__(
            f"the server answers about {limit:.0f} speakers at a time, and its open conversations may need all of "
            f"that: try again in {retry_seconds:g} s",
            retry_seconds,
        )


class FairShareError(ServiceError):
    """Room is short, and the principal holds more than his share of it."""

    kind = ErrorKind.EXHAUSTED
    reason = "FAIR_SHARE"

    def __init__(self, retry_seconds: float) -> None:
        super().__init__(
            "the server is nearly full, and you hold more than your share of its conversations: end one, or try again "
            f"in {retry_seconds:g} s",
            retry_seconds,
        )


class LateRepliesError(ServiceError):
    """Replies to the open conversations come late."""

    kind = ErrorKind.EXHAUSTED
    reason = "TOO_MANY_CONVERSATIONS"

    def __init__(self, retry_seconds: float) -> None:
        super().__init__(
            f"replies are nearly late, so no more conversations are opened: try again in {retry_seconds:g} s",
            retry_seconds,
        )


class TooManyWaitingError(ServiceError):
    """Too many calls wait for their first message."""

    kind = ErrorKind.EXHAUSTED
    reason = "TOO_MANY_WAITING"

    def __init__(self, retry_seconds: float) -> None:
        super().__init__(
            "too many calls wait for their first message, and this one has waited longest: send it together with the "
            f"call, and try again in {retry_seconds:g} s",
            retry_seconds,
        )


class TooManyStreamsError(ServiceError):
    """Too many streams of a method that needs few."""

    kind = ErrorKind.EXHAUSTED
    reason = "TOO_MANY_STREAMS"

    def __init__(self, limit: int, retry_seconds: float) -> None:
        super().__init__(
            f"all {limit} streams of this service are in use: try again in {retry_seconds:g} s", retry_seconds
        )


class TooMuchAudioError(ServiceError):
    """Recordings that are being recognized take all memory that is meant for them."""

    kind = ErrorKind.EXHAUSTED
    reason = "TOO_MUCH_AUDIO"

    def __init__(self, retry_seconds: float) -> None:
        super().__init__(
            f"too many long recordings are being recognized: try again in {retry_seconds:g} s", retry_seconds
        )


class MessageTooLargeError(ServiceError):
    """A request is longer than its method takes."""

    kind = ErrorKind.EXHAUSTED
    reason = "MESSAGE_TOO_LARGE"

    def __init__(self, length: int, limit: int, of: str = "") -> None:
        super().__init__(f"a request has {length:,} bytes{of and f' {of}'}: send at most {limit:,}")


class TooMuchMemoryError(ServiceError):
    """Callers make the service hold as much as it may."""

    kind = ErrorKind.EXHAUSTED
    reason = "TOO_MUCH_MEMORY"

    def __init__(self) -> None:
        super().__init__("many large requests are on their way: send this one in 2 s, and whole", 2.0)


class NotReadyError(ServiceError):
    """The models are not ready, or the server shuts down."""

    kind = ErrorKind.UNAVAILABLE
    reason = "NOT_READY"

    def __init__(self, message: str, retry_seconds: float = 2.0) -> None:
        super().__init__(message, retry_seconds)


class SessionsUnavailableError(ServiceError):
    """The Redis that keeps the sessions of agents does not answer."""

    kind = ErrorKind.UNAVAILABLE
    reason = "SESSIONS_UNAVAILABLE"

    def __init__(self, retry_seconds: float = 2.0) -> None:
        super().__init__(
            f"sessions cannot be opened now: try again in {retry_seconds:g} s, or leave config.session.id out for a "
            "dialog that is not kept",
            retry_seconds,
        )


class IdleStreamError(ServiceError):
    """Idle time-out of a stream whose API has no message for it."""

    kind = ErrorKind.TIMED_OUT
    reason = "IDLE"

    def __init__(self) -> None:
        super().__init__("nothing was sent for too long: open another stream when there is something to say")


class OldStreamError(ServiceError):
    """The stream has lasted as long as one may."""

    kind = ErrorKind.UNAVAILABLE
    reason = "AGE"

    def __init__(self) -> None:
        super().__init__("the stream has lasted as long as one may: open another one, and go on there", 0.0)


def ended_early(reason: AwayReason) -> ServiceError:
    """Return the error of a stream that was ended with unread requests."""
    match reason:
        case AwayReason.IDLE:
            return IdleStreamError()
        case AwayReason.AGE:
            return OldStreamError()
        case AwayReason.SHUTDOWN:
            return NotReadyError(SHUTTING_DOWN)
