"""TLS of gRPC and HTTP, with certificates that may change at run time."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import grpc

from service.security.watched_file import UnusableFileError, WatchedFiles

if TYPE_CHECKING:
    from service.security.tls_files import TlsFiles


def server_credentials(files: TlsFiles) -> grpc.ServerCredentials:
    """Return one server's credentials; the first server gets the first certificates.

    Handshakes after a change of the files have the new ones.

    Raises:
        OSError: a file cannot be read.
        UnusableFileError: certificate and key do not go together, or are none.
    """
    watched = WatchedFiles(files.paths, lambda: _read(files))
    last = first = watched.get()

    def fetch() -> grpc.ServerCertificateConfiguration | None:
        """Return what has changed. gRPC asks at each handshake, from threads of its own."""
        nonlocal last
        now = watched.get()
        if now is last:
            return None
        last = now
        return now

    return grpc.dynamic_ssl_server_credentials(
        first,
        fetch,  # type: ignore[arg-type]  # None says that nothing has changed, which the stubs do not know
        require_client_authentication=files.client_ca is not None,
    )


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """Return an asyncio TLS context; new handshakes use changed files.

    Raises:
        OSError: a file cannot be read.
        UnusableFileError: certificate and key do not go together, or are none.
    """
    watched = WatchedFiles(files.paths, lambda: _context(files))
    context = watched.get()

    def choose(handshake: ssl.SSLObject, _: str | None, __: ssl.SSLContext) -> None:
        now = watched.get()
        if handshake.context is not now:
            handshake.context = now

    # OpenSSL asks whether or not a name was sent.
    context.sni_callback = choose
    return context


def _read(files: TlsFiles) -> grpc.ServerCertificateConfiguration:
    # gRPC would refuse each handshake without a word, so OpenSSL looks first.
    _context(files)
    authorities = None if files.client_ca is None else files.client_ca.read_bytes()
    pair = (files.key.read_bytes(), files.cert.read_bytes())
    return grpc.ssl_server_certificate_configuration([pair], root_certificates=authorities)


def _context(files: TlsFiles) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.set_alpn_protocols(["http/1.1"])
    try:
        context.load_cert_chain(files.cert, files.key, password=_no_password)
    except ssl.SSLError as error:
        raise UnusableFileError(
            f"{files.cert} and {files.key} are no certificate and its key in PEM ({error.reason}): check both files"
        ) from error
    if files.client_ca is not None:
        try:
            context.load_verify_locations(files.client_ca)
        except ssl.SSLError as error:
            raise UnusableFileError(
                f"{files.client_ca} holds no certificate in PEM ({error.reason}): check it"
            ) from error
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _no_password() -> bytes:
    """Have OpenSSL fail at an encrypted key, instead of asking the terminal."""
    return b""
