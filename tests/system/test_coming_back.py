"""A fleet with revisits while services are killed, measured at a web server."""

import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, cast

import pytest

from tests.support.waiting import until
from tests.synthweb import SynthWeb

from .assertions import CLOCKS
from .by_hand import of_servers
from .fleet import Fleet, fleet

DELAY, INTERVAL = 0.5, 4.0
CHANGING, HOURLY, STEADY = "/changing", "/hourly", "/steady"
PERIODS = {CHANGING: 2.0, HOURLY: 3600.0, STEADY: 1e12}
"""Path → seconds between two versions of its page."""


class SeenRequest(NamedTuple):
    """A request, as the server saw it."""

    at: float
    path: str
    condition: str
    status: int


class ChangingWeb:
    """One host of pages that change, each at its own pace. It answers conditional requests."""

    nameserver = ""

    def __init__(self, port: int) -> None:
        self.seeds = (f"http://127.0.0.1:{port}/",)
        self.seen_requests: list[SeenRequest] = []

    def requests(self) -> list[SeenRequest]:
        return list(self.seen_requests)

    def answer(self, path: str, condition: str) -> tuple[int, str, bytes]:
        """Return status, tag and body, and record the request."""
        at, tag, status, body = time.time(), "", 404, b""
        if path == "/":
            status = 200
            body = "".join(f"<p><a href='{page}'>page</a></p>" for page in PERIODS).encode()
        elif path in PERIODS:
            version = int(at // PERIODS[path])
            tag, body = f'"{version}"', f"<h1>{path}</h1><p>Version {version} of it.</p>".encode()
            status = 304 if condition == tag else 200
        self.seen_requests.append(SeenRequest(at, path, condition, status))
        return status, tag, b"" if status == 304 else body

    def of(self, path: str) -> list[SeenRequest]:
        return [one for one in self.requests() if one.path == path]


@contextmanager
def changing_web() -> Iterator[ChangingWeb]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            status, tag, body = web.answer(self.path, self.headers.get("If-None-Match", ""))
            self.send_response(status)
            self.send_header("Content-Type", "text/html")
            if tag:
                self.send_header("ETag", tag)
            if status != 304:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web = ChangingWeb(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()


def more_visits(web: ChangingWeb, live_fleet: Fleet, count: int) -> None:
    before = {path: len(web.of(path)) for path in PERIODS}
    until(
        lambda: all(len(web.of(path)) >= before[path] + count for path in PERIODS),
        f"{count} more visits to each page",
    )


@pytest.mark.long  # tests/flow/test_coming_back.py is the same test in virtual time.
def test_pages_are_revisited_at_their_interval_through_kills(
    tmp_path: Path, kafka: str, cassandra: int
) -> None:
    settings = {
        **of_servers(kafka, cassandra),
        "GOSSAMER_FRONTIER__DELAY": str(DELAY),
        "GOSSAMER_FRONTIER__LEASE_SLACK": "2",
        "GOSSAMER_FETCHER__VISIT_LIMIT": "4",
        "GOSSAMER_CRAWL__REVISIT": f"fixed:{INTERVAL:.0f}s",
    }
    with (
        changing_web() as web,
        fleet(cast("SynthWeb", web), tmp_path, 1, **settings) as live_fleet,
    ):
        live_fleet.seed()
        more_visits(web, live_fleet, 4)
        for service in ("frontier", "fetcher", "dedup", "parser"):
            [member] = live_fleet.of(service)
            member.kill()
            member.start()
            more_visits(web, live_fleet, 2)
        verdicts_arrived(web, live_fleet)
        done = live_fleet.gossamer("seed", "--revisit", "none")
        assert done.code == 0, done
        until(live_fleet.idle, "the end of all visits")


def verdicts_arrived(web: ChangingWeb, live_fleet: Fleet) -> None:
    gaps = [later.at - one.at for one, later in pairwise(sorted(web.requests()))]
    assert min(gaps) >= DELAY - CLOCKS
    statuses = defaultdict(set)
    for path in PERIODS:
        again = web.of(path)[1:]
        statuses[path] = {one.status for one in again}
        assert all(later.at - one.at > 0.8 * INTERVAL for one, later in pairwise(again[:3]))
    assert statuses[STEADY] >= {304} and 200 in statuses[CHANGING]
    url = f"{web.seeds[0][:-1]}{CHANGING}"
    done = live_fleet.gossamer("history", url)
    assert done.code == 0 and done.out.count("changed") >= 2, done
    why = live_fleet.gossamer("why", "--verbose", url)
    assert "next visit" in why.out and f"every {INTERVAL:.0f} s" in why.out, why
    status = live_fleet.gossamer("status")
    assert "fixed" in status.out, status
