"""Idle time of fetchers with unequal speeds and hosts of unequal sizes, with and without balancing.

    .venv/bin/python -m bench.balance [--sites 600] [--pages 30000]

It reproduces figures 7 and 8 of SCrawler's paper (section 3.3) as tables: the number of orders of
each of four fetchers, and the fraction of the time in which it could have made more requests. It
runs in virtual time, with the real frontier and the fetcher's conversations, until all pages are
fetched.
"""

import argparse
from collections.abc import Iterator, Mapping
from itertools import pairwise
from statistics import mean

from gossamer.log import partition_of
from gossamer.web.url import site_of
from tests.frontier.fetchers import Fetcher, Fleet
from tests.frontier.simulation import START

PARTITIONS, DELAY, SLOTS = 12, 1.0, 256
ALIKE, ONE_SLOW = (0.5, 0.5, 0.5, 0.5), (0.5, 0.5, 0.5, 2.0)
"""Seconds of a request at each fetcher, which makes eight at once."""
LARGE_FACTOR = 10
"""How many times more hosts the partitions of one fetcher have."""


def equal(sites: int, pages: int) -> dict[str, int]:
    """Return hosts of one size."""
    return {f"http://site{number}.example": pages // sites for number in range(sites)}


def unequal(sites: int, pages: int) -> dict[str, int]:
    """Return hosts of two sizes: the first fetcher's are `LARGE_FACTOR` times as large."""
    hosts = equal(sites, pages)
    weights = {
        host: LARGE_FACTOR if partition_of(site_of(host), PARTITIONS) % len(ALIKE) == 0 else 1
        for host in hosts
    }
    total = sum(weights.values())
    return {host: max(1, pages * weight // total) for host, weight in weights.items()}


def run_crawl(hosts: Mapping[str, int], speeds: tuple[float, ...], balanced: bool) -> Fleet:
    """Return a finished crawl of *hosts*."""
    fleet = Fleet(
        [Fetcher(took) for took in speeds],
        PARTITIONS,
        balanced,
        delay=DELAY,
        checked_out_limit=SLOTS,
    )
    fleet.admit(hosts)
    fleet.run()
    return fleet


def table(fleet: Fleet) -> Iterator[str]:
    """Yield a line for each fetcher, and one for all."""
    yield "   fetcher  s/request  orders, mean  most  idle   pages"
    idle = [*fleet.idle()]
    for number, fetcher in enumerate(fleet.fetchers):
        held = [orders[number] for orders in fleet.held]
        pages = sum(page.fetcher == number for page in fleet.pages)
        yield (
            f"{number:10} {fetcher.took:10} {mean(held):13.0f} {max(held):5} {idle[number]:5.0%} "
            f"{pages:7,}"
        )
    seconds, moved = fleet.now - START, sum(order.sent_to >= 0 for order in fleet.sent)
    yield (
        f"{len(fleet.pages):,} pages in {seconds:,.0f} s: {len(fleet.pages) / seconds:.1f} a "
        f"second; {moved:,} of {len(fleet.sent):,} orders were moved; requests to a host "
        f"were at least {shortest_gap(fleet):.2f} s apart"
    )


def shortest_gap(fleet: Fleet) -> float:
    """Return the shortest time between the end of a request to a host and the next request."""
    by_site: dict[str, list[tuple[float, float]]] = {}
    for request in fleet.requests:
        by_site.setdefault(site_of(request.url), []).append((request.start, request.end))
    gaps = (
        later[0] - one[1] for times in by_site.values() for one, later in pairwise(sorted(times))
    )
    return min(gaps)


def main() -> None:
    """Print the tables, without and with balancing."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=600)
    parser.add_argument("--pages", type=int, default=30_000)
    options = parser.parse_args()
    for title, hosts, speeds in (
        ("one fetcher is slow", equal(options.sites, options.pages), ONE_SLOW),
        ("one fetcher has the large hosts", unequal(options.sites, options.pages), ALIKE),
        ("all alike", equal(options.sites, options.pages), ALIKE),
    ):
        for balanced in (False, True):
            print(f"\n{title}, {'balanced' if balanced else 'each order to its own partition'}")
            print("\n".join(table(run_crawl(hosts, speeds, balanced))), flush=True)


if __name__ == "__main__":
    main()
