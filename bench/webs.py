"""Webs with known changes: generated ones, and recorded histories. For `bench.freshness`.

Times are epoch seconds. A page's `rate` is the true long-run mean of its changes a day.
"""

import gzip
import json
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count, groupby
from pathlib import Path
from random import Random
from zlib import crc32

from gossamer.web.links import sample_links

DAY = 86400.0
BEGIN = 1_700_006_400.0
"""A Wednesday, midnight UTC."""
MAX_RATE = 48.0
"""The highest rate, in changes a day."""
PAGES_OF_A_SITE = 15


@dataclass
class Page:
    """One page and all its changes."""

    url: str
    site: str
    first: float
    changes: "array[float]"
    rate: float
    weight: float = 1.0


@dataclass
class Web:
    """Pages, and the delays, sitemaps and links of their sites."""

    pages: list[Page]
    begin: float
    end: float
    delays: dict[str, float] = field(default_factory=dict)
    """Site → seconds between two visits to it."""
    sitemaps: dict[str, bool] = field(default_factory=dict)
    """Site with a sitemap, which is read daily → whether its dates are true; otherwise they are the
    current time."""
    lists: dict[str, bool] = field(default_factory=dict)
    """Site whose first page adds links to changed pages → whether the links are true; otherwise
    some links change at each visit."""


Process = Callable[[Random, float, float], Iterator[float]]
"""Generates the changes of a page without end, in days from the start, given its mean rate a day
and the start of its site's day."""


def rates(random: Random) -> float:
    """Return a mean rate with a heavy tail, from years to half an hour, half of the rates below
    1/12."""
    return min(MAX_RATE, max(1 / 1000, random.lognormvariate(-2.5, 2.0)))


def memoryless(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield memoryless changes."""
    at = 0.0
    while True:
        at += random.expovariate(rate)
        yield at


def bursty(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield changes in bursts of ten on average, 30 times as dense as the mean."""
    at = random.expovariate(rate / 10)
    while True:
        while random.random() < 0.9:
            at += random.expovariate(30 * rate)
            yield at
        at += random.expovariate(rate / 10)


def periodic(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield changes at one period, with a jitter of a fiftieth of it."""
    period = 1 / rate
    phase = random.random() * period
    for n in count():
        yield max(0.0, phase + n * period + random.gauss(0, period / 50))


def office_hours(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield memoryless changes from 9 to 17 on five days a week, in the site's own time zone."""
    dense = rate * 168 / 40
    worked = 0.0
    while True:
        worked += random.expovariate(dense)  # In office days of eight hours.
        days, rest = divmod(worked * 3, 1)
        weeks, day = divmod(days, 5)
        yield weeks * 7 + day + 9 / 24 + rest / 3 + zone + 5


def drifting(random: Random, rate: float, zone: float) -> Iterator[float]:
    """Yield changes whose rate is redrawn about every sixty days, between a third and the
    double."""
    at = 0.0
    while True:
        until = at + random.expovariate(1 / 60)
        now = rate * random.lognormvariate(-0.72, 1.2)
        while (at := at + random.expovariate(now)) < until:
            yield at
        at = until


def generate_web(process: Process, seed: int, pages: int, days: float) -> Web:
    """Return a web of sites whose pages all change by *process*; the rates differ by site."""
    random = Random(seed)
    end = BEGIN + days * DAY
    made = []
    for n in range(pages):
        site = f"s{n // PAGES_OF_A_SITE}.test"
        mean = rates(random)
        zone = Random(f"{seed} {site}").choice((-8, -5, 0, 1, 8)) / 24
        changes = array("d")
        for at in process(Random(f"{seed} {n}"), mean, zone):
            if (instant := BEGIN + at * DAY) >= end:
                break
            changes.append(instant)
        first = BEGIN + random.random() * DAY
        made.append(Page(f"https://{site}/{n}", site, first, changes, mean))
    return Web(made, BEGIN, end)


def mixed_web(seed: int, pages: int, days: float) -> Web:
    """Return a web with pages of every kind, and pages of different weights."""
    webs = [
        generate_web(process, seed + n, pages // 5, days)
        for n, process in enumerate((memoryless, bursty, periodic, office_hours, drifting))
    ]
    random, made = Random(seed), []
    for n, web in enumerate(webs):
        for page in web.pages:
            page.site = f"{n}{page.site}"
            page.url = f"{n}{page.url}"
            page.weight = random.choice((1.0, 1.0, 1.0, 3.0, 10.0))
            made.append(page)
    return Web(made, webs[0].begin, webs[0].end)


def polite(seed: int, pages: int, days: float) -> Web:
    """Return a memoryless web in which every third site permits few visits."""
    web = generate_web(memoryless, seed, pages, days)
    sites = sorted({page.site for page in web.pages})
    web.delays = dict.fromkeys(sites[::3], DAY)
    return web


def lying(seed: int, pages: int, days: float) -> Web:
    """Return a memoryless web in which a third of the sites announce changes, and a third lie."""
    web = generate_web(memoryless, seed, pages, days)
    sites = sorted({page.site for page in web.pages})
    web.sitemaps = dict.fromkeys(sites[::3], True) | dict.fromkeys(sites[1::3], False)
    return web


def linking(seed: int, pages: int, days: float) -> Web:
    """Return a memoryless web of sites whose first page counts like four others. In a third of the
    sites it adds links to changed pages, in another third to any three pages at each visit."""
    web = generate_web(memoryless, seed, pages, days)
    sites = sorted({page.site for page in web.pages})
    web.lists = dict.fromkeys(sites[::3], True) | dict.fromkeys(sites[1::3], False)
    for site, others in groupby(web.pages, key=lambda page: page.site):
        first, *rest = others
        first.weight = 4.0
        if web.lists.get(site):
            first.changes = array("d", sorted(at for page in rest for at in page.changes))
            first.rate = sum(page.rate for page in rest)
    return web


def internal_links(web: Web) -> Iterator[tuple[int, ...]]:
    """Yield the internal links of each page of *web*: the first page of a site links to all others,
    and each other page to the first one and to the next three."""
    for _, group in groupby(web.pages, key=lambda page: page.site):
        urls = [page.url for page in group]
        yield sample_links(urls[1:])
        for n in range(1, len(urls)):
            yield sample_links((urls[0], *urls[n + 1 : n + 4]))


def _pages_by(process: Process) -> Callable[[int, int, float], Web]:
    return lambda seed, pages, days: generate_web(process, seed, pages, days)


WEBS: dict[str, Callable[[int, int, float], Web]] = {
    "memoryless": _pages_by(memoryless),
    "polite": polite,
    "lying": lying,
    "linking": linking,
    "periodic": _pages_by(periodic),
    "bursty": _pages_by(bursty),
    "office": _pages_by(office_hours),
    "drifting": _pages_by(drifting),
    "mixed": mixed_web,
}


def recorded_web(file: Path, days: float) -> Web:
    """Return the web of a file of histories: the *days* at its end, with the pages known at their
    start.

    A page counts from its second visit; visits before the first day are skipped.
    """
    rows = [_row(line) for line in _lines(file)]
    end = max(row["changes"][-1] if row["changes"] else row["first"] for row in rows)
    begin = end - days * DAY
    made = []
    for row in rows:
        first = max(row["first"], begin + DAY * (crc32(row["url"].encode()) / 2**32))
        changes = array("d", (at for at in row["changes"] if at > begin))
        if first < end:
            known = sum(at > first for at in changes) / (end - first) * DAY
            weight = row.get("weight", 1.0)
            made.append(Page(row["url"], row["site"], first, changes, known, weight))
    return Web(made, begin, end)


def _lines(file: Path) -> Iterator[str]:
    with gzip.open(file, "rt") if file.suffix == ".gz" else file.open() as lines:
        yield from lines


def _row(line: str) -> dict:  # type: ignore[type-arg]
    """Return a history; a history of Open Terms Archive as a page of its service."""
    row = json.loads(line)
    if "document" in row:
        site = row["document"].split("/")[0]
        row["url"], row["site"] = f"https://{row['document']}", site
    row["changes"].sort()
    return row  # type: ignore[no-any-return]
