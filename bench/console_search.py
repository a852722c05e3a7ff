"""The search of the console with a million hosts and a million sites in one folder: latency of the
API, and memory of the server and of the scan.

    .venv/bin/python -m bench.console_search [--hosts 1000000] [--data DIR] [--rounds 5]

The folder is filled with rows once (`--data` keeps it), and `gossamer console` is started for it.
Each query is one that the pages of hosts and sites make. Its first ten pages are read by cursor.
"""

import argparse
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from gossamer.events import CrawlDefined
from gossamer.log.codec import encode
from gossamer.web.url import HostKey, Site
from inspection.basics.folder import Folder, Opened
from services.frontier.tables.conditions import Condition
from services.frontier.tables.hosts import HostCrawl, HostRow, HostTotals, NewQueues, Politeness
from services.frontier.tables.sites import SiteCrawl, SiteRow

BATCH = 20_000
PAGES = 10
SMALL = "small"
"""A crawl with URLs at each hundredth host."""
QUERIES = {
    "hosts": ("hosts", {}),
    "hosts of a crawl": ("hosts", {"crawl": "default"}),
    "hosts of a small crawl": ("hosts", {"crawl": SMALL}),
    "by name": ("hosts", {"crawl": "default", "sort": "host", "ascending": "true"}),
    "by pages": ("hosts", {"crawl": "default", "sort": "pages"}),
    "backing off": ("hosts", {"crawl": "default", "condition": "backing off"}),
    "backing off, by delay": ("hosts", {"condition": "backing off", "sort": "delay"}),
    "search a": ("hosts", {"crawl": "default", "search": "a"}),
    "search news": ("hosts", {"crawl": "default", "search": "news"}),
    "search news77": ("hosts", {"crawl": "default", "search": "news77"}),
    "search www.news123456": ("hosts", {"search": "www.news123456"}),
    "search zzzz": ("hosts", {"crawl": "default", "search": "zzzz"}),
    "search zz": ("hosts", {"crawl": "default", "search": "zz"}),
    "sites": ("sites", {"crawl": "default"}),
    "sites by refused URLs": ("sites", {"sort": "refused_urls"}),
    "sites, search news77": ("sites", {"crawl": "default", "search": "news77"}),
    "sites, search w": ("sites", {"search": "w"}),
    "sites of a small crawl": ("sites", {"crawl": SMALL, "sort": "pages"}),
}
"""Name → list and parameters."""


def rows_of(number: int) -> tuple[HostRow, SiteRow]:
    """Return host and site *number*."""
    chosen = random.Random(number)
    word = chosen.choice(("news", "shop", "blog", "data", "wiki"))
    site = f"{word}{number}.{chosen.choice(('example', 'test', 'org', 'co.uk'))}"
    crawls = ("default", SMALL) if number % 100 == 0 else ("default",)
    queued, pages = int(chosen.paretovariate(0.7)), int(chosen.paretovariate(0.8))
    host = HostRow(
        Site(site),
        HostKey(f"https://www.{site}"),
        chosen.choice([*Condition]),
        backoff_cause="host_down",
        crawls=dict.fromkeys(crawls, HostCrawl(NewQueues(queued=queued))),
        totals=HostTotals(pages=pages, visits=pages, received=20_000 * pages),
        politeness=Politeness(delay=chosen.choice((1.0, 2.0, 5.0, 0.5))),
    )
    refused = {"trap_urls": int(chosen.paretovariate(1))} if number % 10 == 0 else {}
    return host, SiteRow(Site(site), 1, dict.fromkeys(crawls, SiteCrawl(refused=refused)))


def fill(folder: Path, hosts: int) -> None:
    """Fill *folder* with *hosts* hosts, each of a site of its own."""
    Folder(folder).make()
    opened = Opened(Folder(folder))
    names = ("default", SMALL)
    definitions = [CrawlDefined(crawl=one, at=1.0, scope="any()", max_depth=16) for one in names]
    opened.log.append([*map(encode, definitions)])
    store = opened.store
    for number in range(hosts):
        host, site = rows_of(number)
        store.table(HostRow).put(host)
        store.table(SiteRow).put(site)
        if number % BATCH == 0 or number == hosts - 1:
            store.flush()
    opened.database.close()


class Client:
    """Reads lists of a running console."""

    def __init__(self, port: int, token: str) -> None:
        self._address, self._token = f"http://127.0.0.1:{port}/v1/", token

    def read(self, path: str, **query: str) -> tuple[float, dict[str, object]]:
        """Return the seconds of a request, and its answer. The first scan is waited for."""
        url = f"{self._address}{path}?{urlencode(query)}"
        headers = {"Authorization": f"Bearer {self._token}"}
        while True:
            began = time.perf_counter()
            try:
                with urlopen(Request(url, headers=headers), timeout=60) as answer:
                    found = json.load(answer)
                return time.perf_counter() - began, found
            except HTTPError as error:
                if error.code not in (429, 503):
                    raise
            except URLError:
                pass  # The server does not listen yet.
            time.sleep(0.2)

    def pages(self, path: str, query: dict[str, str]) -> Iterator[float]:
        """Yield the seconds of each of the first pages of a list."""
        cursor: dict[str, str] = {}
        for _ in range(PAGES):
            took, found = self.read(path, limit="200", **query, **cursor)
            yield took
            if not found["next"]:
                return
            cursor = {"cursor": str(found["next"])}


def peak_of(pid: int | str) -> float:
    """Return the maximum memory of a process so far, in MiB; 0 if it has ended."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return 0.0
    return next((int(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM")), 0.0)


class ScanMemory(Thread):
    """Watches the memory of the child processes of *pid*."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self._pid, self.peak = pid, 0.0
        """MiB."""
        self.start()

    def run(self) -> None:
        """Look each second."""
        while folders := [*Path(f"/proc/{self._pid}/task").glob("*/children")]:
            for folder in folders:
                with suppress(OSError):
                    self.peak = max(self.peak, *map(peak_of, folder.read_text().split()), 0.0)
            time.sleep(1)


def measure(folder: Path, port: int, rounds: int) -> None:
    """Start a console for *folder*, and print the latencies and the memory."""
    token = folder / "console-token"
    token.unlink(missing_ok=True)
    command = [sys.executable, "-m", "console.cli.main", "console"]
    environment = {**os.environ, "GOSSAMER_API__READS": "100000"}
    server = subprocess.Popen(
        [*command, "--data", str(folder), "--port", str(port)],
        stdout=subprocess.DEVNULL,
        env=environment,
    )
    try:
        while not (token.exists() and token.read_text()):
            if server.poll() is not None:
                raise SystemExit("the console has ended")
            time.sleep(0.1)
        client, began = Client(port, token.read_text()), time.perf_counter()
        scan = ScanMemory(server.pid)
        client.read("hosts", limit="1")
        print(f"the first list is read after {time.perf_counter() - began:.0f} s", flush=True)
        for name, (path, query) in QUERIES.items():
            times = [took for _ in range(rounds) for took in client.pages(path, query)]
            p95 = quantiles(times, n=20)[-1] if len(times) > 1 else times[0]
            print(
                f"{name:24} p50 {1000 * median(times):6.0f} ms, p95 {1000 * p95:6.0f} ms, "
                f"most {1000 * max(times):6.0f} ms",
                flush=True,
            )
        print(f"server {peak_of(server.pid):.0f} MiB, process of the scan {scan.peak:.0f} MiB")
    finally:
        server.terminate()
        server.wait(30)


def main() -> None:
    """Fill the folder unless it exists, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--port", type=int, default=8099)
    parser.add_argument("--data", type=Path)
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary) / "data"
        if not (folder / "gossamer.db").exists():
            began = time.perf_counter()
            fill(folder, options.hosts)
            print(f"filled in {time.perf_counter() - began:.0f} s", flush=True)
        measure(folder, options.port, options.rounds)


if __name__ == "__main__":
    main()
