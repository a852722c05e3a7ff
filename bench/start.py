"""CPU of a crawl before its first request and while it waits, and the latency of commands.

    .venv/bin/python -m bench.start [--gossamer .venv/bin/gossamer] [--runs 5] [--settle 60]
                                    [--seconds 30]

A server on loopback has ten pages. *start* is the CPU of all processes of `gossamer crawl` until
the first request reaches that server. *commands* are timed on the folder of that crawl. *idle* is a
crawl with `--revisit fixed:1d` that visited everything `--settle` seconds ago: its CPU in
`--seconds` seconds, and the memory of all its processes. CPU depends little on other processes;
wall-clock time depends on them. `--gossamer` names the command of another tree, for a comparison.
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.processes import cpu, family

PAGES = 10
START_TIMEOUT = 120.0
COMMANDS = ("status", "why", "history", "pages")
OF_A_URL = ("why", "history")


class Site(ThreadingHTTPServer):
    """A home page that links to the other pages, and a counter of requests for pages."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.url = f"http://127.0.0.1:{self.server_address[1]}/"
        self.paths = list[str]()
        self.on_first: Callable[[], None] = lambda: None


class Answer(BaseHTTPRequestHandler):
    """One request."""

    server: Site

    def do_GET(self) -> None:
        """Answer any path with a page, and robots.txt with 404."""
        if not self.server.paths:
            self.server.on_first()
        self.server.paths.append(self.path)
        links = "".join(f"<a href='/{number}'>page</a>" for number in range(1, PAGES))
        body = f"<title>{self.path}</title><p>{self.path} {links}".encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def crawl(
    gossamer: str, site: Site, folder: Path, *options: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a crawl of *site* into *folder* within a block."""
    command = [gossamer, "crawl", "--data", str(folder), "--contact", "bench@example.org"]
    command += ["--allow-network", "127.0.0.0/8", "--delay", "0.05", "--quiet", *options, site.url]
    with subprocess.Popen(command, env=environment()) as process:
        try:
            yield process
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(START_TIMEOUT)


@contextmanager
def serving() -> Iterator[Site]:
    """Serve the site within a block."""
    with Site() as site:
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        yield site
        site.shutdown()
        thread.join()


def start(gossamer: str, site: Site, folder: Path) -> tuple[float, float]:
    """Return CPU seconds and seconds from the start to the first request."""
    used, reached = list[float](), threading.Event()

    def look() -> None:
        used.extend((cpu(family(process.pid)), time.monotonic() - began))
        reached.set()

    site.paths, site.on_first = [], look
    began = time.monotonic()
    with crawl(gossamer, site, folder) as process:
        if not reached.wait(START_TIMEOUT):
            raise SystemExit("no request arrived")
        wait_for_pages(site)
    return used[0], used[1]


def environment() -> dict[str, str]:
    """Return our environment without settings, and without the path of another tree."""
    left_out = ("GOSSAMER_", "PYTHONPATH")
    return {name: value for name, value in os.environ.items() if not name.startswith(left_out)}


def wait_for_pages(site: Site) -> None:
    """Wait until every page was requested."""
    until = time.monotonic() + START_TIMEOUT
    while len({*site.paths} - {"/robots.txt"}) < PAGES:
        if time.monotonic() > until:
            raise SystemExit(f"only {site.paths} were requested")
        time.sleep(0.1)


def time_command(command: list[str]) -> tuple[float, float]:
    """Return the CPU seconds and the seconds of *command*."""
    before, began = os.times(), time.monotonic()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment())
    took, after = time.monotonic() - began, os.times()
    used = after.children_user + after.children_system
    return used - before.children_user - before.children_system, took


def idle(gossamer: str, site: Site, folder: Path, settle: float, seconds: float) -> str:
    """Return a line about a crawl that waits."""
    site.paths, site.on_first = [], lambda: None
    with crawl(gossamer, site, folder, "--revisit", "fixed:1d") as process:
        wait_for_pages(site)
        time.sleep(settle)
        pids = family(process.pid)
        before = cpu(pids)
        time.sleep(seconds)
        used = cpu(pids) - before
        request_count = len(site.paths)
        pids = family(process.pid)  # A parser without pages may have stopped its children.
        pss, rss = memory(pids, "Pss:"), memory(pids, "Rss:")
    return (
        f"idle      {used / seconds:6.2%} of a core, {pss:.0f} MB (PSS), {rss:.0f} MB (RSS), "
        f"{len(pids)} processes, {request_count} requests"
    )


def memory(pids: list[int], what: str) -> float:
    """Return the megabytes of *what* of all processes together."""
    total = 0
    for pid in pids:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        total += next(int(line.split()[1]) for line in lines if line.startswith(what))
    return total / 1024


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gossamer", default=str(Path(sys.executable).parent / "gossamer"))
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--settle", type=float, default=60.0)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    gossamer = options.gossamer
    with TemporaryDirectory() as held, serving() as site:
        folders = [Path(held, str(number)) for number in range(options.runs)]
        show("start", [start(gossamer, site, folder) for folder in folders])
        for name in COMMANDS:
            url = [site.url] if name in OF_A_URL else []
            command = [gossamer, name, "--data", str(folders[0]), *url]
            show(name, [time_command(command) for _ in folders])
        print(idle(gossamer, site, Path(held, "idle"), options.settle, options.seconds))


def show(name: str, found: list[tuple[float, float]]) -> None:
    """Print the medians."""
    used, took = (median(values) for values in zip(*found, strict=True))
    print(f"{name:<9} {used:6.2f} s of CPU, {took:6.2f} s wall clock", flush=True)


if __name__ == "__main__":
    main()
