"""Hosts that fail as a whole: one answers with server errors only, one stops the fetcher."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import cast

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb

from .by_hand import of_servers
from .crawl import CONTACT, GOSSAMER, LOOPBACK, run
from .fleet import fleet

URLS = 60
PAGES = 5
KILLER = "/killer"


class Web:
    """One host; *answer* returns status and body for a path."""

    nameserver = ""

    def __init__(self, port: int) -> None:
        self.host = f"http://127.0.0.1:{port}"
        self.seeds: tuple[str, ...] = (f"{self.host}/",)
        self.requested: list[str] = []

    def requests(self) -> list[str]:
        """Return the paths of all requests so far."""
        return list(self.requested)


@contextmanager
def serving(answer: Callable[[str], tuple[int, str]]) -> Iterator[Web]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            web.requested.append(self.path)
            status, body = (404, "") if self.path == "/robots.txt" else answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web = Web(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.long
def test_host_with_server_errors_only_is_not_asked_for_each_of_its_urls(tmp_path: Path) -> None:
    data = ["--data", str(tmp_path / "data")]
    with serving(lambda path: (500, "out of order")) as web:
        seeds = [f"{web.host}/{number}" for number in range(URLS)]
        manners = ["--contact", CONTACT, "--delay", "0.01", "--revisit", "none", *LOOPBACK]
        done = run([GOSSAMER, "crawl", *data, *manners, *seeds])
    assert done.code == 3, "only a host that backs off is left"
    pages = [path for path in web.requested if path != "/robots.txt"]
    assert 4 <= len(pages) <= 10, "one order, which was made before the fourth failure"
    hosts = run([GOSSAMER, "hosts", *data])
    assert "backing off until" in hosts.out and web.host in hosts.out


@pytest.mark.long  # tests/simulation/test_killers.py is the same test in virtual time.
def test_page_that_stops_the_fetcher_is_given_up_and_the_others_are_visited(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = {
        **of_servers(kafka, cassandra),
        "GOSSAMER_FRONTIER__DELAY": "0.2",
        "GOSSAMER_FRONTIER__LEASE_SLACK": "2",
        "GOSSAMER_FRONTIER__EXPIRED_WAIT": "1",
        "GOSSAMER_FETCHER__VISIT_LIMIT": "4",
    }
    is_stopped = threading.Event()

    def answer(path: str) -> tuple[int, str]:
        if path == KILLER:
            [fetcher] = live_fleet.of("fetcher")
            fetcher.kill()
            is_stopped.set()
            return 200, ""
        links = "".join(f"<p><a href='/{n}'>page</a>" for n in range(PAGES))
        return 200, f"<title>{path}</title><a href='{KILLER}'>there</a>{links}<p>Page {path}."

    with (
        serving(answer) as web,
        fleet(cast("SynthWeb", web), tmp_path, 1, **settings) as live_fleet,
    ):
        live_fleet.seed()

        def is_over() -> bool:
            if is_stopped.is_set():
                is_stopped.clear()
                [fetcher] = live_fleet.of("fetcher")
                fetcher.start()
            return set(web.requested) >= {f"/{n}" for n in range(PAGES)} and live_fleet.idle()

        until(is_over, "the end of all visits")
        why = live_fleet.gossamer("why", f"{web.host}{KILLER}")
    assert web.requested.count(KILLER) == 3
    assert "leases" in why.out
