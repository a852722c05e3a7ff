"""The cost of a page in a crawl in a folder, compared with Scrapy and with a bare loop of the
libraries.

    .venv/bin/python -m bench.page [--pages 5000] [--hosts 200] [--scrapy PYTHON] [--text]
                                   [--profile PY-SPY]

It needs nginx, which serves pages of 45 kB from `--hosts` hosts on loopback, without delay. A fifth
of the 60 links of a page lead to other hosts. Each crawler begins with one page of each host, obeys
robots.txt and stores all bodies.
Scrapy runs if `--scrapy` names a Python with it (and with trafilatura for `--text`). CPU seconds
are those of all processes of a crawler, without nginx. Memory is the maximum of all its processes
together (PSS). The crawlers run in turn, on the same pages. With `--profile` our crawl runs once
more under py-spy, and a table shows the CPU time of each stage. Without `--text`, it also runs
*plain*: asked for no more than Scrapy, which keeps links, title and body.
"""

import argparse
import asyncio
import gzip
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import aiohttp
from selectolax.lexbor import LexborHTMLParser

from gossamer.web.url import canonicalize
from tests.servers import free_ports

FIRST = "127.1"
SIZE, WORDS = 45_000, 5000
WORD_FREQUENCIES = [1 / rank for rank in range(1, WORDS + 1)]
"""Word frequencies by Zipf's law, since the cost of a text depends on them."""
LINKS_HERE, LINKS_ELSEWHERE = 48, 12
"""Links of a page to its host, and to others."""
ROBOTS = "User-agent: *\nDisallow: /private/\n"
CONCURRENCY = 32
PLAIN = (
    "GOSSAMER_PARSER__FIELDS=[]",
    "GOSSAMER_PARSER__SIMHASH_WORDS=0",
    "GOSSAMER_PARSER__SCRIPT_LINKS=false",
    "GOSSAMER_PARSER__PHYSICAL_MARKUP=false",
    "GOSSAMER_ARCHIVE__RECORDS=[]",
)
"""Settings of a crawl that makes no more of a page than Scrapy does."""
LOOK = 0.25
NGINX = """
daemon off;
{user}
worker_processes 1;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{ worker_connections 4096; }}
http {{
  types {{ text/html html; text/plain txt; }}
  access_log {folder}/access.log;
  keepalive_requests 100000;
  server {{ listen {port} backlog=4096; root {folder}/$server_addr; }}
}}
"""
SPIDER = """
import gzip, sys
from pathlib import Path
import scrapy
from scrapy.crawler import CrawlerProcess

class Pages(scrapy.Spider):
    name = "pages"
    def start_requests(self):
        for url in Path(sys.argv[1]).read_text().split():
            yield scrapy.Request(url)
    async def start(self):
        for request in self.start_requests():
            yield request
    def parse(self, response):
        bodies.write(gzip.compress(response.body, 6))
        if TEXT:
            trafilatura.extract(response.text, fast=True, include_comments=False)
        for link in response.css("a::attr(href)").getall():
            yield response.follow(link)

TEXT = sys.argv[3] == "text"
if TEXT:
    import trafilatura
bodies = open(sys.argv[2], "wb")
process = CrawlerProcess({
    "ROBOTSTXT_OBEY": True, "LOG_LEVEL": "ERROR", "CONCURRENT_REQUESTS": 32,
    "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "DOWNLOAD_DELAY": 0, "TELNETCONSOLE_ENABLED": False,
})
process.crawl(Pages)
process.start()
"""
REST = "the rest"
STAGES: tuple[tuple[str, str], ...] = (
    ("fetch", r"services/fetcher/|aiohttp/|yarl/|aiodns|multidict"),
    ("pipes", r"services/parser/(pool|service|wiring)"),
    ("decode", r"services/parser/(charset|received|html/cost)"),
    ("links", r"services/parser/(links|html/links|html/elements)"),
    ("language", r"detect_language|fasttext/"),
    ("text", r"services/parser/(text|html/text)|trafilatura|justext|lxml"),
    ("simhash", r"services/parser/simhash"),
    ("digest", r"digest_of|gossamer/text/(ages|blocks|sketch)"),
    ("metadata", r"services/parser/"),
    ("seen", r"services/dedup/seen"),
    ("verdict", r"services/dedup/|gossamer/text/"),
    ("frontier", r"services/frontier/"),
    ("WARC", r"services/archive/|isal/|fastwarc"),
    ("commit", r"(_leave|_enter|flush) \(gossamer/(sqlite|store)"),
    ("store", r"gossamer/store/"),
    ("log", r"gossamer/(log/|sqlite|runtime/(runner|arrears|observed|trace))"),
    ("event loops", r"gossamer/runtime/|asyncio/|selectors|concurrent/futures"),
    ("start", r"importlib|standalone/|multiprocessing/|console/"),
)
"""The name of each stage, and a pattern of its frames, `function (file:line)`."""

_waits = re.compile(
    r"^(EpollSelector\.select|Connection\._recv|\S+_do_waitpid|_worker|recv_fds|Database\.wait) \("
    r"|^_receive \(gossamer/services/parser/pool/"
)
_import = re.compile(r"_find_and_load|_find_spec")
_stages = [(name, re.compile(pattern)) for name, pattern in STAGES]


class Cost(NamedTuple):
    """The cost of a crawl."""

    pages: int
    wall: float
    cpu: float
    memory: float
    """MiB."""


def write_pages(folder: Path, pages: int, hosts: int, port: int) -> list[str]:
    """Write the hosts' files; return the address of each host."""
    addresses = [f"{FIRST}.{number // 250}.{number % 250 + 1}" for number in range(hosts)]
    for address in addresses:
        (folder / address).mkdir()
        (folder / address / "robots.txt").write_text(ROBOTS)
    for url, page in make_pages([f"http://{one}:{port}" for one in addresses], pages):
        (folder / url.split("/")[2].partition(":")[0] / url.rpartition("/")[2]).write_text(page)
    return addresses


def make_pages(origins: Sequence[str], pages: int) -> Iterator[tuple[str, str]]:
    """Yield URL and HTML of *pages* in all at *origins*, of which `/page-0.html` is the first."""
    draw = random.Random(1)
    words = ["".join(draw.choices("etaoinshrdlucmfw", k=draw.randint(2, 10))) for _ in range(WORDS)]
    each = -(-pages // len(origins))
    for origin in origins:
        for number in range(each):
            linked = [f"/page-{(number * 3 + step) % each}.html" for step in range(1, LINKS_HERE)]
            others = (draw.choice(origins) for _ in range(LINKS_ELSEWHERE))
            linked += [f"{other}/page-{draw.randrange(each)}.html" for other in others]
            yield f"{origin}/page-{number}.html", _page(draw, words, linked)


def _page(draw: random.Random, words: list[str], linked: list[str]) -> str:
    def prose(count: int) -> str:
        return " ".join(draw.choices(words, WORD_FREQUENCIES, k=count)).capitalize() + "."

    menu = "".join(f'<li class="item"><a href="{link}">{prose(3)}</a></li>' for link in linked)
    text = "".join(f"<p>{prose(draw.randint(40, 90))}</p>\n" for _ in range(30))
    data = ", ".join(f'"{draw.choice(words)}": {draw.random()}' for _ in range(200))
    head = f'<meta charset="utf-8"><title>{prose(6)}</title><script>var data = {{{data}}};</script>'
    page = (
        f'<!DOCTYPE html><html lang="en"><head>{head}</head><body><nav><ul>{menu}</ul></nav>'
        f"<main><article><h1>{prose(5)}</h1>{text}</article></main><footer>"
    )
    while len(page) < SIZE:
        page += f'<div class="card"><span>{prose(4)}</span><img src="/i/{draw.random()}.png"></div>'
    return f"{page}</footer></body></html>"


@contextmanager
def nginx(folder: Path, port: int) -> Iterator[None]:
    """Serve *folder* at *port* within a block."""
    user = "" if os.geteuid() else "user root;"
    (folder / "nginx.conf").write_text(NGINX.format(folder=folder, port=port, user=user))
    process = subprocess.Popen(["nginx", "-c", str(folder / "nginx.conf"), "-p", str(folder)])
    try:
        time.sleep(1)
        yield
    finally:
        process.send_signal(signal.SIGQUIT)
        process.wait()


def measure(command: list[str], served: Path) -> Cost:
    """Run a crawler; its pages are counted by nginx."""
    before, began = _cpu_of_children(), time.monotonic()
    start = served.stat().st_size
    process = subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL)
    most = 0.0
    while process.poll() is None:
        most = max(most, _memory(process.pid))
        time.sleep(LOOK)
    wall = time.monotonic() - began
    assert process.returncode == 0, command
    return Cost(_lines(served, start), wall, _cpu_of_children() - before, most)


def _lines(served: Path, start: int) -> int:
    with served.open() as log:
        log.seek(start)
        return sum(".html " in line and '" 200 ' in line for line in log)


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _memory(session: int) -> float:
    total = 0.0
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            if os.getsid(int(folder.name)) == session:
                text = (folder / "smaps_rollup").read_text()
                total += int(text.partition("\nPss:")[2].split()[0]) / 1024
    return total


async def bare(seeds: list[str], bodies: Path, text: bool) -> None:
    """Fetch, parse and store all pages with the libraries alone."""
    queue, seen = asyncio.Queue[str](), set(seeds)
    for seed in seeds:
        queue.put_nowait(seed)
    extract = _extractor() if text else None
    with bodies.open("wb") as file:
        async with aiohttp.ClientSession() as session:

            async def work() -> None:
                while True:
                    url = await queue.get()
                    async with session.get(url) as response:
                        body = await response.read()
                    file.write(gzip.compress(body, 6))
                    page = body.decode()
                    if extract:
                        extract(page)
                    for link in LexborHTMLParser(page).css("a[href]"):
                        found = canonicalize(link.attributes["href"] or "", url)
                        if found not in seen:
                            seen.add(found)
                            queue.put_nowait(found)
                    queue.task_done()

            workers = [asyncio.create_task(work()) for _ in range(CONCURRENCY)]
            await queue.join()
            for worker in workers:
                worker.cancel()


def _extractor() -> Callable[[str], str | None]:
    from gossamer.services.parser.html.text import extract_main_text

    return extract_main_text


def bench(pages: int, hosts: int, scrapy: str, text: bool, rounds: int, profile: str) -> None:
    """Print a table; with *profile*, the command of py-spy, also a table of the stages."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        port = free_ports(1)
        addresses = write_pages(folder, pages, hosts, port)
        with nginx(folder, port):
            seeds = folder / "seeds"
            seeds.write_text("".join(f"http://{one}:{port}/page-0.html\n" for one in addresses))
            print(f"{'':10} {'pages':>6} {'pages/s':>8} {'pages/CPU s':>12} {'MiB':>6}")
            for _ in range(rounds):
                costs = {
                    kind: _shown(kind, measure(command, folder / "access.log"))
                    for kind, command in _commands(folder, seeds, scrapy, text).items()
                }
            if profile:
                crawl, samples = _commands(folder, seeds, "", text)["gossamer"], folder / "samples"
                how = ["-s", "-F", "-f", "raw", "-r", "200", "-o", str(samples)]
                measure([profile, "record", *how, "--", *crawl], folder / "access.log")
                cost = costs["gossamer"]
                each = 1000 * cost.cpu / cost.pages
                print(table_of(stages_of(samples.read_text().splitlines()), each))


def _shown(kind: str, cost: Cost) -> Cost:
    rates = f"{cost.pages / cost.wall:8,.1f} {cost.pages / cost.cpu:12,.1f}"
    print(f"{kind:10} {cost.pages:6,} {rates} {cost.memory:6,.0f}", flush=True)
    return cost


def _commands(folder: Path, seeds: Path, scrapy: str, text: bool) -> dict[str, list[str]]:
    data, spider, bodies = folder / "data", folder / "spider.py", folder / "bodies"
    for old in (data, folder / "plain"):
        shutil.rmtree(old, ignore_errors=True)
    spider.write_text(SPIDER)
    how = "text" if text else "none"
    crawl = [
        str(Path(sys.executable).parent / "gossamer"), "crawl", "--data", str(data), "--seeds",
        str(seeds), "--contact", "bench@example.org", "--delay", "0", "--allow-network",
        "127.0.0.0/8", "--depth", "50", "--revisit", "none", "--scope", "any", "--quiet",
        *([] if text else ["--no-text"]),
    ]  # fmt: skip
    alone = [sys.executable, "-m", "bench.page", "--bare", str(seeds), "--bodies", str(bodies)]
    commands = {"gossamer": crawl, "bare": [*alone, *(["--text"] if text else [])]}
    if not text:
        plain = [str(folder / "plain") if word == str(data) else word for word in crawl]
        commands["plain"] = ["env", *PLAIN, *plain]
    if scrapy:
        commands["scrapy"] = [scrapy, str(spider), str(seeds), str(bodies), how]
    return commands


def main() -> None:
    """Measure; with --bare, run the measured loop."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pages", type=int, default=5000)
    parser.add_argument("--hosts", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--scrapy", default="", metavar="PYTHON")
    parser.add_argument("--profile", default="", metavar="PY-SPY")
    parser.add_argument("--text", action="store_true", help="extract the main text, too")
    for name in ("bare", "bodies"):
        parser.add_argument(f"--{name}", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.bare:
        asyncio.run(bare(options.bare.read_text().split(), options.bodies, options.text))
        return
    bench(
        options.pages,
        options.hosts,
        options.scrapy,
        options.text,
        options.rounds,
        options.profile,
    )


def stages_of(raw: Iterable[str]) -> Counter[str]:
    """Return the number of samples of each stage in the output of
    `py-spy record --subprocesses --format raw`.

    A line has a sampled stack, outermost frame first, and its number of samples. A stack counts for
    the stage of its innermost frame that belongs to one, so the stages add up to the whole. Stacks
    that wait in a call that py-spy counts as running are skipped.
    """
    found = Counter[str]()
    for line in raw:
        stack, _, times = line.rstrip().rpartition(" ")
        frames = [frame for frame in stack.split(";") if not frame.startswith("process ")]
        if frames and not _waits.search(frames[-1]):
            found[_stage_of(frames)] += int(times)
    return found


def _stage_of(frames: list[str]) -> str:
    if any(map(_import.search, frames)):
        return STAGES[-1][0]
    stages = (name for frame in reversed(frames) for name, its in _stages if its.search(frame))
    return next(stages, REST)


def table_of(stages: Counter[str], milliseconds: float) -> str:
    """Return a table that divides *milliseconds* among the *stages*, in their order."""
    names = [*dict.fromkeys([*(name for name, _ in STAGES), REST])]
    whole = stages.total()
    rows = [(name, milliseconds * stages[name] / whole) for name in names]
    lines = [f"{name:18} {share:6.2f} ms" for name, share in [*rows, ("all", milliseconds)]]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
