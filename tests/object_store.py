"""A server of S3 in memory, which can be killed, fill up, and answer slowly."""

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from werkzeug.serving import make_server

from tests.servers import free_ports

Environ = dict[str, Any]
FULL = b"<Error><Code>XMinioStorageFull</Code><Message>no space</Message></Error>"


class ObjectStore:
    """A server of S3. Its content outlives a kill. All methods may be called at any time."""

    def __init__(self) -> None:
        self.port = free_ports(1)
        self.is_full = False
        """Whether the server refuses uploads."""
        self.may_answer = threading.Event()
        """Clear: uploads wait until it is set."""
        self.may_answer.set()
        self.uploads = 0
        """Number of uploads that have begun."""
        self._app = DomainDispatcherApplication(create_backend_app)
        self._server: Any = None

    @property
    def url(self) -> str:
        """The endpoint."""
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        """Listen on the same port as before."""
        self._server = make_server(
            "127.0.0.1", self.port, self._answer, threaded=True, request_handler=MotoRequestHandler
        )
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def kill(self) -> None:
        """Stop to listen."""
        self._server.shutdown()
        self._server.server_close()

    def _answer(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        is_upload = environ["REQUEST_METHOD"] == "PUT" and environ["PATH_INFO"].count("/") > 1
        if is_upload:
            self.uploads += 1
            self.may_answer.wait()
        if is_upload and self.is_full:
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            start_response("507 Insufficient Storage", [("Content-Length", str(len(FULL)))])
            return [FULL]
        return self._app(environ, start_response)  # type: ignore[no-any-return]


@contextmanager
def object_store() -> Iterator[ObjectStore]:
    """Run a server, with its address and credentials in the environment."""
    store = ObjectStore()
    store.start()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AWS_ENDPOINT_URL", store.url)
        patch.setenv("AWS_ACCESS_KEY_ID", "name")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
        try:
            yield store
        finally:
            store.may_answer.set()
            store.kill()
