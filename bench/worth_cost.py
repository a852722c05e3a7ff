"""CPU of dedup and frontier before and after a change. For `bench.worth cost`.

    python -m bench.worth_cost PAGES URLS

prints the costs of the code on the path as JSON. This module and its imports from `bench` run with
the code of an earlier commit, too: they use no names that are newer.
"""

import json
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import structlog

from bench import scale
from bench.worth_crawl import WorthCrawl
from bench.worth_webs import QualityWeb
from gossamer.events import Purpose

HUGE = 1 << 40
"""A budget of URLs that no site uses up."""
COST_ROUNDS = 5
"""Runs of each code whose median is printed."""


def measure_cost(pages: int, urls: int) -> dict[str, float]:
    """Return the CPU milliseconds of dedup and of the frontier for a page, and of both for an
    admitted URL."""
    web = QualityWeb(1, pages, 100)
    with tempfile.TemporaryDirectory() as folder:
        crawl = WorthCrawl(Path(folder), web, 100.0, url_budget=HUGE)
        crawl.begin()
        crawl.request(3 * pages)
        links = scale.Crawl(Path(folder), 50_000)
        events, admitted = scale.discovered_links(urls, urls // 50, False), 0
        before = links.cpu
        while more := links.admit(events):
            admitted += more
    made = sum(one.purpose is Purpose.PAGE for one in crawl.servers.requests)
    each = {name: 1000 * crawl.cpu[name] / made for name in ("dedup", "frontier")}
    return {**each, "url": 1000 * (links.cpu - before) / admitted}


def costs_in_turn(before: Path, pages: int, urls: int) -> Iterator[tuple[str, dict[str, float]]]:
    """Yield the costs of the code in *before* and of the code here, in turn."""
    here = Path(__file__).parent.parent
    for number in range(2 * COST_ROUNDS):
        # The working directory comes first on the path; this module is found here in both cases.
        folder = (before, here)[number % 2]
        command = [sys.executable, "-m", "bench.worth_cost", str(pages), str(urls)]
        made = subprocess.run(
            command, cwd=folder, check=True, capture_output=True,
            env={**os.environ, "PYTHONPATH": str(here)},
        )  # fmt: skip
        yield ("before", "after")[number % 2], json.loads(made.stdout)


def print_costs(before: Path, pages: int, urls: int) -> None:
    """Print the median costs of the code in *before* and of the code here."""
    made: dict[str, list[dict[str, float]]] = {"before": [], "after": []}
    for name, costs in costs_in_turn(before, pages, urls):
        made[name].append(costs)
        print(name, {key: round(cost, 3) for key, cost in costs.items()}, flush=True)
    print(f"{'CPU ms, median':16}{'dedup, page':>14}{'frontier, page':>16}{'admitted URL':>14}")
    for name, runs in made.items():
        middle = [median(run[key] for run in runs) for key in ("dedup", "frontier", "url")]
        print(f"{name:16}{middle[0]:14.3f}{middle[1]:16.3f}{middle[2]:14.4f}")


if __name__ == "__main__":
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    print(json.dumps(measure_cost(int(sys.argv[1]), int(sys.argv[2]))))
