"""Errors of the client.

    VivavoceError
     ├── ServerUnavailable     nobody answers at the address, or the connection was lost
     ├── ResponseOverdue       the server is connected, but silent for too long
     ├── ServerError           the server said no; `code` and `reason` tell programs why
     │    ├── InvalidRequest   a field of the request is wrong; `field` names it
     │    ├── Overloaded       the server is full; `retry_after_seconds` tells when to come back
     │    ├── AccessDenied     the server does not know the caller, or does not allow this
     │    ├── Incompatible     the server does not offer this: it is another version, or another service
     │    └── ServerFailed     the server has a fault of its own
     ├── NotAudio              a file that holds no audio that can be streamed
     ├── MicrophoneUnavailable no device, or none that records
     └── SpeakerUnavailable    no device, or none that plays

The text of every error is a sentence for people that says what to do. `retryable` tells programs whether the same
request may succeed later; it is decided where the error is made, never by looking at its type.
"""

# ruff: noqa: N818 - errors are named by what happened, as in the tree above.

from __future__ import annotations


class VivavoceError(Exception):
    """Something went wrong in a call to Vivavoce."""

    def __init__(self, message: str, *, retryable: bool = False) -> None:
        super().__init__(message)
        self.message = message
        self.retryable = retryable


class ServerUnavailable(VivavoceError):
    """Server not reachable, connection lost, or service not possible at the moment.

    Attributes:
        reason: What happened, for programs, where the server itself said so; otherwise "".
        retry_after_seconds: How long to wait before trying again; None when nobody said.
    """

    def __init__(self, message: str, *, reason: str = "", retry_after_seconds: float | None = None) -> None:
        super().__init__(message, retryable=True)
        self.reason = reason
        self.retry_after_seconds = retry_after_seconds


class ResponseOverdue(VivavoceError):
    """The server is connected, but did not answer in time."""

    def __init__(self, message: str) -> None:
        super().__init__(message, retryable=True)


class ServerError(VivavoceError):
    """The server refused a request or failed to serve it.

    Attributes:
        code: Name of the gRPC status, such as `INVALID_ARGUMENT`.
        reason: What happened, for programs: a reason listed in docs/errors.md, or "" when the server gave none.
    """

    def __init__(self, message: str, *, code: str, reason: str = "", retryable: bool = False) -> None:
        super().__init__(message, retryable=retryable)
        self.code = code
        self.reason = reason


class InvalidRequest(ServerError):
    """A field of the request is wrong.

    Raised for what the server refuses, and for what cannot even be sent to it.

    Attributes:
        field: Path of the field as in the protocol, such as `config.audio.sample_rate_hz`; "" when it is not known.
    """

    def __init__(self, message: str, *, field: str = "", reason: str = "", code: str = "INVALID_ARGUMENT") -> None:
        super().__init__(message, code=code, reason=reason)
        self.field = field


class Overloaded(ServerError):
    """The server has no room for the request now.

    Attributes:
        retry_after_seconds: How long to wait before asking again; None when the server did not say.
    """

    def __init__(self, message: str, *, code: str, reason: str = "", retry_after_seconds: float | None = None) -> None:
        super().__init__(message, code=code, reason=reason, retryable=True)
        self.retry_after_seconds = retry_after_seconds


class AccessDenied(ServerError):
    """The server does not know the caller, or does not allow the request."""


class Incompatible(ServerError):
    """Function that the server does not offer: another version, or another service."""


class ServerFailed(ServerError):
    """The server has a fault of its own."""


class NotAudio(VivavoceError):
    """A file that holds no audio that can be streamed."""


class MicrophoneUnavailable(VivavoceError):
    """There is no such microphone, or it cannot be opened, or it has stopped."""


class SpeakerUnavailable(VivavoceError):
    """There is no such loudspeaker, or it cannot be opened."""
