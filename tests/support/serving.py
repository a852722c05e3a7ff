"""A web server in a thread of the test, whose answers the test decides."""

import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

HTML = "text/html"


class Sent(NamedTuple):
    """An answer."""

    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = {"Content-Type": HTML}


NOTHING = Sent(status=404)


@contextmanager
def serving(
    answer: Callable[[str], Sent], port: int = 0, context: ssl.SSLContext | None = None
) -> Iterator[str]:
    """Serve what *answer* returns for the target of a GET request; yield the host, as a URL without
    a path. *context* is that of TLS."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            sent = answer(self.path)
            self.send_response(sent.status)
            for name, value in sent.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(sent.body)))
            self.end_headers()
            self.wfile.write(sent.body)

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    with ThreadingHTTPServer(("127.0.0.1", port), Handler) as server:
        if context:
            server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield f"http{'s' if context else ''}://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()
