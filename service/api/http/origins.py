"""Origins of web pages that may call: the service's own, and configured ones."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from service.addresses import names_a_machine
from service.api.http.problems import ForeignHostError, ForeignOriginError

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping


class OriginPolicy:
    """Decides which pages may call.

    Args:
        allowed: origins, such as ``https://kiosk.example.org``; ``*`` for every one.
        trusts_hosts: whether the name by which a page reaches the service is beyond doubt, because callers prove who
            they are. Otherwise it must be an address or ``localhost``: any name can be made to lead here (DNS
            rebinding).
        is_local: whether the service listens for this machine alone. Then nobody else has a name for it, and calls
            under one are refused even without ``origin``, which pages leave out where they only read.
    """

    def __init__(self, allowed: Collection[str] = (), *, trusts_hosts: bool = False, is_local: bool = False) -> None:
        self._allowed = frozenset(origin.rstrip("/").lower() for origin in allowed)
        self._trusts_hosts = trusts_hosts
        self._checks_hosts = is_local and not trusts_hosts and "*" not in self._allowed
        self._hosts = frozenset(urlsplit(origin).netloc for origin in self._allowed)

    def check(self, headers: Mapping[str, str]) -> None:
        """Check a call with these headers, by lower-case names.

        Raises:
            ForeignOriginError: it comes from a page that may not call.
        """
        if not self.allows(headers):
            raise ForeignOriginError

    def check_host(self, headers: Mapping[str, str]) -> None:
        """Check the name by which a call reaches the service.

        Raises:
            ForeignHostError: nobody has given the service this name.
        """
        host = headers.get("host", "").lower()
        if self._checks_hosts and host not in self._hosts and not names_a_machine(host):
            raise ForeignHostError

    def allows(self, headers: Mapping[str, str]) -> bool:
        """Return whether a call with these headers may be served, by its ``origin``."""
        origin = headers.get("origin")
        if origin is None:
            return True
        origin = origin.rstrip("/").lower()
        if "*" in self._allowed or origin in self._allowed:
            return True
        return self._is_own(origin, headers.get("host", "").lower())

    def _is_own(self, origin: str, host: str) -> bool:
        try:
            shown = urlsplit(origin)
            name = shown.hostname or ""
        except ValueError:
            return False
        if shown.scheme not in {"http", "https"} or not host or shown.netloc != host:
            return False
        return self._trusts_hosts or names_a_machine(f"[{name}]")
