"""Crawls of webs of traps: the honest pages that are found, and the requests that are wasted.

    .venv/bin/python -m bench.traps [--traps calendar,facets] [--seconds 60] [--json FILE]

Each trap is a site with honest pages next to an endless or duplicate part, with two honest sites
beside it. The last kinds are honest sites that look like traps. A crawl of everything starts from
all home pages and is stopped after `--seconds`. A request is in excess unless it is the first one
for an honest page or for a list that honest pages need, for a robots.txt, or for the probe of a
host. The aims are 99 % of the honest pages, at most 5 % requests in excess, and an end before the
time limit.

The last row is the hostile web: all kinds among `--sites` honest sites. Its aims are at most 1.6
requests for each honest page, and an end within ten minutes.
"""

import argparse
import json
from pathlib import Path
from typing import Any

from tests.system.trap_crawls import TrapCrawl, crawl_traps
from tests.traps import KINDS, TrapWeb

HOSTILE = "hostile"
HEADINGS = ("trap", "honest", "fetched", "requests", "excess", "share", "cost", "hosts", "end", "s")
FORMAT = "{:<17} {:>7} {:>8} {:>9} {:>7} {:>7} {:>6} {:>6} {:>5} {:>6}"


def main() -> None:
    """Print one row for each trap and one for the hostile web, then the requests in excess."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--traps", default=",".join([*KINDS, HOSTILE]))
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pages", type=int, default=48, help="honest pages of each trap")
    parser.add_argument("--seconds", type=float, default=60.0, help="time limit for each trap")
    parser.add_argument("--sites", type=int, default=225, help="honest sites of the hostile web")
    parser.add_argument("--hostile-seconds", type=float, default=600.0)
    parser.add_argument("--json", type=Path, help="write all numbers to this file")
    options = parser.parse_args()
    print(FORMAT.format(*HEADINGS), flush=True)
    crawls: dict[str, TrapCrawl] = {}
    for name in options.traps.split(","):
        web = TrapWeb(options.seed, (name,), options.pages)
        seconds = options.seconds
        if name == HOSTILE:
            web = TrapWeb(options.seed, tuple(KINDS), options.pages // 2, options.sites)
            seconds = options.hostile_seconds
        crawls[name] = crawl_traps(web, seconds)
        print(_row(name, crawls[name]), flush=True)
        if options.json:
            numbers = {key: crawl.as_json() for key, crawl in crawls.items()}
            options.json.write_text(json.dumps(numbers, indent=1))
    for name, crawl in crawls.items():
        _print_excess(name, crawl)


def _row(name: str, crawl: TrapCrawl) -> str:
    harvest = crawl.harvest
    cells: tuple[Any, ...] = (
        name,
        harvest.honest,
        harvest.fetched,
        harvest.requests,
        harvest.excess_requests,
        f"{harvest.excess_share:.0%}",
        f"{harvest.cost:.2f}",
        harvest.hosts,
        "yes" if crawl.ended else "no",
        f"{crawl.seconds:.0f}",
    )
    return FORMAT.format(*cells)


def _print_excess(name: str, crawl: TrapCrawl) -> None:
    """Print the wasted requests by reason, with examples, and those of the hostile web by trap."""
    print(f"\n{name}")
    if name == HOSTILE:
        for trap, harvest in crawl.harvests.items():
            counts = ", ".join(f"{it} {reason}" for reason, it in harvest.excess.items())
            print(f"  {trap:<17} {harvest.fetched} of {harvest.honest} honest; {counts or 'none'}")
    for reason, examples in crawl.harvest.examples.items():
        print(f"  {crawl.harvest.excess[reason]} {reason}: {'  '.join(examples[:3])}")
    for url in crawl.harvest.lost[:3]:
        print(f"  lost: {url}")


if __name__ == "__main__":
    main()
