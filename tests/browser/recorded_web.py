"""A server whose hosts have more pages than a test needs, with a record of all requests.

It answers at all addresses 127.0.0.N of one port, so each address is a host and a site.
"""

import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import NamedTuple

from .hostile import serving_in_thread

PAGES = 2000
"""Pages of each host, all linked from its seed."""
FEW_PAGES = 5
WORDS = 120


class Request(NamedTuple):
    """A request for a page; those for robots.txt are not recorded."""

    at: float
    """Seconds of a steady clock."""
    host: str
    """127.0.0.N"""
    path: str


@dataclass
class RecordedWeb:
    """The running server."""

    port: int = 0
    outside: str = ""
    """The address of another server, to which the page `/outside` links and has a form."""
    small: int = 0
    """The host with FEW_PAGES, where no page waits long."""
    requests: list[Request] = field(default_factory=list)

    def host(self, number: int) -> str:
        """Return the key of host *number*."""
        return f"http://127.0.0.{number}:{self.port}"

    def times(self, number: int, path: str = "", start: int = 0) -> list[float]:
        """Return the times of requests to host *number*, or of those for *path*, in order; *start*
        skips the first requests to all hosts."""
        name = f"127.0.0.{number}"
        return [
            one.at
            for one in self.requests[start:]
            if one.host == name and (not path or one.path == path)
        ]

    def count(self, number: int, path: str = "") -> int:
        """Return the number of requests to host *number*, or of those for *path*."""
        return len(self.times(number, path))

    def others(self, number: int) -> int:
        """Return the number of requests to other hosts than *number*."""
        return len(self.requests) - self.count(number)


def _page(web: RecordedWeb, host: str, path: str) -> tuple[int, str]:
    if path == "/broken":
        return 404, "<title>Not here</title><p>There is no such page."
    words = random.Random(f"{host}{path}")
    text = " ".join(f"w{words.randrange(50_000)}" for _ in range(WORDS))
    pages = FEW_PAGES if host == f"127.0.0.{web.small}" else PAGES
    links = [] if path != "/" else ["/broken", "/hidden/page", *(f"/p/{n}" for n in range(pages))]
    listed = "".join(f'<li><a href="{link}">{link}</a>' for link in links)
    away = (
        f'<a id="away" href="{web.outside}/click">leave</a><form action="{web.outside}/form">'
        f'<button>send</button></form><img src="{web.outside}/image" alt="picture">'
    )
    extra = away if path == "/outside" else ""
    return 200, (
        f"<!doctype html><html lang=en><title>Page {path} of {host}</title><h1>Page {path}</h1>"
        f"<p>{text}.</p>{extra}<ul>{listed}</ul>"
    )


def _handler(web: RecordedWeb) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            host = self.headers.get("Host", "").partition(":")[0]
            if self.path == "/robots.txt":
                status, text = 404, ""
            else:
                web.requests.append(Request(time.monotonic(), host, self.path))
                status, text = _page(web, host, self.path)
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Print nothing."""

    return Handler


@contextmanager
def recorded_web(outside: str, small: int) -> Iterator[RecordedWeb]:
    """Serve the web within the block."""
    web = RecordedWeb(outside=outside, small=small)
    server = ThreadingHTTPServer(("0.0.0.0", 0), _handler(web))
    server.daemon_threads = True
    web.port = server.server_port
    with serving_in_thread(server):
        yield web
