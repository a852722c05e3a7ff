"""The worth of a crawl's requests on generated webs whose useful pages are known.

    python -m bench.worth quality [--pages 20000] [--strategies breadth best]
    python -m bench.worth novelty [--size 1] [--requests 60000]

`quality`: how many of the good pages a strategy finds by the number of visits. Good pages mostly
link to good pages. `ideal` knows the quality of every visited page and waits for no host.
`novelty`: new useful texts per request on hosts of very different worth.

The real dedup and frontier run in virtual time (`bench.worth_crawl`, `bench.worth_webs`).
"""

import argparse
import logging
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import structlog

from bench.worth_crawl import Request, WorthCrawl
from bench.worth_webs import NoveltyWeb, QualityWeb, ideal_visits, share_reached
from gossamer.events import Purpose
from gossamer.policies import STRATEGIES

SHARES = (0.05, 0.10, 0.15, 0.20, 0.25, 0.30, 0.40, 0.50, 0.75, 1.0)
"""Shares of the visits at which a curve is printed."""
STAGES = (0.1, 0.5, 1.0)
"""Shares of the requests after which new texts are counted."""
SPEED = 20.0
"""Visits a second of the whole crawl."""
SLACK = 20.0
"""Visits a second that politeness would allow, as a multiple of `SPEED`: the strategy decides which
hosts are visited."""
NOVELTY_DELAY = 0.125
"""Seconds between two visits to a host of a novelty web: its large site can be finished."""


# Quality.


def crawl_quality(web: QualityWeb, strategy: str) -> list[bool]:
    """Crawl *web* to its end. Return for each page in the order of the first visits whether it is
    good."""
    settings = {"delay": web.hosts / (SLACK * SPEED), **NO_WORTH}
    with tempfile.TemporaryDirectory() as folder:
        crawl = WorthCrawl(Path(folder), web, SPEED, **settings)
        crawl.begin(strategy=strategy)
        crawl.request(3 * web.pages)
    made = (one.url for one in crawl.servers.requests if one.purpose is Purpose.PAGE)
    return [bool(web.good[web.number(url)]) for url in dict.fromkeys(made)]


def curve(visits: Sequence[bool], pages: int, good: int) -> list[float]:
    """Return the share of the good pages found at each of `SHARES` of all pages."""
    return [sum(visits[: round(share * pages)]) / good for share in SHARES]


def print_quality(pages: int, hosts: int, seed: int, names: Sequence[str]) -> None:
    """Print the curve of each strategy."""
    web = QualityWeb(seed, pages, hosts)
    good = sum(web.good)
    print(f"{pages:,} pages on {hosts} hosts, {good:,} of them good: share of them found")
    shares = "".join(f"{share:7.0%}" for share in SHARES)
    print(f"{'share of all visits':20}{shares}  80 % of them after   seconds", flush=True)
    ideal = [bool(web.good[number]) for number in ideal_visits(web)]
    _print_curve("ideal", ideal, pages, good, 0.0)
    for name in names:
        began = time.monotonic()
        visits = crawl_quality(web, name)
        _print_curve(name, visits, pages, good, time.monotonic() - began)


def _print_curve(name: str, visits: Sequence[bool], pages: int, good: int, took: float) -> None:
    found = "".join(f"{share:7.1%}" for share in curve(visits, pages, good))
    at = share_reached(visits, good, 0.8)
    print(f"{name:20}{found}  {at / pages if at else 0:18.1%}   {took:7.0f}", flush=True)


# Novelty.


class Policy(NamedTuple):
    """A strategy with settings of the frontier."""

    strategy: str
    settings: dict[str, object]


NO_WORTH: dict[str, object] = {
    "worth_parking": False,
    **dict.fromkeys(
        ("url_budget", "host_budget", "byte_budget", "second_budget", "depth_budget"), 0
    ),
}
POLICIES = {
    "best": Policy("best", {}),
    "breadth, parts without worth parked": Policy("breadth", {}),
    "best, nothing parked": Policy("best", NO_WORTH),
    "breadth, nothing parked": Policy("breadth", NO_WORTH),
    "breadth, 5,000 URLs of a site": Policy(
        "breadth", {**NO_WORTH, "url_budget": 5000, "budget_growth": 0.0}
    ),
}


def novelty_requests(web: NoveltyWeb, policy: Policy, requests: int) -> list[Request]:
    """Crawl *web* with *policy*; return at most *requests* requests, in order."""
    with tempfile.TemporaryDirectory() as folder:
        settings = {"delay": NOVELTY_DELAY, **policy.settings}
        crawl = WorthCrawl(Path(folder), web, SPEED, **settings)
        crawl.begin(strategy=policy.strategy)
        crawl.request(requests)
    return crawl.servers.requests[:requests]


def new_texts(made: Sequence[Request], requests: int) -> list[float]:
    """Return the new texts per request after each of `STAGES` of *requests*."""
    ends = [min(len(made), round(stage * requests)) for stage in STAGES]
    return [sum(one.is_new for one in made[:end]) / end for end in ends]


def print_novelty(size: float, requests: int, seed: int, names: Sequence[str]) -> None:
    """Print new texts per request, and both by kind of host, for each policy."""
    web = NoveltyWeb(seed, size)
    print(f"{web.useful_texts:,} useful texts, {requests:,} requests: new texts per request")
    stages = "".join(f"{stage:8.0%}" for stage in STAGES)
    print(f"{'of the requests':36}{stages}{'requests':>10}{'new texts':>11}{'seconds':>9}")
    kinds: dict[str, tuple[Counter[str], Counter[str]]] = {}
    for name in names:
        began = time.monotonic()
        made = novelty_requests(web, POLICIES[name], requests)
        took = time.monotonic() - began
        new = [one for one in made if one.is_new]
        shares = "".join(f"{share:8.3f}" for share in new_texts(made, requests))
        print(f"{name:36}{shares}{len(made):10,}{len(new):11,}{took:9.0f}", flush=True)
        kinds[name] = (
            Counter(web.kind(one.url) for one in made),
            Counter(web.kind(one.url) for one in new),
        )
    print("\nrequests and new texts by kind of host")
    for name, (asked, found) in kinds.items():
        parts = (f"{kind} {asked[kind]:,}: {found[kind]:,}" for kind in sorted(asked))
        print(f"{name:36}{'; '.join(parts)}")


def main() -> None:
    """Run the chosen part."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING))
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = parser.add_subparsers(dest="part", required=True)
    quality, novelty = (parts.add_parser(name) for name in ("quality", "novelty"))
    for part in (quality, novelty):
        part.add_argument("--seed", type=int, default=1)
    quality.add_argument("--pages", type=int, default=20_000)
    quality.add_argument("--hosts", type=int, default=100)
    quality.add_argument("--strategies", nargs="+", default=STRATEGIES, choices=STRATEGIES)
    novelty.add_argument("--size", type=float, default=1.0, help="1 has 42,000 useful texts")
    novelty.add_argument("--requests", type=int, default=60_000)
    novelty.add_argument("--policies", nargs="+", default=[*POLICIES], choices=[*POLICIES])
    options = parser.parse_args()
    if options.part == "quality":
        print_quality(options.pages, options.hosts, options.seed, options.strategies)
    else:
        print_novelty(options.size, options.requests, options.seed, options.policies)


if __name__ == "__main__":
    main()
