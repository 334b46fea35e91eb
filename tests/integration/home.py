"""A stand-in of Home Assistant: keeps what is called, and says that it was done."""

from __future__ import annotations

import contextlib
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

TOKEN = "a-long-lived-token"


class Home(ThreadingHTTPServer):
    """Listens on a port of the loopback.

    Attributes:
        called: path and body of each call that came with the token.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.called: list[tuple[str, Any]] = []

    def environment(self) -> dict[str, str]:
        """Returns what a service is told of it by."""
        return {"HOME_ASSISTANT_URL": f"http://127.0.0.1:{self.server_port}", "HOME_ASSISTANT_TOKEN": TOKEN}


class Handler(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Home)
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        is_known = self.headers["Authorization"] == f"Bearer {TOKEN}"
        if is_known:
            self.server.called.append((self.path, body))
        self.send_response(200 if is_known else 401)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"[]")

    def log_message(self, *_: object) -> None:
        pass


@contextlib.contextmanager
def keeping_house() -> Iterator[Home]:
    """Runs one while the body runs."""
    with Home() as home:
        thread = threading.Thread(target=home.serve_forever)
        thread.start()
        yield home
        home.shutdown()
        thread.join()
