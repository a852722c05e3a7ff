"""The HTTP API of a folder, and its clients."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import uvicorn
from litestar import Litestar
from litestar.testing import TestClient

from gossamer.console.api.app import make_app
from gossamer.console.api.hosts_index import Place
from gossamer.console.api.slow_clients import Protocol
from gossamer.console.api.tokens import Tokens
from gossamer.console.listening import listen
from gossamer.inspection.crawls.crawl import open_crawl
from gossamer.settings import ApiSettings

PORT = 8080
BASE = f"http://127.0.0.1:{PORT}"
TOKEN = "a-token-of-the-tests"
Client = TestClient[Any]
MANY = 1e6
"""Requests a second: no limit for tests of other things."""


def make_api(
    data: Path, tokens: Tokens | None = None, port: int = PORT, **settings: Any
) -> Litestar:
    """Return the application for the folder *data*, with TOKEN for an admin."""
    given = ApiSettings(**{"reads": MANY, "changes": MANY, **settings})
    return make_app(
        lambda: open_crawl(None, data), Place(data), given, tokens or Tokens(generated=TOKEN), port
    )


@contextmanager
def client_of(app: Litestar, token: str | None = TOKEN) -> Iterator[Client]:
    """Serve *app* in the block to a client that has *token*."""
    with TestClient(app, BASE) as client:
        if token:
            client.headers["Authorization"] = f"Bearer {token}"
        yield client


@contextmanager
def serving(data: Path, tokens: Tokens | None = None, **settings: Any) -> Iterator[str]:
    """Serve the folder *data* to real connections in the block; return the URL."""
    with listen(0) as listener:
        port = listener.getsockname()[1]
        app = make_api(data, tokens, port, **settings)
        config = uvicorn.Config(
            app, http=Protocol, log_level="error", access_log=False, timeout_graceful_shutdown=1
        )
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"http://127.0.0.1:{port}"
        finally:
            server.should_exit = True
            thread.join()
